"""Goal (c), `copies_not_caught_up`: the number of the copies that goal (b) sums up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.goal import ForcedCosts, GoalModel, PairCosts, Placed, express_forced_sum
from optassign_models.problem import Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def _value(placed: Placed) -> int:
    return placed.forced.forced_not_caught_up + int(placed.is_paid_beyond_forced.sum()) + int(placed.beyond_ties.sum())


def _express(v: Variables, forced: Forced) -> Expression:
    is_cold = (v.problem.col_rank > 0).astype(np.int64)
    return express_forced_sum(v, forced, is_cold, forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up)


def _cost_per_copy(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def _forced_costs(forced: Forced) -> ForcedCosts:
    return ForcedCosts(forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up)


GOAL = GoalModel("copies_not_caught_up", _value, _express, cost_per_copy=_cost_per_copy, forced_costs=_forced_costs)
