"""The default order, goals (b) to (f) (docs/reference/rules.md, "The target"), and `active_moves`, which counts owned tasks.

A task without owner whose planned active is cold counts as a migration. It starts now on a client that is caught up, and pauses
once more when its planned active has caught up. Tasks without a previous holder have new standbys, which do not count.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import GoalModel, PairCosts
from optassign_models.problem import BoolArray, IntArray, Placement, Problem


def _price_not_caught_up(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def find_active_moves(problem: Problem, active: IntArray) -> BoolArray:
    """Return (T,) tasks with a previous owner that are active (T,) on a client that does not own them."""
    return problem.has_owner & ~problem.flag_of(np.arange(problem.T) * problem.C + active, problem.col_owner)


def count_active_moves(problem: Problem, placement: Placement) -> int:
    """Return how many tasks with a previous owner are active on a client that does not own them."""
    return int(find_active_moves(problem, placement.active).sum())


def price_active_moves(problem: Problem) -> PairCosts:
    """Return 1 for an active copy of an owned task that is on none of its owners."""
    moved = problem.has_owner[problem.col_task] & ~problem.col_owner
    return PairCosts(moved.astype(np.int64), problem.has_owner.astype(np.int64))


def price_active_migrations(problem: Problem) -> PairCosts:
    """Return the same, and 1 for a cold active copy of a task without owner."""
    columns = np.where(problem.has_owner[problem.col_task], ~problem.col_owner, problem.col_rank > 0)
    pools = problem.has_owner | (problem.pool_rank > 0)
    return PairCosts(columns.astype(np.int64), pools.astype(np.int64))


def price_standby_migrations(problem: Problem) -> PairCosts:
    """Return 1 for a standby on a client that did not have it, of a task that was somewhere."""
    moved = problem.has_history[problem.col_task] & ~problem.col_standby
    return PairCosts(moved.astype(np.int64), problem.has_history.astype(np.int64))


RESTORE_WORK = GoalModel(
    "restore_work",
    cost_per_copy=lambda problem: PairCosts(problem.col_cost, problem.pool_cost),
    forced_costs=lambda forced: (forced.tie_cost, forced.forced_work),
)
COPIES_NOT_CAUGHT_UP = GoalModel(
    "copies_not_caught_up",
    cost_per_copy=_price_not_caught_up,
    forced_costs=lambda forced: (forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up),
)
ACTIVES_NOT_CAUGHT_UP = GoalModel("actives_not_caught_up", cost_per_active=_price_not_caught_up)
ACTIVE_MIGRATIONS = GoalModel("active_migrations", cost_per_active=price_active_migrations)
ACTIVE_MOVES = GoalModel("active_moves", cost_per_active=price_active_moves)
STANDBY_MIGRATIONS = GoalModel("standby_migrations", cost_per_standby=price_standby_migrations)

DEFAULT_ORDER = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP, ACTIVE_MIGRATIONS, STANDBY_MIGRATIONS)
"""Goals (b) to (f): the default order."""
GOALS = (*DEFAULT_ORDER, ACTIVE_MOVES)
