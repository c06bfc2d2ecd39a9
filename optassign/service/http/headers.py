"""The headers of a request, read and checked (docs/protocol.md)."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from optassign.formats.base import INT64_MAX
from optassign.service.http.problem import refused

__all__ = ["PROTOCOL", "Headers", "RequestHead", "check_token", "content_encoding", "deadline_of", "read_head"]

PROTOCOL = "1"
_LONGEST_DEADLINE_MS = 600_000
_SHOWN = 60


class Headers(Protocol):
    """What is needed of Starlette's headers."""

    def getlist(self, key: str) -> Sequence[str]:
        """All values of a header; its name in any case."""
        ...


@dataclass(frozen=True)
class RequestHead:
    """What a plug-in says beside the snapshot. `deadline`: seconds from the arrival."""

    deadline: float
    mode: Literal["active", "shadow"] = "active"
    remembered_at: int | None = None
    """Milliseconds since 1970; None: not said. What is too far ahead is refused where the last answer is known."""
    plugin: str | None = None


def read_head(headers: Headers, default_deadline: float) -> RequestHead:
    """The protocol's headers; RequestRefusedError with status 400 for what is missing or cannot be read."""
    protocol = _value(headers, "Optassign-Protocol")
    if protocol != PROTOCOL:
        error = "the service does not speak this protocol" if protocol else "the header is required"
        raise refused(400, error, "Optassign-Protocol", _shown(protocol), PROTOCOL)
    mode = _value(headers, "Optassign-Mode") or "active"
    if mode not in ("active", "shadow"):
        raise refused(400, "unknown mode", "Optassign-Mode", _shown(mode), "active or shadow")
    plugin = _value(headers, "Optassign-Plugin")
    return RequestHead(
        deadline=deadline_of(headers, default_deadline),
        mode="shadow" if mode == "shadow" else "active",
        remembered_at=_integer(headers, "Optassign-Remembered-At", 0, INT64_MAX),
        plugin=None if plugin is None else plugin[:_SHOWN],
    )


def deadline_of(headers: Headers, default: float) -> float:
    """Seconds from the arrival of the request until the answer is of no use any more."""
    milliseconds = _integer(headers, "Optassign-Deadline-Ms", 1, _LONGEST_DEADLINE_MS)
    return default if milliseconds is None else milliseconds / 1000


def content_encoding(headers: Headers) -> Literal["identity", "gzip"]:
    """How the body is encoded; RequestRefusedError with status 415 unless it is JSON in a way that is understood."""
    content_type = _value(headers, "Content-Type")
    kind, *parameters = [part.strip().lower() for part in (content_type or "").split(";")]
    if kind != "application/json" or any(p not in ("", "charset=utf-8", 'charset="utf-8"') for p in parameters):
        raise refused(415, "the body is not declared as JSON", "Content-Type", _shown(content_type), "application/json")
    encoding = (_value(headers, "Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise refused(415, "unknown encoding", "Content-Encoding", _shown(encoding), "identity or gzip")
    return "gzip" if encoding == "gzip" else "identity"


def check_token(headers: Headers, token: str | None) -> None:
    """RequestRefusedError with status 401 unless the request has the token, where there is one."""
    if token is None:
        return
    values = headers.getlist("authorization")
    scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    # Compared in constant time: how long it takes tells nothing about the token.
    right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    if scheme.lower() != "bearer" or not right:
        refusal = refused(401, "the token is missing or wrong", "Authorization", allowed="Bearer and the service's token")
        refusal.refusal.headers["WWW-Authenticate"] = "Bearer"
        raise refusal


def _value(headers: Headers, name: str) -> str | None:
    values = headers.getlist(name)
    if len(values) > 1:
        raise refused(400, "the header is there more than once", name, f"{len(values)} times", "once")
    return values[0] if values else None


def _integer(headers: Headers, name: str, least: int, most: int) -> int | None:
    text = _value(headers, name)
    if text is None:
        return None
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
    if value is None or not least <= value <= most:
        raise refused(400, "not a number of milliseconds", name, _shown(text), f"an integer from {least} to {most}")
    return value


def _shown(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
