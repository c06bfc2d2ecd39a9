"""An inspected rebalance: snapshot and applied assignment, with warm-ups distinguished from standbys; also as a recording."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from optassign.assignor import AssignorError, assign
from optassign.formats.assignment import KafkaStreamsAssignment, Report, TaskAssignment, Termination
from optassign.formats.base import format_ms, to_ms
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.measuring.balance import is_balanced
from optassign.recordings.recording import NotApplied, Recording, RecordingHead, encode_recording, make_overview, summarise

Protocol = Literal["classic", "streams"]
"""The values of `group.protocol`."""
UNKNOWN_ASSIGNOR = "unknown"
"""The assignor of an answer that none of Kafka's assignors gives to the snapshot."""


@dataclass(frozen=True)
class Inspected:
    """The last rebalance of a group."""

    protocol: Protocol
    snapshot: ApplicationState
    applied: TaskAssignment
    """`assignor` is one of Kafka's assignors if it gives the same answer to the snapshot."""
    static_members: int
    """Stream threads with a `group.instance.id`."""
    handed_over: tuple[str, ...]
    """Tasks without an owner at the beginning of a rebalance that was not the group's first: an earlier pass took them from
    their owners."""
    growth: dict[str, float]
    """Logged task → growth of its changelogs in offsets per second; empty without a second reading."""
    changelog_bytes: dict[str, int]
    """Logged task → bytes of its changelogs on a broker's disk, for tasks whose sizes are all known."""
    remarks: tuple[str, ...]
    """Sentences on assumptions and unreadable parts."""


_OPTASSIGN = "cp-sat"


def make_recording(inspected: Inspected, time_limit: float) -> Recording:
    """Return the rebalance as a recording in shadow mode. `time_limit`: seconds of solving for optassign's answer."""
    state, applied = inspected.snapshot, inspected.applied
    own = assign(state, _OPTASSIGN, time_limit)
    at = state.taken_at or format_ms(0)
    not_applied = NotApplied(assignor=_OPTASSIGN, time_limit=time_limit, after_the_fact=True, summary=summarise(state, own))
    return Recording(
        format=1,
        application=state.application,
        recorded_at=at,
        answered_at=to_ms(at),
        mode="shadow",
        assignor=applied.assignor,
        time_limit=0.0,
        reported=True,
        not_applied=not_applied,
        summary=summarise(state, applied),
        overview=make_overview(state, applied),
        assignment=applied,
        not_applied_assignment=own,
        snapshot=state,
    )


def encode(recording: Recording) -> bytes:
    """Return the recording as the content of a file that every command reads."""
    head = RecordingHead.model_validate({name: getattr(recording, name) for name in RecordingHead.model_fields})
    return encode_recording(
        head,
        _to_json(recording.assignment),
        recording.snapshot.model_dump_json().encode(),
        _to_json(recording.not_applied_assignment),
    )


def _to_json(answer: TaskAssignment | None) -> bytes:
    return b"null" if answer is None else json.dumps(answer.model_dump(mode="json"), ensure_ascii=False).encode()


KAFKAS_ASSIGNORS = ("high-availability", "sticky")
"""Assignors of Kafka Streams that may have given the applied answer; Kafka's default first."""


@dataclass(frozen=True)
class AppliedCopies:
    """Process id → its tasks. In the classic protocol, standbys include warm-ups."""

    active: Mapping[str, Sequence[str]]
    standby: Mapping[str, Sequence[str]]

    def count_standbys(self, logged: Iterable[str]) -> int:
        """Return the least number of standbys of a task in `logged`: `num.standby.replicas`, given enough instances."""
        number = Counter(task for tasks in self.standby.values() for task in tasks)
        return min((number[task] for task in logged), default=0)


def complete_answer(state: ApplicationState, copies: AppliedCopies, followup: tuple[str, int] | None) -> TaskAssignment:
    """Return the applied answer to `state`, with its assignor and its warm-ups.

    If one of Kafka's assignors gives these copies to these clients, it is the assignor. Otherwise, the copies of a task beyond
    `num.standby.replicas` that lag most count as warm-ups. `followup`: (process that triggers the next rebalance, delay in
    ms); None if no rebalance is scheduled.
    """
    assignor, warmups = _recognise(state, copies) or (UNKNOWN_ASSIGNOR, _choose_warmups(state, copies))
    clients = tuple(
        KafkaStreamsAssignment(
            process_id=client.process_id,
            active=tuple(copies.active.get(client.process_id, ())),
            standby=tuple(t for t in copies.standby.get(client.process_id, ()) if (t, client.process_id) not in warmups),
            warmup=tuple(t for t in copies.standby.get(client.process_id, ()) if (t, client.process_id) in warmups),
            followup_rebalance_ms=followup[1] if followup is not None and followup[0] == client.process_id else None,
        )
        for client in state.clients
    )
    answer = TaskAssignment(assignor=assignor, clients=clients)
    report = Report(
        balanced=is_balanced(state, answer), termination=Termination(reason="observed", detail="read from the group's members")
    )
    return answer.model_copy(update={"report": report})


def _recognise(state: ApplicationState, copies: AppliedCopies) -> tuple[str, frozenset[tuple[str, str]]] | None:
    """Return the assignor of Kafka that gives these copies, and its warm-ups as (task, process id); None if none does."""
    seen = {
        client.process_id: tuple(frozenset(of.get(client.process_id, ())) for of in (copies.active, copies.standby))
        for client in state.clients
    }
    for name in KAFKAS_ASSIGNORS:
        try:
            answer = assign(state, name)
        except AssignorError:
            continue
        if all(
            seen[each.process_id] == (frozenset(each.active), frozenset((*each.standby, *each.warmup)))
            for each in answer.clients
        ):
            return name, frozenset((task, each.process_id) for each in answer.clients for task in each.warmup)
    return None


def _choose_warmups(state: ApplicationState, copies: AppliedCopies) -> frozenset[tuple[str, str]]:
    holders: dict[str, list[str]] = {}
    for client, tasks in copies.standby.items():
        for task in tasks:
            holders.setdefault(task, []).append(client)
    clients, full = state.kafka_streams_states, state.full_lags

    def order(task: str, client: str) -> tuple[int, str]:
        lag = clients[client].lags.get(task, full.get(task, 0))
        return (0 if lag in (RUNNING, UNKNOWN_LAG) else lag, client)

    return frozenset(
        (task, client)
        for task, names in holders.items()
        for client in sorted(names, key=lambda name: order(task, name))[state.configs.num_standby_replicas :]
    )
