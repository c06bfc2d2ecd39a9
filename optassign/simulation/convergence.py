"""Rebalance after rebalance until the group is at rest: how KIP-441's probing rebalances play out under an assignor."""

import math
from collections.abc import Callable

from optassign.assignor import TaskAssignor, create
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.judging.convergences import Convergence, PlayedRebalance
from optassign.simulation.growth import Growth
from optassign.simulation.rebalances import is_unaltered, limit_rebalances, play_rebalance, play_to_rest

__all__ = ["Convergence", "converge", "find_planned_moves"]


def converge(
    state: ApplicationState,
    assignor: str | TaskAssignor = "cp-sat",
    *,
    max_rebalances: int | None = None,
    keep_state: bool = False,
    memory: bool = True,
    growth: float = 0.0,
    seed: int = 0,
    time_limit: float = 10.0,
    on_rebalance: Callable[[int, PlayedRebalance], None] | None = None,
) -> Convergence:
    """Assign, let everything be restored, assign again, until no follow-up is asked for; then check that the group is stable.

    max_rebalances: by default twice as many as warming up every copy there is would take, and some.
    keep_state: dropped state stays on its disk and grows old, instead of being deleted.
    memory: each snapshot remembers the answer before (without: not even the first does).
    growth: changelogs are written between rebalances, each by up to that share of a copy's restored offsets (exactly:
        `optassign.simulation.growth.Growth`); the seed decides by how much.
    time_limit: seconds of solving for each answer, of an assignor given by name.
    on_rebalance: called with each rebalance's number, from 1.

    An answer that breaks R1, R2 or the form ends it, unsettled. ValueError for an unknown assignor, a limit below 1 or a
    negative growth; AssignorError for an assignor that cannot be loaded or returns no answer at all.
    """
    limit = limit_rebalances(state) if max_rebalances is None else max_rebalances
    if limit < 1:
        raise ValueError(f"max_rebalances: found {limit}; allowed: 1 or more")
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
