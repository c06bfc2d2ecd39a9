"""The default order, goals (b) to (f) (docs/reference/rules.md, "The target"), and `active_moves`, which counts owned tasks.

A task without owner whose planned active is not caught up counts as a migration: it starts now on a caught-up client, and stops
once more when its planned active has caught up. Tasks without a previous holder have new standbys, which do not count.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import GoalModel, PairCosts
from optassign_models.problem import BoolArray, IntArray, Placement, Problem


def _price_not_caught_up(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def find_active_moves(problem: Problem, active: IntArray) -> BoolArray:
    """Return (T,) whether an owned task is active on none of its owners; `active`: (T,) client of each active copy."""
    return problem.has_owner & ~problem.flag_of(np.arange(problem.T) * problem.C + active, problem.col_owner)


def count_active_moves(problem: Problem, placement: Placement) -> int:
    """Return the number of owned tasks that are active on none of their owners."""
    return int(find_active_moves(problem, placement.active).sum())


def price_active_moves(problem: Problem) -> PairCosts:
    """Return the cost of an active copy: 1 if its task has owners and the client is none of them, otherwise 0."""
    moved = problem.has_owner[problem.col_task] & ~problem.col_owner
    return PairCosts(moved.astype(np.int64), problem.has_owner.astype(np.int64))


def price_active_migrations(problem: Problem) -> PairCosts:
    """Return the cost of an active copy: as `price_active_moves`; without an owner, 1 if the copy is not caught up."""
    columns = np.where(problem.has_owner[problem.col_task], ~problem.col_owner, problem.col_rank > 0)
    pools = problem.has_owner | (problem.pool_rank > 0)
    return PairCosts(columns.astype(np.int64), pools.astype(np.int64))


def price_standby_migrations(problem: Problem) -> PairCosts:
    """Return the cost of a standby: 1 if the client did not have it and the task is not new, otherwise 0."""
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
