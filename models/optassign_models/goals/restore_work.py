"""Goal (b), `restore_work`: lags of the copies not caught up that the plan wants or this answer forces, each counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optassign_models.forced import Forced, exact_sum
from optassign_models.goals.goal import ForcedCosts, GoalModel, PairCosts, Placed, express_forced_sum
from optassign_models.problem import Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def _value(placed: Placed) -> int:
    cost = placed.problem.cost_of(placed.copy_keys)
    beyond_ties = exact_sum(placed.forced.tie_cost, placed.beyond_ties)
    return placed.forced.forced_work + exact_sum(cost[placed.is_paid_beyond_forced]) + beyond_ties


def _express(v: Variables, forced: Forced) -> Expression:
    return express_forced_sum(v, forced, v.problem.col_cost, forced.tie_cost, forced.forced_work)


def _cost_per_copy(problem: Problem) -> PairCosts:
    return PairCosts(problem.col_cost, problem.pool_cost)


def _forced_costs(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_cost, forced.forced_work)


GOAL = GoalModel("restore_work", _value, _express, cost_per_copy=_cost_per_copy, forced_costs=_forced_costs)
