"""Values of the goals, so that answers of several methods can be compared goal by goal.

What a report shows is recomputed by `optassign.judging.metrics`, which shares no code with this.
"""

from __future__ import annotations

import numpy as np

from optassign.models.forced import Forced, exact_sum
from optassign.models.problem import Placement, Problem

PLAN_GOALS = ("restore_work", "cold_copies", "cold_actives", "active_moves", "standby_moves")


def plan_values(problem: Problem, forced: Forced, plan: Placement) -> dict[str, int]:
    """Goals (b) to (f) of a plan; (b) and (c) count what this answer forces anyway, each copy once."""
    C, T = problem.C, problem.T
    keys = plan.copy_keys(C, problem.logged)
    task, at = keys // C, problem.find(keys)
    column = np.maximum(at, 0)
    in_columns = at >= 0
    mandatory = in_columns & (forced.mandatory[column] if len(forced.mandatory) else False)
    tied = np.where(in_columns, forced.tied[column] if len(forced.tied) else False, forced.pool_tied[task])
    tied &= forced.tie_cold[task]
    rank, cost = problem.rank_of(keys), problem.cost_of(keys)
    own = ~mandatory & ~tied & (rank > 0)
    beyond = np.maximum(np.bincount(task[tied], minlength=T) - forced.choices, 0)
    actives = np.arange(T) * C + plan.active
    return {
        "restore_work": forced.forced_work + exact_sum(cost[own]) + exact_sum(forced.tie_cost, beyond),
        "cold_copies": forced.forced_cold + int(own.sum()) + int(beyond.sum()),
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
