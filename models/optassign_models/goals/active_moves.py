"""Goal (e), `active_moves`: tasks with a previous owner that are active elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.goal import GoalModel, PairCosts, Placed
from optassign_models.problem import Placement, Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def count_active_moves(problem: Problem, placement: Placement) -> int:
    """How many tasks with a previous owner are active on a client that does not own them."""
    owned = problem.flag_of(np.arange(problem.T) * problem.C + placement.active, problem.col_owner)
    return int(np.sum(problem.has_owner & ~owned))


def _value(placed: Placed) -> int:
    return count_active_moves(placed.problem, placed.plan)


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    pooled = [variable for task, variable in v.pool_active.items() if p.has_owner[task]]
    return v.total([*v.actives(np.flatnonzero(p.has_owner[p.col_task] & ~p.col_owner).tolist()), *pooled])


def _cost_per_active(problem: Problem) -> PairCosts:
    moved = problem.has_owner[problem.col_task] & ~problem.col_owner
    return PairCosts(moved.astype(np.int64), problem.has_owner.astype(np.int64))


GOAL = GoalModel("active_moves", _value, _express, cost_per_active=_cost_per_active)
