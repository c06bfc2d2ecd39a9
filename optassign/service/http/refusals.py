"""How a request is refused: with a status and a JSON object with `error`, `where`, `found`, `allowed`."""

import json
from dataclasses import dataclass, field

__all__ = ["BUG", "Refusal", "RequestRefusedError", "make_refusal", "make_unavailable"]


@dataclass(frozen=True)
class Refusal:
    """Why there is no answer; `status` is HTTP's. A plain value, so that worker processes can send it."""

    status: int
    error: str
    where: str | None = None
    found: str | None = None
    allowed: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """The JSON object; only `error` is always there."""
        parts = {"error": self.error, "where": self.where, "found": self.found, "allowed": self.allowed}
        # Half a surrogate pair, which a refused request may hold, cannot be encoded: written out it is JSON's own escape.
        text = json.dumps({name: text for name, text in parts.items() if text is not None}, ensure_ascii=False)
        return text.encode(errors="backslashreplace")


BUG = Refusal(500, "a bug in the service: its log has the traceback")


class RequestRefusedError(Exception):
    """Raised wherever it turns out that a request gets no answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error)
        self.refusal = refusal


def make_refusal(
    status: int, error: str, where: str | None = None, found: str | None = None, allowed: str | None = None
) -> RequestRefusedError:
    """The error that refuses a request, with the fields of a `Refusal`."""
    return RequestRefusedError(Refusal(status, error, where, found, allowed))


def make_unavailable(error: str, seconds: int) -> RequestRefusedError:
    """The error that refuses a request for now: status 503, to be tried again after `seconds`."""
    return RequestRefusedError(Refusal(503, error, headers={"Retry-After": str(seconds)}))
