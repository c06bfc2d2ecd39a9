"""The last rebalance of each application: its time, its follow-up and its clients."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from optassign.formats.base import parse_time
from optassign.formats.clients import KafkaStreamsState, find_clients
from optassign.measuring.outlook import AWAITED, Awaited
from optassign.recordings.recording import RecordingHead
from optassign.service.clock import format_utc
from optassign.service.http.refusals import make_refusal
from optassign.service.newest import MOST_KNOWN, Newest

__all__ = ["NO_REBALANCE", "KnownClients", "LastRebalance", "make_last_rebalance"]

_REFUSED_CLIENTS = 10  # clients that a refusal names: a refusal stays one line

NO_REBALANCE: dict[str, Any] = {
    "last_rebalance": None,
    "next_rebalance": None,
    "waits_for": "",
    "takes_effect": "at the next rebalance; this service knows none of this application so far",
}
"""The fields of `LastRebalance.describe` before the first known rebalance."""


@dataclass(frozen=True)
class LastRebalance:
    """The last rebalance of an application in active mode."""

    at: float
    """Time of the rebalance in seconds since 1970."""
    followup_ms: int | None
    awaited: Awaited | None

    def describe(self, now: float) -> dict[str, Any]:
        """Return the last and next rebalance, and when a request made at `now` (seconds since 1970) takes effect, for GET."""
        due = None if self.followup_ms is None else self.at + min(self.followup_ms / 1000, 1e10)
        return {
            "last_rebalance": format_utc(self.at),
            "next_rebalance": None if due is None else format_utc(due),
            "waits_for": "" if self.awaited is None else AWAITED[self.awaited],
            "takes_effect": _describe_effect(due, now),
        }


def _describe_effect(due: float | None, now: float) -> str:
    """Return when a request takes effect, in words. due: the time of the follow-up in seconds since 1970, or None without
    one."""
    if due is None:
        return "only at the next rebalance, and none is due: start, stop or restart an instance to have one"
    if due < now:
        return f"at the next rebalance, which was due at {format_utc(due)} and has not reached this service"
    return f"at the next rebalance, at the latest at {format_utc(due)}; sooner if an instance joins, leaves or restarts"


def make_last_rebalance(head: RecordingHead) -> LastRebalance:
    """Return the contact of a rebalance that was answered or recorded."""
    return LastRebalance(parse_time(head.recorded_at).timestamp(), head.summary.followup_ms, head.summary.awaited)


class KnownClients:
    """The clients of each application in the last rebalance that this service answered. Used by the event loop only."""

    def __init__(self) -> None:
        self._clients = Newest[str, tuple[KafkaStreamsState, ...]](MOST_KNOWN)

    def note(self, application: str, clients: Iterable[KafkaStreamsState]) -> None:
        """Replace the clients of an application by those of a newer rebalance."""
        self._clients[application] = tuple(clients)

    def check(self, application: str, name: str) -> None:
        """Check that a name identifies one client. Any name passes for an application without a known rebalance.

        RequestRefusedError with status 404 if no client of the last rebalance has the name, 409 if several clients have it.
        """
        clients = self._clients.get(application, ())
        found = find_clients(clients, name)
        if not clients or len(found) == 1:
            return
        shown = ", ".join(map(_label, (found or clients)[:_REFUSED_CLIENTS]))
        more = len(found or clients) - _REFUSED_CLIENTS
        shown += f" and {more:,} more" if more > 0 else ""
        if found:
            raise make_refusal(409, "several clients have this name", "client", name[:100], f"one of {shown}")
        raise make_refusal(404, "no such client in the last rebalance", "client", name[:100], f"one of {shown}")


def _label(client: KafkaStreamsState) -> str:
    name = client.client_id or client.host
    return f"{client.process_id} ({name})" if name else client.process_id
