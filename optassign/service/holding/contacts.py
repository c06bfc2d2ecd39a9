"""An application's last contact: when it was, what it rebalances for next, and its clients by the names an operator may use."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from optassign.formats.base import parse_time
from optassign.formats.clients import KafkaStreamsState, find_clients
from optassign.measuring.outlook import AWAITED, Awaited
from optassign.recordings.recording import RecordingHead
from optassign.service.clock import format_utc
from optassign.service.http.refusals import make_refusal
from optassign_models.policy.constants import MOST_KNOWN, REFUSED_CLIENTS

__all__ = ["NO_CONTACT", "Contact", "KnownClients", "make_contact"]

NO_CONTACT: dict[str, Any] = {"last_rebalance": None, "next_rebalance": None, "waits_for": ""}
"""GET shows this before the first known rebalance."""


@dataclass(frozen=True)
class Contact:
    """The last rebalance of an application in active mode."""

    at: float
    """Seconds since 1970."""
    followup_ms: int | None
    awaited: Awaited | None

    def describe(self) -> dict[str, Any]:
        """Describe the next rebalance, as GET shows it."""
        due = None if self.followup_ms is None else format_utc(self.at + min(self.followup_ms / 1000, 1e10))
        return {
            "last_rebalance": format_utc(self.at),
            "next_rebalance": due,
            "waits_for": "" if self.awaited is None else AWAITED[self.awaited],
        }


def make_contact(head: RecordingHead) -> Contact:
    """From a rebalance that was answered, or recorded."""
    return Contact(parse_time(head.recorded_at).timestamp(), head.summary.followup_ms, head.summary.awaited)


class KnownClients:
    """Application -> its clients, as seen in this service's rebalances. Used by the event loop only."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, tuple[KafkaStreamsState, ...]] = OrderedDict()

    def note(self, application: str, clients: Iterable[KafkaStreamsState]) -> None:
        """Remember the clients of a rebalance, in place of those of the one before."""
        self._clients[application] = tuple(clients)
        self._clients.move_to_end(application)
        while len(self._clients) > MOST_KNOWN:
            self._clients.popitem(last=False)

    def check(self, application: str, name: str) -> None:
        """Accept the name of one client, and any name for an application without a rebalance so far.

        RequestRefusedError with status 404 for a name that no client of the last rebalance has, 409 for one of several.
        """
        clients = self._clients.get(application, ())
        found = find_clients(clients, name)
        if not clients or len(found) == 1:
            return
        shown = ", ".join(map(_label, (found or clients)[:REFUSED_CLIENTS]))
        more = len(found or clients) - REFUSED_CLIENTS
        shown += f" and {more:,} more" if more > 0 else ""
        if found:
            raise make_refusal(409, "several clients have this name", "client", name[:100], f"one of {shown}")
        raise make_refusal(404, "no such client in the last rebalance", "client", name[:100], f"one of {shown}")


def _label(client: KafkaStreamsState) -> str:
    name = client.client_id or client.host
    return f"{client.process_id} ({name})" if name else client.process_id
