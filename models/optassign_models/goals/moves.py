"""Moves of tasks: goals (e) `active_migrations` and `active_moves`, and goal (f) `standby_migrations`.

`active_migrations` counts owned tasks that are active elsewhere, and tasks without owner whose planned active is cold: such a
task starts now on a client that is caught up, and pauses once more when its planned active has caught up. `active_moves` counts
the owned tasks alone. `standby_migrations` counts standbys on clients that were not the task's standby before; tasks without a
previous holder do not count, as their standbys are new.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import EvaluatedPlan, GoalModel, PairCosts
from optassign_models.problem import Placement, Problem


def count_active_moves(problem: Problem, placement: Placement) -> int:
    """Return how many tasks with a previous owner are active on a client that does not own them."""
    owned = problem.flag_of(np.arange(problem.T) * problem.C + placement.active, problem.col_owner)
    return int(np.sum(problem.has_owner & ~owned))


def _count_active_moves(placed: EvaluatedPlan) -> int:
    return count_active_moves(placed.problem, placed.plan)


def _price_active_moves(problem: Problem) -> PairCosts:
    moved = problem.has_owner[problem.col_task] & ~problem.col_owner
    return PairCosts(moved.astype(np.int64), problem.has_owner.astype(np.int64))


def _price_active_migrations(problem: Problem) -> PairCosts:
    owned = problem.has_owner[problem.col_task]
    columns = np.where(owned, ~problem.col_owner, problem.col_rank > 0)
    pools = np.where(problem.has_owner, True, problem.pool_rank > 0)
    return PairCosts(columns.astype(np.int64), pools.astype(np.int64))


def _count_active_migrations(placed: EvaluatedPlan) -> int:
    p = placed.problem
    owned = p.flag_of(placed.active_keys, p.col_owner)
    return int(np.sum(np.where(p.has_owner, ~owned, p.rank_of(placed.active_keys) > 0)))


def _count_standby_migrations(placed: EvaluatedPlan) -> int:
    problem = placed.problem
    before = problem.flag_of(placed.standby_keys, problem.col_standby)
    return int(np.sum(~before & problem.has_history[placed.plan.standby_task]))


def _price_standby_migrations(problem: Problem) -> PairCosts:
    moved = problem.has_history[problem.col_task] & ~problem.col_standby
    return PairCosts(moved.astype(np.int64), problem.has_history.astype(np.int64))


ACTIVE_MOVES = GoalModel("active_moves", _count_active_moves, cost_per_active=_price_active_moves)
ACTIVE_MIGRATIONS = GoalModel("active_migrations", _count_active_migrations, cost_per_active=_price_active_migrations)
STANDBY_MIGRATIONS = GoalModel("standby_migrations", _count_standby_migrations, cost_per_standby=_price_standby_migrations)
GOALS = (ACTIVE_MOVES, ACTIVE_MIGRATIONS, STANDBY_MIGRATIONS)
