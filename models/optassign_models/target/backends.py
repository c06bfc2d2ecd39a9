"""The solvers on the arrays of a program: CP-SAT, and HiGHS by relaxation or by branch and bound, with bounds by duals.

CP-SAT has one worker, one seed and a limit of deterministic work, so that answers repeat (R9).

HiGHS is called through MathOpt, whose public Python package builds models variable by variable, which takes longer than solving
them. So this file, and no other, writes arrays straight into MathOpt's messages and calls `math_opt.core`, which is internal:
pyproject.toml pins OR-Tools to the minor version that it was tried with.

Bounds are by weak duality, in whole numbers: they use the duals, but do not trust them (docs/explanation/proofs.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from ortools.math_opt import callback_pb2, model_parameters_pb2, model_pb2, parameters_pb2, result_pb2
from ortools.math_opt.core.python import solver as math_opt
from ortools.sat.python import cp_model

from optassign_models.policy.constants import DUAL_PARTS, ITERATIONS, NODES, SCALED_BITS
from optassign_models.problem import FloatArray, IntArray, exact_sum
from optassign_models.results import Deadline
from optassign_models.target.arrays import Decided, Matrix

_HIGHS_WITHOUT_RULES = (1 << 10) | (1 << 11)
"""HiGHS's presolve leaves out its search for dependent equations and dependent free columns (bits of `presolve_rule_off`).

It gives that search a hundredth of the time limit, so its result would depend on the machine; and it costs more than it saves.
A program of 87,378 to 332,835 variables takes 3.7 to 4.3 s without it, and 79 to 122 s with it if no limit ends it.
"""
_SOLVERS = (parameters_pb2.SOLVER_TYPE_HIGHS, parameters_pb2.SOLVER_TYPE_GLOP)
"""The solvers of a relaxation: Glop is used if HiGHS fails."""


def decide(
    matrix: Matrix,
    cost: IntArray,
    hint: IntArray | None,
    work: float,
    deadline: Deadline,
    *,
    presolves: bool = False,
    by_neighbourhoods: bool = False,
) -> Decided:
    """Return the best whole values that CP-SAT finds within its limits, and a bound. ValueError if it refuses the model.

    Args:
        cost, hint: (n,) costs to minimise, and values to begin with, −1 if unknown. The hint need not keep the rows.
        work: deterministic time, about seconds on an idle core.
        deadline: a guard by the wall clock.
        presolves: whether to presolve, which pays for knapsacks. It takes longer than the search in a program of counts.
        by_neighbourhoods: whether to improve the hint, which must keep the rows, by large neighbourhood search alone.
    """
    dropped = matrix.drop_fixed()
    if dropped is None:
        return Decided(None, None, is_impossible=True)
    free = matrix.is_free
    paid = exact_sum(cost[~free], matrix.low[~free])
    values = matrix.low.copy()
    model = write_model(dropped[0], cost[free], None if hint is None else hint[free])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = work
    solver.parameters.cp_model_presolve = presolves
    # One worker searches neighbourhoods only if it interleaves searches, and interleaved searches repeat (R9).
    solver.parameters.interleave_search = solver.parameters.use_lns_only = by_neighbourhoods
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
    """Return the CP-SAT model of the arrays, written into its message: many times as fast as expression by expression.

    `cost` (n,) and `hint`: as for `decide`.
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


def relax(matrix: Matrix, cost: IntArray, deadline: Deadline) -> tuple[FloatArray, FloatArray] | None:
    """Return (n,) a fractional solution of least cost and (m,) the dual values of the rows, in the unit of `cost` (n,); None if
    none was proven optimal in time."""
    dropped = matrix.drop_fixed()
    if dropped is None:
        return None
    reduced, rows = dropped
    free = matrix.is_free
    values, duals = matrix.low.astype(np.float64), np.zeros(len(matrix.row_low))
    unit = 1 << max(0, int(np.abs(cost).max(initial=0)).bit_length() - SCALED_BITS)
    model = _write(reduced, cost[free] if unit == 1 else cost[free] / unit, whole=False)
    parameters = parameters_pb2.SolveParametersProto(iteration_limit=ITERATIONS)
    result = next((found for solver in _SOLVERS if (found := _try(model, solver, parameters, deadline)) is not None), None)
    if result is None or result.termination.reason != result_pb2.TERMINATION_REASON_OPTIMAL:
        return None
    values[free] = result.solutions[0].primal_solution.variable_values.values  # of all variables, in their order
    duals[rows] = np.array(result.solutions[0].dual_solution.dual_values.values) * unit
    return values, duals


def search(matrix: Matrix, cost: IntArray, deadline: Deadline) -> Decided:
    """Return whole values with low cost (n,) and a bound, by HiGHS's branch and bound within its limits."""
    dropped = matrix.drop_fixed()
    if dropped is None:
        return Decided(None, None, is_impossible=True)
    free = matrix.is_free
    paid = exact_sum(cost[~free], matrix.low[~free])
    values = matrix.low.copy()
    parameters = parameters_pb2.SolveParametersProto(node_limit=NODES, absolute_gap_tolerance=0.5, relative_gap_tolerance=0.0)
    result = _try(_write(dropped[0], cost[free], whole=True), parameters_pb2.SOLVER_TYPE_HIGHS, parameters, deadline)
    ends = (result_pb2.TERMINATION_REASON_OPTIMAL, result_pb2.TERMINATION_REASON_FEASIBLE)
    if result is None or result.termination.reason not in ends or not result.solutions:
        return Decided(None, None)
    values[free] = np.rint(result.solutions[0].primal_solution.variable_values.values).astype(np.int64)
    bound = result.termination.objective_bounds.dual_bound
    is_bounded = math.isfinite(bound)  # not if a heuristic of the solver found the values
    return Decided(values, paid + math.ceil(bound - max(1e-6, 1e-9 * abs(bound))) if is_bounded else None)


def is_infeasible(matrix: Matrix, deadline: Deadline) -> bool:
    """Return whether the solver says in time that no values keep the bounds and rows."""
    dropped = matrix.drop_fixed()
    if dropped is None:
        return True
    model = _write(dropped[0], np.zeros(len(dropped[0].low), dtype=np.int64), whole=False)
    result = _try(model, parameters_pb2.SOLVER_TYPE_HIGHS, parameters_pb2.SolveParametersProto(), deadline)
    ends = (result_pb2.TERMINATION_REASON_INFEASIBLE, result_pb2.TERMINATION_REASON_INFEASIBLE_OR_UNBOUNDED)
    return result is not None and result.termination.reason in ends


def _try(
    model: model_pb2.ModelProto,
    solver: parameters_pb2.SolverTypeProto.ValueType,
    parameters: parameters_pb2.SolveParametersProto,
    deadline: Deadline,
) -> result_pb2.SolveResultProto | None:
    """Return the solver's answer by the deadline, under parameters that limit its work; None if the solver fails."""
    parameters.highs.int_options["presolve_rule_off"] = _HIGHS_WITHOUT_RULES
    if math.isfinite(deadline.at):
        parameters.time_limit.FromMicroseconds(max(1_000, int(deadline.left * 1e6)))
    nothing = model_parameters_pb2.ModelSolveParametersProto(), None, callback_pb2.CallbackRegistrationProto(), None, None
    try:
        return math_opt.solve(model, solver, parameters_pb2.SolverInitializerProto(), parameters, *nothing)
    except Exception:  # HiGHS may end in a state that it calls unknown
        return None


def _write(matrix: Matrix, cost: npt.NDArray[Any], *, whole: bool) -> model_pb2.ModelProto:
    """Return the model that minimises `cost` (n,) in the rows and bounds of a matrix, in whole numbers if `whole`."""
    number = len(matrix.low)
    model = model_pb2.ModelProto()
    model.variables.ids.extend(range(number))
    model.variables.lower_bounds.extend(matrix.low.astype(np.float64))
    model.variables.upper_bounds.extend(matrix.high.astype(np.float64))
    model.variables.integers.extend([whole] * number)
    model.linear_constraints.ids.extend(range(len(matrix.row_low)))
    model.linear_constraints.lower_bounds.extend(matrix.row_low.astype(np.float64))
    model.linear_constraints.upper_bounds.extend(matrix.row_high.astype(np.float64))
    entries = model.linear_constraint_matrix
    entries.row_ids.extend(matrix.row)
    entries.column_ids.extend(matrix.variable)
    entries.coefficients.extend(matrix.coefficient.astype(np.float64))
    used = np.flatnonzero(cost)
    model.objective.linear_coefficients.ids.extend(used)
    model.objective.linear_coefficients.values.extend(cost[used].astype(np.float64))
    return model


@dataclass(frozen=True, eq=False)
class Proof:
    """A lower bound of the cost by weak duality, and the duals that prove it."""

    bound: int
    """No x within the bounds costs less. Rounded up to the next whole number, as costs are whole."""
    is_tight: bool
    """Whether the sum was a whole number, so that nothing was rounded."""
    price: IntArray
    """(m,) duals of the rows, in parts; > 0 counts at the row's lower bound, < 0 at its upper bound."""
    reduced: IntArray
    """(n,) reduced costs, in parts."""


def prove_bound(matrix: Matrix, cost: IntArray, duals: FloatArray) -> Proof:
    """Return the bound that duals (m,) prove: Σ price × row bound + Σ reduced cost × variable bound, each the lesser product.

    Duals are rounded to parts of one (`DUAL_PARTS`): only the bound's sharpness depends on that.
    """
    price = np.rint(duals * DUAL_PARTS).astype(np.int64)
    reduced = cost * DUAL_PARTS
    np.subtract.at(reduced, matrix.variable, matrix.coefficient * price[matrix.row])
    total = exact_sum(price, np.where(price > 0, matrix.row_low, matrix.row_high))
    total += exact_sum(reduced, np.where(reduced > 0, matrix.low, matrix.high))
    return Proof(-(-total // DUAL_PARTS), total % DUAL_PARTS == 0, price, reduced)


def fix_to_optima(matrix: Matrix, proof: Proof) -> Matrix:
    """Return the matrix with bounds that leave exactly the points of proven least cost, if any (complementary slackness)."""

    def fix(low: IntArray, high: IntArray, sign: IntArray) -> tuple[IntArray, IntArray]:
        return np.where(sign < 0, high, low), np.where(sign > 0, low, high)

    low, high = fix(matrix.low, matrix.high, proof.reduced)
    row_low, row_high = fix(matrix.row_low, matrix.row_high, proof.price)
    return replace(matrix, low=low, high=high, row_low=row_low, row_high=row_high)
