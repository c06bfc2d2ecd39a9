"""Rebalance after rebalance until the group is at rest: how KIP-441's probing rebalances play out under an assignor."""

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
    find_revoked,
    make_restored_snapshot,
    make_second_pass_snapshot,
)
from optassign.utilities import validate_task_assignment
from optassign_models.policy.constants import FURTHER_REBALANCES, MOST_PASSES, TIME_LIMIT

__all__ = [
    "Convergence",
    "PlayedStep",
    "Rebalancing",
    "converge",
    "find_planned_moves",
    "is_unaltered",
    "limit_rebalances",
    "play_rebalance",
    "play_to_rest",
]

_NO_SUCCESSOR = ("format", "R1", "R2")
"""After an answer that breaks one of these there is no telling what comes next."""

Rebalancing = Literal["eager", "cooperative", "cooperative, state not shown"]
"""Eager: a rebalance has one pass. Cooperative (KIP-429): as long as an answer takes tasks from clients that stay, another pass
follows at once; clients show the state of tasks that they have just given up, or do not (both were seen with Kafka)."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
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
) -> Iterator[PlayedStep]:
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
                yield PlayedStep(shown, answer, played, None, is_altered=is_altered)
                return
            seen = make_second_pass_snapshot(state, answer, memory=memory, state_survives=rebalancing == "cooperative")
            yield PlayedStep(shown, answer, played, seen, is_last_pass=False, is_altered=is_altered)
            # State that is not shown at the moment is on its disk all the same.
            before, shown, state = answer, seen, make_second_pass_snapshot(state, answer, memory=memory)
        following = None
        if is_valid:
            following = make_restored_snapshot(state, answer, keep_state=keep_state, memory=memory, growth=growth)
        yield PlayedStep(shown, answer, played, following, is_altered=is_altered)
        if following is None or not played.followup:
            return
        state = following


def limit_rebalances(state: ApplicationState) -> int:
    """Twice as many rebalances as slots are needed to warm up every copy there is, and some."""
    copies = sum(task.logged for task in state.tasks) * (min(state.configs.num_standby_replicas, len(state.clients)) + 1)
    return FURTHER_REBALANCES + 2 * math.ceil(copies / state.configs.max_warmup_replicas)


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
    """Whether every client gets the same copies in the same roles."""
    return _list_copies(before) == _list_copies(after)


def _list_copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    """List every client's copies with their roles."""
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
    """Assign, let everything be restored, assign again, until no follow-up is asked for; then check that the group is stable.

    max_rebalances: by default twice as many as warming up every copy there is would take, and some.
    keep_state: dropped state stays on its disk and grows old, instead of being deleted.
    memory: each snapshot remembers the answer before (without: not even the first does).
    growth: changelogs are written between rebalances, each by up to that share of a copy's restored offsets (exactly:
        `optassign.simulation.successors.Growth`); the seed decides by how much.
    time_limit: seconds of solving for each answer, of an assignor given by name.
    on_rebalance: called with each rebalance's number, from 1.

    An answer that breaks R1, R2 or the form ends it, unsettled. ArgumentError for an unknown assignor, a limit below 1 or a
    negative growth; AssignorError for an assignor that cannot be loaded or returns no answer at all; TypeError for a snapshot
    of another type.

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
    chosen = create(assignor, time_limit=time_limit) if isinstance(assignor, str) else assignor
    if not memory and state.remembered is not None:
        state = state.model_copy(update={"remembered": None})
    grows = Growth(state, growth, seed) if growth else None
    history: list[PlayedRebalance] = []
    lower_bound: int | None = None
    moves: tuple[int | None, int | None] = None, None
    last_look: PlayedRebalance | None = None
    is_confirmed = False
    for step in play_to_rest(chosen, state, limit=limit, keep_state=keep_state, memory=memory, growth=grows):
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
    """Goal (e) of the target, or of an answer that is its own target: its value and its bound, each None if not reported."""
    for goal in answer.report.goals:
        if (goal.stage, goal.name) in {("plan", "active_migrations"), ("now", "active_moves")}:
            return int(goal.value), None if goal.bound is None else math.ceil(goal.bound - 1e-9)
    return None, None
