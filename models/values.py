"""Values of the goals, so that answers of several methods can be compared goal by goal.

What a report shows is recomputed by `optassign.judging.metrics`, which shares no code with this.
"""

from __future__ import annotations

import numpy as np

from optassign.models.forced import First, exact_sum
from optassign.models.problem import Placement, Problem

PLAN_GOALS = ("restore_work", "cold_copies", "cold_actives", "active_moves", "standby_moves")


def plan_values(problem: Problem, first: First, plan: Placement) -> dict[str, int]:
    """Goals (b) to (f) of a plan; (b) and (c) count what this answer forces anyway, each copy once."""
    C, T = problem.C, problem.T
    keys = plan.copy_keys(C, problem.logged)
    task, at = keys // C, problem.find(keys)
    column = np.maximum(at, 0)
    in_columns = at >= 0
    mandatory = in_columns & (first.mandatory[column] if len(first.mandatory) else False)
    tied = np.where(in_columns, first.tied[column] if len(first.tied) else False, first.pool_tied[task])
    tied &= first.tie_cold[task]
    rank, cost = problem.rank_of(keys), problem.cost_of(keys)
    own = ~mandatory & ~tied & (rank > 0)
    beyond = np.maximum(np.bincount(task[tied], minlength=T) - first.choices, 0)
    actives = np.arange(T) * C + plan.active
    return {
        "restore_work": first.forced_work + exact_sum(cost[own]) + exact_sum(first.tie_cost, beyond),
        "cold_copies": first.forced_cold + int(own.sum()) + int(beyond.sum()),
        "cold_actives": int(np.sum((problem.rank_of(actives) > 0) & problem.logged)),
        "active_moves": active_moves(problem, plan),
        "standby_moves": standby_moves(problem, plan),
    }


def active_moves(problem: Problem, plan: Placement) -> int:
    """Tasks with a previous owner that are active elsewhere."""
    owned = problem.flag_of(np.arange(problem.T) * problem.C + plan.active, problem.col_owner)
    return int(np.sum(problem.has_owner & ~owned))


def standby_moves(problem: Problem, plan: Placement) -> int:
    """Standbys on clients that were not the task's standby before; tasks nobody held before do not count."""
    before = problem.flag_of(plan.standby_keys(problem.C), problem.col_standby)
    return int(np.sum(~before & problem.has_history[plan.standby_task]))
