"""The headers of a request, read and checked (docs/reference/http.md)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from optassign.formats.base import INT64_MAX
from optassign.formats.parsing.input_errors import shorten
from optassign.recordings.recording import BROKER_AGENT
from optassign.service.http.refusals import make_refusal

__all__ = [
    "LONGEST_DEADLINE_MS",
    "PROTOCOL",
    "HeaderValues",
    "ReportHead",
    "RequestHead",
    "check_protocol",
    "read_content_encoding",
    "read_deadline",
    "read_report_head",
    "read_request_head",
]

PROTOCOL = "1"
LONGEST_DEADLINE_MS = 60_000
"""No plug-in waits longer (`optassign.timeout.ms`)."""
_LONGEST_AGE_MS = 366 * 86_400_000
_REBALANCE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST_PLUGIN = 60
"""Characters that are kept of what the plug-in says of its version."""


class HeaderValues(Protocol):
    """The used part of Starlette's headers."""

    def getlist(self, key: str) -> Sequence[str]:
        """All values of a header; its name in any case."""
        ...


@dataclass(frozen=True)
class RequestHead:
    """A plug-in's headers next to a snapshot."""

    deadline: float
    """Seconds from the arrival of the request."""
    mode: Literal["active", "shadow"] = "active"
    remembered_at: int | None = None
    """Milliseconds since 1970; None: not said. A time too far ahead is refused if the last answer is known."""
    plugin: str | None = None
    """Its version; of the brokers' assignor with its name before it."""
    rebalance: str | None = None
    """The plug-in's id of the rebalance; None: an older plug-in, which reports nothing."""

    @property
    def runs_followups(self) -> bool:
        """Whether the answer is applied to a group that rebalances when its follow-up is due."""
        return self.mode == "active" and not (self.plugin or "").startswith(BROKER_AGENT)


@dataclass(frozen=True)
class ReportHead:
    """A plug-in's headers next to a report."""

    request: RequestHead
    """As of the rebalance; the deadline is the one that the service's answer would have had."""
    rebalance: str
    applied_at: int
    """When the applied answer was decided, milliseconds since 1970 by the plug-in's clock."""
    age: float
    """Seconds since Kafka took it."""


def read_report_head(headers: HeaderValues, default_deadline: float) -> ReportHead:
    """The headers of a report; RequestRefusedError with status 400 for what is missing or cannot be read."""
    request = read_request_head(headers, default_deadline)
    if request.rebalance is None:
        raise make_refusal(400, "the header is required", "Optassign-Rebalance", "nothing", "an id of the rebalance")
    applied_at = _read_integer(headers, "Optassign-Applied-At", 0, INT64_MAX)
    if applied_at is None:
        raise make_refusal(400, "the header is required", "Optassign-Applied-At", "nothing", "milliseconds since 1970")
    age_ms = _read_integer(headers, "Optassign-Age-Ms", 0, _LONGEST_AGE_MS)
    return ReportHead(request, request.rebalance, applied_at, (age_ms or 0) / 1000)


def read_request_head(headers: HeaderValues, default_deadline: float) -> RequestHead:
    """The protocol's headers; RequestRefusedError with status 400 for what is missing or cannot be read."""
    check_protocol(headers)
    mode = _read_value(headers, "Optassign-Mode") or "active"
    if mode not in ("active", "shadow"):
        raise make_refusal(400, "unknown mode", "Optassign-Mode", _show(mode), "active or shadow")
    plugin, agent = _read_value(headers, "Optassign-Plugin"), _read_value(headers, "User-Agent") or ""
    if agent.startswith(BROKER_AGENT):
        plugin = agent
    rebalance = _read_value(headers, "Optassign-Rebalance")
    if rebalance is not None and not _REBALANCE.fullmatch(rebalance):
        allowed = "1 to 64 letters, digits and ._-"
        raise make_refusal(400, "not an id of a rebalance", "Optassign-Rebalance", _show(rebalance), allowed)
    return RequestHead(
        deadline=read_deadline(headers, default_deadline),
        mode="shadow" if mode == "shadow" else "active",
        remembered_at=_read_integer(headers, "Optassign-Remembered-At", 0, INT64_MAX),
        plugin=None if plugin is None else plugin[:_LONGEST_PLUGIN],
        rebalance=rebalance,
    )


def check_protocol(headers: HeaderValues) -> None:
    """RequestRefusedError with status 400 unless the request says that it speaks our protocol."""
    protocol = _read_value(headers, "Optassign-Protocol")
    if protocol != PROTOCOL:
        error = "the service does not speak this protocol" if protocol else "the header is required"
        raise make_refusal(400, error, "Optassign-Protocol", _show(protocol), PROTOCOL)


def read_deadline(headers: HeaderValues, default: float) -> float:
    """Seconds from the arrival of the request until the answer is of no use any more."""
    milliseconds = _read_integer(headers, "Optassign-Deadline-Ms", 1, LONGEST_DEADLINE_MS)
    return default if milliseconds is None else milliseconds / 1000


def read_content_encoding(headers: HeaderValues) -> Literal["identity", "gzip"]:
    """How the body is encoded; RequestRefusedError with status 415 unless it is JSON in a way that is understood."""
    content_type = _read_value(headers, "Content-Type")
    kind, *parameters = [part.strip().lower() for part in (content_type or "").split(";")]
    if kind != "application/json" or any(p not in ("", "charset=utf-8", 'charset="utf-8"') for p in parameters):
        raise make_refusal(415, "the body is not declared as JSON", "Content-Type", _show(content_type), "application/json")
    encoding = (_read_value(headers, "Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise make_refusal(415, "unknown encoding", "Content-Encoding", _show(encoding), "identity or gzip")
    return "gzip" if encoding == "gzip" else "identity"


def _read_value(headers: HeaderValues, name: str) -> str | None:
    """The value of a header, None without it. RequestRefusedError with status 400 if it is there more than once."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise make_refusal(400, "the header is there more than once", name, f"{len(values)} times", "once")
    return values[0] if values else None


def _read_integer(headers: HeaderValues, name: str, least: int, most: int) -> int | None:
    """The milliseconds in a header, None without it. RequestRefusedError with status 400 unless from `least` to `most`."""
    text = _read_value(headers, name)
    if text is None:
        return None
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
    if value is None or not least <= value <= most:
        raise make_refusal(400, "not a number of milliseconds", name, _show(text), f"an integer from {least} to {most}")
    return value


def _show(text: str | None) -> str:
    return "nothing" if text is None else shorten(text)
