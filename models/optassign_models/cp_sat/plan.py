"""The whole placement problem as a CP-SAT model: a plan, or an assignment that is balanced now.

Variables are in variables.py, constraints in constraints.py, goals in ../goals/. The model has constraints that no flow has:
the coupling of actives and standbys, loads that differ, imbalance if no balanced assignment exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.constraints import (
    make_imbalance_objectives,
    require_actives_on_most_caught_up,
    require_one_active,
    require_one_copy_per_client,
    require_pools_to_add_up,
    require_shares,
    require_standby_number,
    require_standbys_on_next_most_caught_up,
)
from optassign_models.cp_sat.resolution import coarsen_costs
from optassign_models.cp_sat.solver import Objective, optimise
from optassign_models.cp_sat.variables import Variables, total
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.goals import GoalModel
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.problem import Placement, Problem
from optassign_models.results import Found, FoundBy
from optassign_models.shares import Shares


def require_nothing(v: Variables) -> None:
    """No more than the rules."""


def solve_plan(
    problem: Problem,
    forced: Forced,
    shares: Shares,
    goals: Sequence[GoalModel],
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
    known: Mapping[str, int] | None = None,
    require: Callable[[Variables], None] = require_nothing,
) -> Found:
    """The best plan inside the shares, goal after goal.

    Args:
        problem: logged tasks are placed on their columns only: the optimum is the optimum over these.
        goals: in order.
        start: a placement that keeps the shares; the answer is never worse.
        known: bounds proven elsewhere.
        require: adds further constraints of a plan.
    """
    problem, forced, resolution = coarsen_costs(problem, forced)
    v = make_placement_model(problem)
    require(v)
    require_shares(v, shares)
    if resolution == 1:
        return minimise(v, _objectives(v, forced, goals), deadline, work, start, known)
    bounds = {goal: bound for goal, bound in (known or {}).items() if goal != RESTORE_WORK.name}
    planned = minimise(v, _objectives(v, forced, goals), deadline, work, start, bounds)
    # Rounded costs prove nothing about the offsets, nor about what comes after them.
    return replace(planned, bounds={}, proved=frozenset())


def solve_now(
    problem: Problem, forced: Forced, shares: Shares, goals: Sequence[GoalModel], deadline: Deadline, work: float
) -> Found:
    """As `solve_plan`, for an assignment that keeps R3 and R5 in this very rebalance."""
    v = make_placement_model(problem)
    require_actives_on_most_caught_up(v, forced)
    require_standbys_on_next_most_caught_up(v, forced)
    require_shares(v, shares)
    return minimise(v, _objectives(v, forced, goals), deadline, work, None, None)


def solve_least_imbalance(
    problem: Problem,
    forced: Forced,
    shares: Shares,
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
    require: Callable[[Variables], None] = require_nothing,
) -> Found:
    """The least imbalance, family after family in their order, for a problem without a balanced assignment."""
    v = make_placement_model(problem)
    require(v)
    return minimise(v, make_imbalance_objectives(v, shares), deadline, work, start, None)


def make_placement_model(problem: Problem) -> Variables:
    """A model with the variables of all copies under R1, R2 and R4."""
    model = cp_model.CpModel()
    may = np.ones(len(problem.col_task), dtype=np.bool_)
    v = Variables.of(problem, model, may, may)
    require_one_active(v)
    require_one_copy_per_client(v)
    require_standby_number(v)
    require_pools_to_add_up(v)
    return v


def _objectives(v: Variables, forced: Forced, goals: Sequence[GoalModel]) -> tuple[Objective, ...]:
    return tuple(Objective(goal.name, goal.express(v, forced), goal.starts_from_hint) for goal in goals)


def minimise(
    v: Variables,
    objectives: Sequence[Objective],
    deadline: Deadline,
    work: float,
    start: Placement | None,
    known: Mapping[str, int] | None,
) -> Found:
    """Minimise one objective after the other, from `start` on; `known` are bounds proven elsewhere."""
    hint = None
    if start is not None:
        values = v.hint(start)
        hint = _completed(v, values, objectives, deadline) if values is not None else None
    solved = optimise(v.model, objectives, deadline, work, hint, known)
    placed = v.placement_of(solved.values) if solved.values is not None else None
    return Found(
        placed,
        impossible=solved.infeasible,
        bounds={goal: bound for goal, (_, bound, _) in solved.goals.items() if bound is not None},
        proved=frozenset(goal for goal, (_, _, is_proven) in solved.goals.items() if is_proven),
        found_by=FoundBy.CP_SAT,
        limited=solved.limited,
    )


def _completed(v: Variables, values: list[int], objectives: Sequence[Objective], deadline: Deadline) -> list[int] | None:
    """The auxiliary variables (ties, imbalance, greatest load) at their best for fixed copies: what is left is small."""
    if not deadline.left:
        return None
    model = v.model.clone()
    for i, value in enumerate(values):
        model.add(model.get_int_var_from_proto_index(i) == value)
    model.minimize(total(objective.expression for objective in objectives))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if math.isfinite(deadline.at):
        solver.parameters.max_time_in_seconds = max(deadline.left, 1e-3)
    status = solver.solve(model)
    return list(solver.response_proto.solution) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
