"""This rebalance as a CP-SAT model: R1 to R5, and goals (i) to (v) in order.

The problem separates by task for (i) to (iv), and the rest is a flow: optassign_models/rebalance.py answers by that.
This model is the statement that tests hold it against.
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.model import (
    Expression,
    Variables,
    make_imbalance_objectives,
    require_actives_on_most_caught_up,
    require_one_active,
    require_one_copy_per_client,
    require_pools_to_add_up,
    require_standby_number,
    require_standbys_on_next_most_caught_up,
    total,
    weighted,
)
from optassign_models.cp_sat.solver import Objective, coarsen_costs, optimise
from optassign_models.deadline import Deadline
from optassign_models.forced import prepare
from optassign_models.problem import Placement, Problem
from optassign_models.rebalance import ACTIVES_ON_TARGET, COPIES_ON_TARGET, REBALANCE_GOALS
from optassign_models.results import Found
from optassign_models.shares import ShareFamilies


def solve_rebalance(problem: Problem, shares: ShareFamilies, plan: Placement, deadline: Deadline, work: float) -> Found | None:
    """The best answer on the way to a plan, over all pairs; None where there was no time for one."""
    problem, forced = prepare(problem.with_all_columns())
    problem, forced, resolution = coarsen_costs(problem, forced)
    model = cp_model.CpModel()
    everywhere = np.ones(len(problem.col_task), dtype=np.bool_)
    v = Variables.of(problem, model, everywhere, everywhere)
    require_one_active(v)
    require_one_copy_per_client(v)
    require_standby_number(v)
    require_pools_to_add_up(v)
    require_actives_on_most_caught_up(v, forced)
    require_standbys_on_next_most_caught_up(v, forced)
    expressions = (
        -1 * copies_on_target(v, plan),
        restore_work_off_target(v, plan),
        -1 * actives_on_target(v, plan),
        active_moves(v),
        active_imbalance(v, shares),
    )
    goals = [Objective(name, expression) for name, expression in zip(REBALANCE_GOALS, expressions, strict=True)]
    solved = optimise(model, goals, deadline, work)
    if solved.values is None:
        return None
    bounds = {name: bound for name, (_, bound, _) in solved.goals.items() if bound is not None}
    if resolution > 1:
        bounds = {name: bounds[name] for name in REBALANCE_GOALS[:1] if name in bounds}
    for name in (COPIES_ON_TARGET, ACTIVES_ON_TARGET):
        if name in bounds:
            bounds[name] *= -1
    return Found(v.placement_of(solved.values), bounds=bounds)


def copies_on_target(v: Variables, plan: Placement) -> Expression:
    """(i): copies on clients where the plan wants one of the task, whatever its role."""
    p = v.problem
    keys = np.union1d(np.arange(p.T) * p.C + plan.active, plan.standby_keys(p.C))
    return total(v.copies(np.flatnonzero(np.isin(p.col_keys, keys)).tolist()))


def restore_work_off_target(v: Variables, plan: Placement) -> Expression:
    """(ii): restore work on clients where the plan has no copy of the task in any role."""
    p = v.problem
    planned = np.isin(p.col_keys, plan.copy_keys(p.C, p.logged))
    off = np.flatnonzero(p.logged[p.col_task] & ~planned & (p.col_cost > 0)).tolist()
    terms = [(variable, int(p.col_cost[i])) for i in off for variable in v.copies([i])]
    return weighted([variable for variable, _ in terms], np.array([cost for _, cost in terms], dtype=np.int64))


def actives_on_target(v: Variables, plan: Placement) -> Expression:
    """(iii): tasks that are active where the plan wants them active."""
    p = v.problem
    return total(v.actives(np.flatnonzero(plan.active[p.col_task] == p.col_client).tolist()))


def active_moves(v: Variables) -> Expression:
    """(iv): tasks with a previous owner that are active elsewhere."""
    p = v.problem
    return total(v.actives(np.flatnonzero(p.has_owner[p.col_task] & ~p.col_owner).tolist()))


def active_imbalance(v: Variables, shares: ShareFamilies) -> Expression:
    """(v): imbalance of the three families of active shares."""
    per_client, stateful, _, per_subtopology, _ = make_imbalance_objectives(v, shares)
    return total(objective.expression for objective in (per_client, stateful, per_subtopology))
