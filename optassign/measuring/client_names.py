"""Names of clients that people know: client id, host and tags. Kafka draws process ids at random."""

from collections import Counter
from collections.abc import Iterator, Mapping

from optassign.formats.clients import KafkaStreamsState
from optassign.formats.state import ApplicationState

_THREAD = "-StreamThread-"
"""Kafka Streams names its consumers `<client.id>-StreamThread-<n>-consumer…`."""


class UnknownClientError(LookupError):
    """Raised for a name that fits no client or several clients; `fits` has their labels."""

    def __init__(self, fits: tuple[str, ...]) -> None:
        self.fits = fits
        super().__init__(f"{len(fits)} clients go by this name")


class ClientNames:
    """The names of a snapshot's clients. A process id that is not in the snapshot is its own name."""

    def __init__(self, state: ApplicationState) -> None:
        self._clients = state.kafka_streams_states
        client_ids = {name: _find_client_id(client) for name, client in self._clients.items()}
        hosts = {name: client.host for name, client in self._clients.items()}
        self._client_ids, self._hosts = client_ids, hosts
        self._short = dict(_choose_short_names(self._clients, client_ids, hosts))

    def short(self, process_id: str) -> str | None:
        """Return the client id, otherwise the host, if no other client has it; otherwise the tags; None without any."""
        return self._short.get(process_id)

    def label(self, process_id: str) -> str:
        """Return `process id (short name)`, or the process id alone if there is no short name."""
        name = self.short(process_id)
        return process_id if name is None else f"{process_id} ({name})"

    def title(self, process_id: str) -> str:
        """Return `short name (process id)`, or the process id alone if there is no short name."""
        name = self.short(process_id)
        return process_id if name is None or name == process_id else f"{name} ({process_id})"

    def list_all(self, process_id: str) -> Iterator[str]:
        """Yield every other name of the client with its kind: `client.id orders-1`, `host h:80`, `zone=a`."""
        client_id, host = self._client_ids.get(process_id), self._hosts.get(process_id)
        if client_id is not None:
            yield f"client.id {client_id}"
        if host is not None:
            yield f"host {host}"
        if process_id in self._clients:
            yield from (f"{key}={value}" for key, value in self._clients[process_id].tags.items())

    def find(self, text: str) -> str:
        """Return the process id of the client named `text`, otherwise of the only client with a name that begins with it.

        Names are the process id, the client id, the host, a tag (`zone=a`) and its value. UnknownClientError if no client or
        several clients fit.
        """
        if text in self._clients:
            return text
        for fits in (text.__eq__, lambda name: bool(text) and name.startswith(text)):
            found = [process_id for process_id in self._clients if any(map(fits, self._list_names(process_id)))]
            if len(found) == 1:
                return found[0]
            if found:
                raise UnknownClientError(tuple(map(self.label, found)))
        raise UnknownClientError(())

    def _list_names(self, process_id: str) -> Iterator[str]:
        yield process_id
        yield from filter(None, (self._client_ids[process_id], self._hosts[process_id]))
        for key, value in self._clients[process_id].tags.items():
            yield value
            yield f"{key}={value}"


def _find_client_id(client: KafkaStreamsState) -> str | None:
    """Return the `client_id`, otherwise the prefix of the first consumer's name, unless Kafka made it of the process id."""
    if client.client_id is not None:
        return client.client_id
    for consumer in client.consumers:
        begin, found, _ = consumer.rpartition(_THREAD)
        return begin if found and begin and not begin.endswith(f"-{client.process_id}") else None
    return None


def _choose_short_names(
    clients: Mapping[str, KafkaStreamsState], client_ids: Mapping[str, str | None], hosts: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    """Yield (process id, short name) of each client that has one.

    A client id or host that several clients share distinguishes none of them; tags may be shared.
    """
    kinds = [(names, Counter(names.values())) for names in (client_ids, hosts)]
    for process_id, client in clients.items():
        for names, times in kinds:
            name = names[process_id]
            if name and times[name] == 1:
                yield process_id, name
                break
        else:
            if client.tags:
                yield process_id, ", ".join(f"{key}={value}" for key, value in client.tags.items())
