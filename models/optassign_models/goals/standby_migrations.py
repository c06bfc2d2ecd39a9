"""Goal (f), `standby_migrations`: standbys on clients that were not the task's standby before.

Tasks without a previous holder do not count: their standbys are new.
"""

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
    before = problem.flag_of(placed.standby_keys, problem.col_standby)
    return int(np.sum(~before & problem.has_history[placed.plan.standby_task]))


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    return v.total(v.standbys(np.flatnonzero(p.has_history[p.col_task] & ~p.col_standby).tolist()))


def _cost_per_standby(problem: Problem) -> PairCosts:
    moved = problem.has_history[problem.col_task] & ~problem.col_standby
    return PairCosts(moved.astype(np.int64), problem.has_history.astype(np.int64))


GOAL = GoalModel("standby_migrations", _value, _express, cost_per_standby=_cost_per_standby)
