"""Refusals of requests: a status and a JSON object with `error`, `where`, `found`, `allowed`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from optassign.formats.input_errors import describe_schema, shorten

__all__ = ["BUG", "Refusal", "RefusalReason", "RequestRefusedError", "make_invalid", "make_refusal", "make_unavailable"]


RefusalReason = Literal["starting", "stopping", "busy", "late", "worker died", "memory", "reports", "pages", "other"]


@dataclass(frozen=True)
class Refusal:
    """A refusal with an HTTP status: the field at fault (`where`), its value and valid values. Workers can send it."""

    status: int
    error: str
    where: str | None = None
    found: str | None = None
    allowed: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    reason: RefusalReason = "other"
    """The reason of a refusal with status 503, for log and metrics."""

    def body(self) -> bytes:
        """Return the JSON object; only `error` is always present."""
        parts = {"error": self.error, "where": self.where, "found": self.found, "allowed": self.allowed}
        # Half a surrogate pair, which a refused request may contain, cannot be encoded; the escape is valid JSON.
        text = json.dumps({name: text for name, text in parts.items() if text is not None}, ensure_ascii=False)
        return text.encode(errors="backslashreplace")


_PARTS = frozenset({"header", "query", "path"})
"""The first part of the places in FastAPI's errors."""
BUG = Refusal(500, "a bug in the service: its log has the traceback")


class RequestRefusedError(Exception):
    """Raised to answer a request with a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error)
        self.refusal = refusal


def make_refusal(
    status: int, error: str, where: str | None = None, found: str | None = None, allowed: str | None = None
) -> RequestRefusedError:
    """Return the error that refuses a request, with the fields of a `Refusal`."""
    return RequestRefusedError(Refusal(status, error, where, found, allowed))


def make_invalid(errors: Sequence[Mapping[str, Any]], model: type[BaseModel]) -> Refusal:
    """Return the refusal for the first of FastAPI's errors. model: its schema gives the allowed values, otherwise pydantic's
    message does."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part not in _PARTS)
    found = "nothing" if first["type"] == "missing" else shorten(str(first["input"]))
    schema = model.model_json_schema()["properties"].get(place)
    allowed = first["msg"].removeprefix("Input should be ") if schema is None else describe_schema(schema, model)
    status = 415 if place.startswith("Content-") else 400
    return Refusal(status, "the request cannot be read", place, found, allowed)


def make_unavailable(error: str, seconds: int, reason: RefusalReason) -> RequestRefusedError:
    """Return the error that refuses a request with status 503 and asks to repeat it after `seconds`."""
    return RequestRefusedError(Refusal(503, error, headers={"Retry-After": str(seconds)}, reason=reason))
