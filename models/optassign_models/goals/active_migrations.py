"""Goal (e), `active_migrations`: owned tasks that are active elsewhere, and tasks without owner whose planned active is cold.

A task without owner starts now on a client that is caught up, and pauses once more when its planned active has caught up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.goal import GoalModel, PairCosts, Placed
from optassign_models.problem import Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables


def _cost_per_active(problem: Problem) -> PairCosts:
    owned = problem.has_owner[problem.col_task]
    columns = np.where(owned, ~problem.col_owner, problem.col_rank > 0)
    pools = np.where(problem.has_owner, True, problem.pool_rank > 0)
    return PairCosts(columns.astype(np.int64), pools.astype(np.int64))


def _value(placed: Placed) -> int:
    p = placed.problem
    owned = p.flag_of(placed.active_keys, p.col_owner)
    return int(np.sum(np.where(p.has_owner, ~owned, p.rank_of(placed.active_keys) > 0)))


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    pooled = [variable for task, variable in v.pool_active.items() if p.has_owner[task]]
    return v.total([*v.actives(np.flatnonzero(_cost_per_active(p).columns).tolist()), *pooled])


GOAL = GoalModel("active_migrations", _value, _express, cost_per_active=_cost_per_active)
