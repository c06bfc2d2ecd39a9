"""Goal (d), `actives_not_caught_up`: planned actives that are not caught up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.goal import GoalModel, PairCosts, Placed
from optassign_models.problem import Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def _value(placed: Placed) -> int:
    problem = placed.problem
    return int(np.sum((problem.rank_of(placed.active_keys) > 0) & problem.logged))


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    return v.total(v.actives(np.flatnonzero(p.logged[p.col_task] & (p.col_rank > 0)).tolist()))


def _cost_per_active(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


GOAL = GoalModel("actives_not_caught_up", _value, _express, cost_per_active=_cost_per_active)
