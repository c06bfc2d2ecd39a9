"""The clients of each application's last rebalance, by the names that an operator may use."""

from collections import OrderedDict
from collections.abc import Iterable

from optassign.formats.clients import KafkaStreamsState, find_clients
from optassign.service.http.refusals import make_refusal
from optassign_models.policy.service import MOST_KNOWN, REFUSED_CLIENTS

__all__ = ["KnownClients"]


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
