"""Copies that are not caught up: goals (b) `restore_work`, (c) `copies_not_caught_up` and (d) `actives_not_caught_up`.

(b) sums the lags of the copies not caught up that the plan wants or this answer forces, each counted once; (c) counts the same
copies. (d) counts planned actives that are not caught up.
"""

from __future__ import annotations

import numpy as np

from optassign_models.forced import Forced, exact_sum
from optassign_models.goals.goal import EvaluatedPlan, ForcedCosts, GoalModel, PairCosts
from optassign_models.problem import Problem


def _sum_restore_work(placed: EvaluatedPlan) -> int:
    cost = placed.problem.cost_of(placed.copy_keys)
    beyond_ties = exact_sum(placed.forced.tie_cost, placed.beyond_ties)
    return placed.forced.forced_work + exact_sum(cost[placed.is_paid_beyond_forced]) + beyond_ties


def _price_restore_work(problem: Problem) -> PairCosts:
    return PairCosts(problem.col_cost, problem.pool_cost)


def _force_restore_work(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_cost, forced.forced_work)


def _count_copies(placed: EvaluatedPlan) -> int:
    return placed.forced.forced_not_caught_up + int(placed.is_paid_beyond_forced.sum()) + int(placed.beyond_ties.sum())


def _price_copies(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def _force_copies(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up)


def _count_actives(placed: EvaluatedPlan) -> int:
    problem = placed.problem
    return int(np.sum((problem.rank_of(placed.active_keys) > 0) & problem.logged))


def _price_actives(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


RESTORE_WORK = GoalModel(
    "restore_work",
    _sum_restore_work,
    cost_per_copy=_price_restore_work,
    forced_costs=_force_restore_work,
)
COPIES_NOT_CAUGHT_UP = GoalModel("copies_not_caught_up", _count_copies, cost_per_copy=_price_copies, forced_costs=_force_copies)
ACTIVES_NOT_CAUGHT_UP = GoalModel("actives_not_caught_up", _count_actives, cost_per_active=_price_actives)
GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP)
