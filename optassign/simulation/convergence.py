"""Consecutive rebalances until the group is stable: the probing rebalances of KIP-441 under an assignor."""

import math
import time
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Literal

from optassign.assignor import TaskAssignor, check_snapshot, check_type, create
from optassign.errors import ArgumentError
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.judging.convergences import Convergence, PlayedRebalance
from optassign.judging.metrics import measure
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.placement import TaskPlacement
from optassign.simulation.successors import (
    Growth,
    drop_idle_followup,
    end_quiet_hours,
    find_revoked,
    make_restored_snapshot,
    make_second_pass_snapshot,
)
from optassign.utilities import validate_task_assignment
from optassign_models.policy.constants import TIME_LIMIT

__all__ = [
    "Convergence",
    "PlayedStep",
    "Rebalancing",
    "converge",
    "find_planned_moves",
    "is_unaltered",
    "limit_rebalances",
    "play_rebalance",
    "play_until_stable",
]

_FURTHER_REBALANCES = 20
"""Rebalances allowed to a convergence, in addition to twice the number of batches of warm-ups. A convergence that takes more
does not end."""
_MOST_PASSES = 20
"""Most passes of one cooperative rebalance. The limit stops an assignor whose later passes always revoke tasks again."""
ANSWER_S = 60.0
"""Seconds of solving of a simulated answer, during which no simulated time passes. With the service's 10 s, figures would
depend on the load of the machine (R9)."""

_NO_SUCCESSOR = ("format", "R1", "R2")
"""Violations after which no next snapshot can be made."""

Rebalancing = Literal["eager", "cooperative", "cooperative, state not shown"]
"""Eager: a rebalance has one pass. Cooperative (KIP-429): while an answer revokes tasks from clients that stay, another pass
follows at once. In that pass clients report the state of the tasks just given up, unless `state not shown`; Kafka does both."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A rebalance with its snapshots, or one pass of a cooperative rebalance."""

    state: ApplicationState
    answer: TaskAssignment
    played: PlayedRebalance
    following: ApplicationState | None
    """The snapshot of the next pass, or the snapshot after restoration. None if the answer breaks R1, R2 or the format, or if
    the rebalance has too many passes."""
    is_last_pass: bool = True
    """Whether this pass ends its rebalance."""
    is_altered: bool = False
    """Whether this is a later pass with another answer than the pass before."""


def play_until_stable(
    assignor: TaskAssignor,
    state: ApplicationState,
    *,
    limit: int,
    keep_state: bool = False,
    memory: bool = True,
    growth: Growth | None = None,
    rebalancing: Rebalancing = "eager",
) -> Iterator[PlayedStep]:
    """Yield every pass of consecutive rebalances. Stop after a rebalance without a follow-up, after `limit` rebalances, or
    after an answer that breaks R1, R2 or the format."""
    moved: set[str] = set()
    state = end_quiet_hours(drop_idle_followup(state))
    for _ in range(limit):
        before: TaskAssignment | None = None
        shown = state
        for number in range(_MOST_PASSES):
            answer, played = play_rebalance(assignor, shown, moved)
            moved.update(played.moved)
            is_altered = before is not None and not is_unaltered(before, answer)
            is_valid = not any(rule in played.measures.violations for rule in _NO_SUCCESSOR)
            if not is_valid or rebalancing == "eager" or not find_revoked(state, answer):
                break
            if number == _MOST_PASSES - 1:
                yield PlayedStep(shown, answer, played, None, is_altered=is_altered)
                return
            seen = make_second_pass_snapshot(state, answer, memory=memory, state_survives=rebalancing == "cooperative")
            yield PlayedStep(shown, answer, played, seen, is_last_pass=False, is_altered=is_altered)
            # State that clients do not report is still on their disks.
            before, shown, state = answer, seen, make_second_pass_snapshot(state, answer, memory=memory)
        following = None
        if is_valid:
            following = make_restored_snapshot(state, answer, keep_state=keep_state, memory=memory, growth=growth)
        yield PlayedStep(shown, answer, played, following, is_altered=is_altered)
        if following is None or not played.followup:
            return
        state = following


def limit_rebalances(state: ApplicationState) -> int:
    """Return the default limit of rebalances: twice the number that warms up every copy or, under a limit on moves, that moves
    every task, plus `_FURTHER_REBALANCES`.
    """
    copies = sum(task.logged for task in state.tasks) * (min(state.configs.num_standby_replicas, len(state.clients)) + 1)
    batches = math.ceil(copies / state.configs.max_warmup_replicas)
    most_moves = [limit.most for limit in state.options.limits if limit.kind == "most_active_moves" and limit.most]
    return _FURTHER_REBALANCES + 2 * max([batches, *(math.ceil(len(state.tasks) / most) for most in most_moves)])


def play_rebalance(
    assignor: TaskAssignor, state: ApplicationState, moved_before: Set[str]
) -> tuple[TaskAssignment, PlayedRebalance]:
    """Return one answer and its measures. `moved_before`: tasks that have moved in earlier rebalances."""
    # `assign` would raise for an answer that Kafka refuses; such an answer is counted here.
    start = time.perf_counter()
    assignor.configure(state.configs)
    answer = check_type(assignor.assign(state), assignor)
    seconds = answer.seconds_elsewhere or time.perf_counter() - start
    assignor.on_assignment_computed(state, answer, validate_task_assignment(state, answer))
    measures = measure(state, answer)
    moved = tuple(find_moved_actives(state, TaskPlacement.of(state, answer)))
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
    """Return whether both answers give every client the same copies in the same roles."""
    return _list_copies(before) == _list_copies(after)


def _list_copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    """Return the process id and the tasks of each role of every client."""
    return [(client.process_id, client.active, client.standby, client.warmup) for client in answer.clients]


def converge(
    state: ApplicationState,
    assignor: str | TaskAssignor = "cp-sat",
    *,
    max_rebalances: int | None = None,
    keep_state: bool = False,
    memory: bool = True,
    growth: float = 0.0,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    on_rebalance: Callable[[int, PlayedRebalance], None] | None = None,
) -> Convergence:
    """Play rebalances until an answer asks for no follow-up, restoring every copy after each, and check that the group is
    stable.

    An answer that breaks R1, R2 or the format ends the convergence, and the group counts as not settled.

    Args:
        state: the first snapshot.
        assignor: the name of an assignor, or an assignor.
        max_rebalances: the limit of rebalances; by default twice the number that warm-ups or a limit on moves need, plus a few.
        keep_state: whether dropped state stays on its disk and ages instead of being deleted.
        memory: whether each snapshot remembers the previous answer; if not, the first one does not either.
        growth: the most that a changelog grows between rebalances, as a share of the offsets that a copy restores then
            (`optassign.simulation.successors.Growth`).
        seed: the seed of the growth.
        time_limit: seconds of solving for each answer; only for an assignor given by name.
        on_rebalance: called with the number of each rebalance, from 1, and its measures.

    Raises:
        ArgumentError: for an unknown assignor, a limit below 1 or a negative growth.
        AssignorError: for an assignor that cannot be loaded or returns no answer.
        TypeError: for a snapshot or an assignor of another type.

    Examples:
        >>> import optassign
        >>> played = optassign.converge(optassign.generate("scale-out", tasks=12, clients=3, seed=1))
        >>> played.stable
        True
    """
    check_snapshot(state)
    limit = limit_rebalances(state) if max_rebalances is None else max_rebalances
    if limit < 1:
        raise ArgumentError("max_rebalances", str(limit), "1 or more")
    chosen = create(assignor, time_limit=time_limit)
    if not memory and state.remembered is not None:
        state = state.model_copy(update={"remembered": None})
    grows = Growth(state, growth, seed) if growth else None
    history: list[PlayedRebalance] = []
    lower_bound: int | None = None
    moves: tuple[int | None, int | None] = None, None
    last_look: PlayedRebalance | None = None
    is_confirmed = False
    for step in play_until_stable(chosen, state, limit=limit, keep_state=keep_state, memory=memory, growth=grows):
        history.append(step.played)
        answer = step.answer
        if len(history) == 1:
            lower_bound, moves = restore_work_bound(answer), find_planned_moves(answer)
        if on_rebalance is not None:
            on_rebalance(len(history), step.played)
        if step.following is not None and not step.played.followup:
            again, last_look = play_rebalance(chosen, step.following, {task for each in history for task in each.moved})
            is_confirmed = not last_look.followup and is_unaltered(answer, again)
    return Convergence(tuple(history), answer, last_look, is_confirmed, lower_bound, *moves)


def find_planned_moves(answer: TaskAssignment) -> tuple[int | None, int | None]:
    """Return value and bound of goal (e), the moves of active tasks to the target, or to the answer if it has no target; None
    for each if not reported."""
    for goal in answer.report.goals:
        if (goal.stage, goal.name) in {("plan", "active_migrations"), ("now", "active_moves")}:
            return int(goal.value), None if goal.bound is None else math.ceil(goal.bound - 1e-9)
    return None, None
