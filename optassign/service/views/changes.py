"""Preview a snapshot with other settings or other clients. Nothing is changed but a copy of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice

from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.judging.explanation_text import pluralize
from optassign.measuring.client_names import ClientNames, UnknownClientError
from optassign.service.http.refusals import make_refusal
from optassign_models.policy.constants import MOST_ADDED, MOST_STANDBYS, MOST_THREADS, MOST_WARMUPS, MOST_WEIGHT

__all__ = ["CHANGES", "Changes", "apply_changes", "find_lost", "read_changes"]

CHANGES = ("standbys", "warmups", "threads", "weights", "add", "drain", "lose", "zone")
"""The fields that a query may have."""
_WEIGHT = re.compile(r"([^:\s]+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Changes:
    """What is asked; None and empty: as it is."""

    standbys: int | None = None
    warmups: int | None = None
    threads: int | None = None
    """Of every client."""
    weights: Mapping[str, float] | None = None
    """Subtopology or task -> weight."""
    added: int = 0
    """New clients, like the present ones."""
    drained: tuple[str, ...] = ()
    """Process ids."""
    lost: tuple[str, ...] = ()
    """Process ids."""
    zone: str = ""
    """A tag, `key=value`: all clients that have it are lost."""

    def describe(self, names: ClientNames) -> list[str]:
        """In words."""
        found = []
        if self.standbys is not None:
            found.append(f"num.standby.replicas = {self.standbys}")
        if self.warmups is not None:
            found.append(f"max.warmup.replicas = {self.warmups}")
        if self.threads is not None:
            found.append(f"{pluralize(self.threads, 'thread')} on every client")
        if self.weights:
            found.append("weights " + ", ".join(f"{key}: {value:g}" for key, value in self.weights.items()))
        if self.added:
            found.append(f"{pluralize(self.added, 'client')} added")
        found += [f"{names.label(client)} drained" for client in self.drained]
        found += [f"{names.label(client)} lost" for client in self.lost]
        if self.zone:
            found.append(f"all clients with {self.zone} lost")
        return found


def read_changes(given: Mapping[str, str], state: ApplicationState) -> Changes:
    """The changes of a form or a query. RequestRefusedError with status 400 for what cannot be."""
    names = ClientNames(state)
    changes = Changes(
        standbys=_read_number(given, "standbys", 0, MOST_STANDBYS),
        warmups=_read_number(given, "warmups", 1, MOST_WARMUPS),
        threads=_read_number(given, "threads", 1, MOST_THREADS),
        weights=_read_weights(given.get("weights", "").strip(), state),
        added=_read_number(given, "add", 0, MOST_ADDED) or 0,
        drained=_read_clients(given, "drain", names),
        lost=_read_clients(given, "lose", names),
        zone=given.get("zone", "").strip(),
    )
    if changes.zone and not any(_has_tag(client, changes.zone) for client in state.clients):
        tags = sorted({f"{key}={value}" for client in state.clients for key, value in client.tags.items()})
        raise make_refusal(400, "no client has this tag", "zone", changes.zone[:100], ", ".join(tags[:5]) or "nothing: no tags")
    if len(find_lost(changes, state)) == len(state.clients) and not changes.added:
        raise make_refusal(400, "no client would be left", "lose", "all clients", "some client that stays or is added")
    return changes


def find_lost(changes: Changes, state: ApplicationState) -> frozenset[str]:
    """The clients that would be gone."""
    of_zone = (client.process_id for client in state.clients if changes.zone and _has_tag(client, changes.zone))
    return frozenset((*changes.lost, *of_zone))


def apply_changes(changes: Changes, state: ApplicationState) -> ApplicationState:
    """The snapshot with the changes."""
    configs, options = state.configs, state.options
    if changes.standbys is not None:
        configs = configs.model_copy(update={"num_standby_replicas": changes.standbys})
    if changes.warmups is not None:
        configs = configs.model_copy(update={"max_warmup_replicas": changes.warmups})
    if changes.weights:
        known = changes.weights
        asked = {task.id: known.get(task.id, known.get(task.id.rpartition("_")[0])) for task in state.tasks}
        named = {task: weight for task, weight in asked.items() if weight is not None}
        # By name they go before weights that are found, by rates or changelogs.
        options = options.model_copy(update={"task_weights": {**options.task_weights, **named}})
    lost = find_lost(changes, state)
    clients = [client for client in state.clients if client.process_id not in lost]
    clients = [
        client.model_copy(update={"draining": True}) if client.process_id in changes.drained else client for client in clients
    ]
    clients += _make_clients(changes.added, state)
    if changes.threads is not None:
        clients = [client.model_copy(update={"threads": changes.threads}) for client in clients]
    return ApplicationState(
        format=1,
        application=state.application,
        taken_at=state.taken_at,
        configs=configs,
        options=options,
        tasks=state.tasks,
        clients=tuple(clients),
        remembered=state.remembered,
    )


def _make_clients(number: int, state: ApplicationState) -> list[KafkaStreamsState]:
    """New clients: of the kinds that are there (threads, capacity, tags, rack), one after the other."""
    kinds = {
        (client.threads, client.capacity, tuple(sorted(client.tags.items())), client.rack): client for client in state.clients
    }
    patterns = islice(cycle(kinds.values()), number)
    taken, digits = state.kafka_streams_states, len(str(number))
    begin = "new-"
    while any(name.startswith(begin) for name in taken):
        begin += "new-"
    return [
        KafkaStreamsState(
            process_id=f"{begin}{place:0{digits}d}",
            threads=like.threads,
            capacity=like.capacity,
            tags=dict(like.tags),
            rack=like.rack,
        )
        for place, like in enumerate(patterns, start=1)
    ]


def _has_tag(client: KafkaStreamsState, tag: str) -> bool:
    return any(f"{key}={value}" == tag for key, value in client.tags.items())


def _read_number(given: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    if value is None or not least <= value <= most:
        raise make_refusal(400, "the number is not allowed", name, text[:100], f"an integer from {least} to {most}, or nothing")
    return value


def _read_weights(text: str, state: ApplicationState) -> Mapping[str, float] | None:
    if not text:
        return None
    known = {*state.all_tasks, *(task.rpartition("_")[0] for task in state.all_tasks)}
    found = {}
    for part in filter(None, re.split(r"[,\s]+", text)):
        match = _WEIGHT.fullmatch(part)
        if match is None or match[1] not in known or not 0 < float(match[2]) <= MOST_WEIGHT:
            allowed = "subtopologies or tasks with weights above 0, such as 0:2.5,1_3:4"
            raise make_refusal(400, "the weights cannot be read", "weights", part[:100], allowed)
        found[match[1]] = float(match[2])
    return found


def _read_clients(given: Mapping[str, str], name: str, names: ClientNames) -> tuple[str, ...]:
    """Clients by any of their names, one a line or separated by commas."""
    found: dict[str, None] = {}
    for text in filter(None, (part.strip() for part in re.split(r"[,\r\n]+", given.get(name, "")))):
        try:
            found[names.find(text)] = None
        except UnknownClientError as error:
            allowed = "the beginning of a client's process id, client.id, host or tag, which no other has"
            found_text = f"{text[:100]}, which {len(error.fits)} clients go by" if error.fits else text[:100]
            raise make_refusal(400, "the name fits no single client", name, found_text, allowed) from None
    return tuple(found)
