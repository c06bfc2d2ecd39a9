"""Answers to what-if questions: the target of a changed snapshot, its cost and duration, and the simulated rebalances."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median

from optassign.analysis.limit_prices import price_limits, prices_to_lines
from optassign.assignor import assign
from optassign.formats.base import Frozen
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.judging.explain import ExplainedAnswer
from optassign.judging.explanation import Explanation
from optassign.judging.explanation_text import answer_to_lines, pluralize, reason_to_text
from optassign.measuring import ASSUMED_RATE
from optassign.measuring.client_names import ClientNames, UnknownClientError
from optassign.measuring.outlook import list_rates
from optassign.measuring.placement import staying_clients
from optassign.recordings.recording import LoadUnit, Recording, make_overview
from optassign.service.http.refusals import make_refusal
from optassign.service.views.heat_map import CountRow, HeatMap, make_heat_map, order_clients
from optassign.service.views.types import MoveRow
from optassign.simulation.successors import drop_idle_followup, make_restored_snapshot
from optassign_models.policy.constants import MOST_WEIGHT

__all__ = [
    "CHANGES",
    "Changes",
    "Outcome",
    "WhatIfView",
    "apply_changes",
    "compare_with_change",
    "find_lost",
    "make_base",
    "read_changes",
    "read_rates",
    "view_what_if",
]

_MOST_STANDBYS = 20
"""The greatest number of standbys per task in a what-if question. An answer takes time in proportion to it."""
_MOST_WARMUPS = 100_000
"""The greatest number of warm-ups in a what-if question: more than any group has tasks."""
_MOST_THREADS = 10_000
"""The greatest number of threads of a client in a what-if question: more than any JVM runs."""
_MOST_ADDED = 1_000
"""The greatest number of clients that a what-if question adds. An answer takes time in proportion to it."""
_WHAT_IF_MOVES = 100
"""The number of moves that a what-if answer lists. A page stays small."""
CHANGES = ("standbys", "warmups", "threads", "weights", "add", "drain", "lose", "zone")
"""The fields of a query, each for one change."""
_WEIGHT = re.compile(r"([^:\s]+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Changes:
    """The changes of a what-if question; a field with its default value changes nothing."""

    standbys: int | None = None
    warmups: int | None = None
    threads: int | None = None
    """Threads of every client."""
    weights: Mapping[str, float] | None = None
    """Subtopology or task → weight."""
    added: int = 0
    """Number of new clients, like the present ones."""
    drained: tuple[str, ...] = ()
    """Process ids of drained clients."""
    lost: tuple[str, ...] = ()
    """Process ids of lost clients."""
    zone: str = ""
    """A tag, `key=value`: all clients with this tag are lost."""

    def describe(self, names: ClientNames) -> list[str]:
        """Return the changes in words."""
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
    """Return the changes of a form or a query. RequestRefusedError with status 400 for invalid changes."""
    names = ClientNames(state)
    changes = Changes(
        standbys=_read_number(given, "standbys", 0, _MOST_STANDBYS),
        warmups=_read_number(given, "warmups", 1, _MOST_WARMUPS),
        threads=_read_number(given, "threads", 1, _MOST_THREADS),
        weights=_read_weights(given.get("weights", "").strip(), state),
        added=_read_number(given, "add", 0, _MOST_ADDED) or 0,
        drained=_read_clients(given, "drain", names),
        lost=_read_clients(given, "lose", names),
        zone=given.get("zone", "").strip(),
    )
    if changes.zone and not any(_has_tag(client, changes.zone) for client in state.clients):
        tags = sorted({f"{key}={value}" for client in state.clients for key, value in client.tags.items()})
        raise make_refusal(400, "no client has this tag", "zone", changes.zone[:100], ", ".join(tags[:5]) or "nothing: no tags")
    if len(find_lost(changes, state)) == len(state.clients) and not changes.added:
        raise make_refusal(400, "the change leaves no client", "lose", "all clients", "at least one client that stays or joins")
    return changes


def find_lost(changes: Changes, state: ApplicationState) -> frozenset[str]:
    """Return the process ids of the clients that the changes remove, by name or by zone."""
    of_zone = (client.process_id for client in state.clients if changes.zone and _has_tag(client, changes.zone))
    return frozenset((*changes.lost, *of_zone))


def apply_changes(changes: Changes, state: ApplicationState) -> ApplicationState:
    """Return the snapshot after the changes."""
    configs, options = state.configs, state.options
    if changes.standbys is not None:
        configs = configs.model_copy(update={"num_standby_replicas": changes.standbys})
    if changes.warmups is not None:
        configs = configs.model_copy(update={"max_warmup_replicas": changes.warmups})
    if changes.weights:
        known = changes.weights
        asked = {task.id: known.get(task.id, known.get(task.id.rpartition("_")[0])) for task in state.tasks}
        named = {task: weight for task, weight in asked.items() if weight is not None}
        # Explicit weights take precedence over measured ones, from rates or changelogs.
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
    """Return new clients that repeat the kinds of the present ones (threads, capacity, tags, rack) in turn."""
    kinds = {
        (client.threads, client.capacity, tuple(sorted(client.tags.items())), client.rack): client
        for client in staying_clients(state)
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
    """Return the process ids of the clients that a field names, one name per line or separated by commas."""
    found: dict[str, None] = {}
    for text in filter(None, (part.strip() for part in re.split(r"[,\r\n]+", given.get(name, "")))):
        try:
            found[names.find(text)] = None
        except UnknownClientError as error:
            allowed = "the beginning of a client's process id, client.id, host or tag, which no other has"
            found_text = f"{text[:100]}, which {len(error.fits)} clients go by" if error.fits else text[:100]
            raise make_refusal(400, "the name fits no single client", name, found_text, allowed) from None
    return tuple(found)


class Outcome(Frozen):
    """The main figures of an answer."""

    clients: int
    moved_active: int
    restored_now: int
    """Offsets that copies of this answer restore."""
    restore_work: int
    """Offsets to restore until the target is reached."""
    warmups: int
    followups: int | None
    ms: int | None
    """Estimated milliseconds until the target is reached; null if it is reached at once, or unknown."""
    restoring_s: float
    """Estimated seconds in which the slowest client restores the copies of this answer."""
    assumed_rate: int | None
    """Offsets per second that every client is assumed to restore; null if rates were measured."""
    balanced_in_the_end: bool
    load_least: float
    load_most: float
    load_unit: LoadUnit
    standbys_wanted: int


class WhatIfView(Frozen):
    """A change, compared with the present application."""

    changes: tuple[str, ...]
    assignor: str
    as_it_is: Outcome
    changed: Outcome
    summary: tuple[str, ...]
    moves: tuple[MoveRow, ...]
    more_moves: int
    heat: HeatMap
    counts: tuple[CountRow, ...]


def view_what_if(recording: Recording, given: Mapping[str, str], assignor: str, seconds: float) -> WhatIfView:
    """Return the comparison for a form's changes. RequestRefusedError with status 400 for invalid changes.

    Both sides start from the group after its last answer, with all copies restored. `seconds` of solving for each.
    """
    return compare_with_change(make_base(recording), read_rates(recording), given, assignor, seconds)


def compare_with_change(
    base: ApplicationState, rates: Mapping[str, float], given: Mapping[str, str], assignor: str, seconds: float
) -> WhatIfView:
    """Compare the answers to a snapshot and to the changed snapshot. `rates`: client → known offsets restored per second."""
    names, changes = ClientNames(base), read_changes(given, base)
    state = apply_changes(changes, base)
    as_it_is, _ = _ask(base, assignor, seconds, rates)
    changed, context = _ask(state, assignor, seconds, rates)
    explanation, label = context.explain_all(), ClientNames(state).label
    prices = price_limits(state, context.answer, assignor, seconds)
    heat, counts = make_heat_map(context, ClientNames(state), order_clients(context, 0), 0)
    moves = explanation.moves[:_WHAT_IF_MOVES]
    return WhatIfView(
        changes=tuple(changes.describe(names)),
        assignor=assignor,
        as_it_is=as_it_is,
        changed=changed,
        summary=(*answer_to_lines(explanation, label, moves=False), *prices_to_lines(prices)),
        moves=tuple(
            MoveRow(
                task=m.task, from_client=label(m.from_client), to_client=label(m.to_client), why=reason_to_text(m.why, m.share)
            )
            for m in moves
        ),
        more_moves=len(explanation.moves) - len(moves),
        heat=heat,
        counts=counts,
    )


def make_base(recording: Recording) -> ApplicationState:
    """Return the group after its last answer, with all copies restored, for both sides of a comparison."""
    return drop_idle_followup(make_restored_snapshot(recording.snapshot, recording.assignment))


def _ask(state: ApplicationState, assignor: str, seconds: float, rates: Mapping[str, float]) -> tuple[Outcome, ExplainedAnswer]:
    answer = assign(state, assignor, seconds)
    context, overview = ExplainedAnswer(state, answer), make_overview(state, answer)
    explanation = context.explain_all()
    outlook = explanation.outlook
    outcome = Outcome(
        clients=len(state.clients),
        moved_active=len(explanation.moves),
        restored_now=sum(copy.offsets for copy in explanation.restores),
        restore_work=explanation.planned_work,
        warmups=sum(len(client.warmup) for client in answer.clients),
        followups=None if outlook is None else outlook.followups,
        ms=None if outlook is None else outlook.ms,
        restoring_s=_estimate_restoring(explanation, rates),
        assumed_rate=None if rates else ASSUMED_RATE,
        balanced_in_the_end=context.is_target_balanced,
        load_least=overview.load_least,
        load_most=overview.load_most,
        load_unit=overview.load_unit,
        standbys_wanted=overview.standbys_wanted,
    )
    return outcome, context


def _estimate_restoring(explanation: Explanation, rates: Mapping[str, float]) -> float:
    usual = median(rates.values()) if rates else ASSUMED_RATE
    seconds: dict[str, float] = {}
    for copy in explanation.restores:
        seconds[copy.process_id] = seconds.get(copy.process_id, 0.0) + copy.offsets / rates.get(copy.process_id, usual)
    return round(max(seconds.values(), default=0.0), 1)


def read_rates(recording: Recording) -> dict[str, float]:
    """Return client → offsets per second, for clients with a known rate."""
    return list_rates(recording.assignment.report.pace)
