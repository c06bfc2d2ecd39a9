"""Which copies an applied assignment has: standbys and warm-ups look alike from outside, and the assignor has no name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from optassign.assignor import AssignorError, assign
from optassign.formats.assignment import KafkaStreamsAssignment, Report, TaskAssignment, Termination
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.inspecting.inspected import UNKNOWN_ASSIGNOR
from optassign.measuring.balance import is_balanced

__all__ = ["KAFKAS_ASSIGNORS", "AppliedCopies", "complete_answer"]

KAFKAS_ASSIGNORS = ("high-availability", "sticky")
"""Assignors of Kafka Streams whose answer may be the one that was applied; Kafka's default first."""


@dataclass(frozen=True)
class AppliedCopies:
    """Tasks of each process; to the group a warm-up is a standby."""

    active: Mapping[str, Sequence[str]]
    standby: Mapping[str, Sequence[str]]

    def count_standbys(self, logged: Iterable[str]) -> int:
        """The least number of standbys of any of these tasks: `num.standby.replicas`, if there are instances enough."""
        number = Counter(task for tasks in self.standby.values() for task in tasks)
        return min((number[task] for task in logged), default=0)


def complete_answer(state: ApplicationState, copies: AppliedCopies, followup: tuple[str, int] | None) -> TaskAssignment:
    """The applied answer to `state`, with its assignor and warm-ups told from standbys.

    If one of Kafka's assignors gives these copies to these clients, the answer is its. Otherwise those of a task's copies count
    as warm-ups that are beyond `num.standby.replicas` and lag most. `followup`: who triggers the
    next rebalance, in how many ms.
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
    """The one of Kafka's assignors that gives these copies, and its warm-ups as (task, process id); None: none does."""
    seen = {client.process_id: _list_copies(copies.active, copies.standby, client.process_id) for client in state.clients}
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


def _list_copies(
    active: Mapping[str, Sequence[str]], standby: Mapping[str, Sequence[str]], process_id: str
) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(active.get(process_id, ())), frozenset(standby.get(process_id, ()))


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
