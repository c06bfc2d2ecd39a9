"""CP-SAT on the arrays of a program: one worker, one seed, a limit of deterministic work, so that answers repeat (R9)."""

from __future__ import annotations

import math

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.forced import exact_sum
from optassign_models.problem import IntArray
from optassign_models.results import Deadline
from optassign_models.target.arrays import Decided, Matrix

MOST = 1 << 61
"""A sum of costs must be below this: CP-SAT calculates with 64 bits, and reserves one."""
EXACT = 1 << 50
"""Below this, a sum of costs ends at the optimum. CP-SAT compares value and bound as doubles: units of others stay open."""


def decide(
    matrix: Matrix, cost: IntArray, hint: IntArray | None, work: float, deadline: Deadline, *, presolves: bool = False
) -> Decided:
    """Return whole values of least cost (n,).

    Args:
        hint: (n,) values to begin with, which need not keep the rows, −1 for unknown ones; None for none.
        work: deterministic time, about seconds on an idle core.
        deadline: a guard by the wall clock.
        presolves: presolve pays for knapsacks. It takes longer than the search of a program of counts.
    """
    dropped = matrix.drop_fixed()
    if dropped is None:
        return Decided(None, None, is_impossible=True)
    free = matrix.is_free
    paid = exact_sum(cost[~free], matrix.low[~free])
    values = matrix.low.copy()
    if not free.any():
        return Decided(values, paid)
    model = write_model(dropped[0], cost[free], None if hint is None else hint[free])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = work
    solver.parameters.cp_model_presolve = presolves
    if math.isfinite(deadline.at):
        solver.parameters.max_time_in_seconds = max(deadline.left, 1e-3)
    status = solver.solve(model)
    if status == cp_model.MODEL_INVALID:
        raise ValueError(f"CP-SAT refuses the model: {model.validate()[:200]}")
    if status == cp_model.INFEASIBLE:
        return Decided(None, None, is_impossible=True)
    response = solver.response_proto
    bound = response.inner_objective_lower_bound + paid if cost[free].any() else paid
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Decided(None, None)
    values[free] = response.solution
    return Decided(values, bound)


def write_model(matrix: Matrix, cost: IntArray, hint: IntArray | None) -> cp_model.CpModel:
    """Return the arrays as CP-SAT's own message, which is many times as fast as expression by expression.

    `cost`: (n,). `hint`: as for `decide`.
    """
    model = cp_model.CpModel()
    proto = model.proto
    for domain in np.stack([matrix.low, matrix.high], axis=1).tolist():
        proto.variables.add().domain.extend(domain)
    start = np.searchsorted(matrix.row, np.arange(len(matrix.row_low) + 1)).tolist()
    variable, coefficient = matrix.variable.tolist(), matrix.coefficient.tolist()
    for number, domain in enumerate(np.stack([matrix.row_low, matrix.row_high], axis=1).tolist()):
        linear = proto.constraints.add().linear
        linear.vars.extend(variable[start[number] : start[number + 1]])
        linear.coeffs.extend(coefficient[start[number] : start[number + 1]])
        linear.domain.extend(domain)
    used = np.flatnonzero(cost)
    if len(used):
        proto.objective.vars.extend(used.tolist())
        proto.objective.coeffs.extend(cost[used].tolist())
    if hint is not None:
        known = np.flatnonzero(hint >= 0)
        proto.solution_hint.vars.extend(known.tolist())
        proto.solution_hint.values.extend(hint[known].tolist())
    return model
