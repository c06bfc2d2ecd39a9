"""One rebalance after another: ask an assignor, let everything be restored, ask again, until it asks for no follow-up."""

import math
import time
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Literal

from optassign.assignor import TaskAssignor, check_type
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import find_moved_actives
from optassign.judging.convergences import PlayedRebalance
from optassign.judging.metrics import measure
from optassign.measuring.placement import Placement
from optassign.simulation.growth import Growth
from optassign.simulation.successors import (
    drop_idle_followup,
    find_revoked,
    make_restored_snapshot,
    make_second_pass_snapshot,
)
from optassign.utilities import validate_task_assignment
from optassign_models.policy.simulation import MOST_PASSES

__all__ = ["Rebalancing", "Step", "is_unaltered", "limit_rebalances", "play_rebalance", "play_to_rest"]

_NO_SUCCESSOR = ("format", "R1", "R2")
"""After an answer that breaks one of these there is no telling what comes next."""

Rebalancing = Literal["eager", "cooperative", "cooperative, state not shown"]
"""Eager: a rebalance has one pass. Cooperative (KIP-429): as long as an answer takes tasks from clients that stay, another pass
follows at once; clients show the state of tasks that they have just given up, or do not (both were seen with Kafka)."""


@dataclass(frozen=True, slots=True)
class Step:
    """A rebalance with its snapshots; of a cooperative one each pass."""

    state: ApplicationState
    answer: TaskAssignment
    played: PlayedRebalance
    following: ApplicationState | None
    """The snapshot of the next pass, or the one once all is restored; None: there is no telling, since the answer breaks R1,
    R2 or the form, or no end, since there were too many passes."""
    is_last_pass: bool = True
    """Of its rebalance."""
    is_altered: bool = False
    """A second pass whose answer is not that of the pass before."""


def play_to_rest(
    assignor: TaskAssignor,
    state: ApplicationState,
    *,
    limit: int,
    keep_state: bool = False,
    memory: bool = True,
    growth: Growth | None = None,
    rebalancing: Rebalancing = "eager",
) -> Iterator[Step]:
    """Rebalances until one asks for no follow-up, breaks R1, R2 or the form, or is number `limit`; with their successors."""
    moved: set[str] = set()
    state = drop_idle_followup(state)
    for _ in range(limit):
        before: TaskAssignment | None = None
        shown = state
        for number in range(MOST_PASSES):
            answer, played = play_rebalance(assignor, shown, moved)
            moved.update(played.moved)
            is_altered = before is not None and not is_unaltered(before, answer)
            is_valid = not any(rule in played.measures.violations for rule in _NO_SUCCESSOR)
            if not is_valid or rebalancing == "eager" or not find_revoked(state, answer):
                break
            if number == MOST_PASSES - 1:
                yield Step(shown, answer, played, None, is_altered=is_altered)
                return
            seen = make_second_pass_snapshot(state, answer, memory=memory, state_survives=rebalancing == "cooperative")
            yield Step(shown, answer, played, seen, is_last_pass=False, is_altered=is_altered)
            # State that is not shown at the moment is on its disk all the same.
            before, shown, state = answer, seen, make_second_pass_snapshot(state, answer, memory=memory)
        following = None
        if is_valid:
            following = make_restored_snapshot(state, answer, keep_state=keep_state, memory=memory, growth=growth)
        yield Step(shown, answer, played, following, is_altered=is_altered)
        if following is None or not played.followup:
            return
        state = following


def limit_rebalances(state: ApplicationState) -> int:
    """Twice as many rebalances as slots are needed to warm up every copy there is, and some."""
    copies = sum(task.logged for task in state.tasks) * (min(state.configs.num_standby_replicas, len(state.clients)) + 1)
    return 20 + 2 * math.ceil(copies / state.configs.max_warmup_replicas)


def play_rebalance(
    assignor: TaskAssignor, state: ApplicationState, moved_before: Set[str]
) -> tuple[TaskAssignment, PlayedRebalance]:
    """One answer, measured. `moved_before`: tasks that have moved in earlier ones."""
    # Not by `assign`, which refuses an answer that Kafka would refuse: here it is to be counted.
    start = time.perf_counter()
    assignor.configure(state.configs)
    answer = check_type(assignor.assign(state), assignor)
    seconds = answer.seconds_elsewhere or time.perf_counter() - start
    assignor.on_assignment_computed(state, answer, validate_task_assignment(state, answer))
    measures = measure(state, answer)
    moved = tuple(find_moved_actives(state, Placement.of(state, answer)))
    return answer, PlayedRebalance(
        measures=measures,
        moved=moved,
        moves_repeated=sum(task in moved_before for task in moved),
        followup=any(client.followup_rebalance_ms is not None for client in answer.clients),
        waiting=answer.report.waiting,
        stalled=answer.report.stalled,
        restored_offsets=measures.restore_work + measures.warmup_work,
        seconds=seconds,
    )


def is_unaltered(before: TaskAssignment, after: TaskAssignment) -> bool:
    """Whether every client gets the same copies in the same roles."""
    return _list_copies(before) == _list_copies(after)


def _list_copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    """List every client's copies with their roles."""
    return [(client.process_id, client.active, client.standby, client.warmup) for client in answer.clients]
