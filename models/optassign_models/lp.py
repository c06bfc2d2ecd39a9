"""Sparse linear programs, built in blocks of arrays, solved by MathOpt, with bounds proven in whole numbers.

Minimise cost · x where row_low ≤ A x ≤ row_high and low ≤ x ≤ high; all bounds and coefficients are whole numbers.

MathOpt's Python package builds models variable by variable; written straight into its messages, arrays are copied as they
stand. Bounds use the solver's duals, but do not trust them (`prove_bound`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from ortools.math_opt import callback_pb2, model_parameters_pb2, model_pb2, parameters_pb2, result_pb2, solution_pb2
from ortools.math_opt.core.python import solver as math_opt

from optassign_models.deadline import Deadline
from optassign_models.forced import exact_sum
from optassign_models.policy.constants import DUAL_PARTS, GLOP_UP_TO, ITERATIONS, NODES, SCALED_BITS
from optassign_models.problem import BoolArray, IntArray

FloatArray = npt.NDArray[np.float64]


_HIGHS_WITHOUT_RULES = (1 << 10) | (1 << 11)
"""HiGHS's presolve leaves out its search for dependent equations and dependent free columns (bits of `presolve_rule_off`).

It gives that search a hundredth of the time limit, so its result would depend on the machine; and it costs more than it saves.
A program of 87,378 to 332,835 variables takes 3.7 to 4.3 s without it, and 79 to 122 s with it if no limit ends it.
"""
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]
_FINE_PARTS = 1 << 12
"""If twelfths leave a gap, as in sums of goals with odd weights."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum of one program."""

    values: FloatArray
    """(n,)"""
    duals: FloatArray | None
    """(m,) of the rows; None of a program in whole numbers."""
    bound: float = -math.inf
    """For a program in whole numbers: the solver's proven bound."""


@dataclass
class Program:
    """Variables and rows, added in blocks."""

    _low: list[IntArray] = field(default_factory=list)
    _high: list[IntArray] = field(default_factory=list)
    _row_low: list[IntArray] = field(default_factory=list)
    _row_high: list[IntArray] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)
    variables: int = 0
    rows: int = 0

    def add_variables(self, low: IntArray, high: IntArray) -> IntArray:
        """Ids of new variables, (n,)."""
        self._low.append(np.asarray(low, dtype=np.int64))
        self._high.append(np.asarray(high, dtype=np.int64))
        first = self.variables
        self.variables += len(low)
        return np.arange(first, self.variables, dtype=np.int64)

    def add_rows(self, low: IntArray, high: IntArray) -> IntArray:
        """Ids of new rows, (m,), without entries yet."""
        self._row_low.append(np.asarray(low, dtype=np.int64))
        self._row_high.append(np.asarray(high, dtype=np.int64))
        first = self.rows
        self.rows += len(low)
        return np.arange(first, self.rows, dtype=np.int64)

    def add_entries(self, rows: IntArray, variables: IntArray, coefficient: int) -> None:
        """One coefficient for each of n pairs (row, variable), two (n,) arrays; no pair may come twice."""
        self._entries.append((rows, variables, np.full(len(rows), coefficient, dtype=np.int64)))

    def add_weighted_entries(self, rows: IntArray, variables: IntArray, coefficients: IntArray) -> None:
        """Coefficients (n,) for n pairs (row, variable), two (n,) arrays; no pair may come twice."""
        self._entries.append((rows, variables, coefficients.astype(np.int64)))

    def finish(self, glop_up_to: int = GLOP_UP_TO) -> Matrix:
        """The program in arrays; Glop solves it up to this many free variables."""
        row, variable, coefficient = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((variable, row))
        return Matrix(
            low=np.concatenate(self._low),
            high=np.concatenate(self._high),
            row_low=np.concatenate(self._row_low),
            row_high=np.concatenate(self._row_high),
            row=row[order],
            variable=variable[order],
            coefficient=coefficient[order],
            glop_up_to=glop_up_to,
        )


@dataclass(frozen=True, eq=False)
class Matrix:
    """A program in arrays; entries are sorted by (row, variable)."""

    low: IntArray
    """(n,)"""
    high: IntArray
    """(n,)"""
    row_low: IntArray
    """(m,)"""
    row_high: IntArray
    """(m,)"""
    row: IntArray
    """(k,) row of each entry."""
    variable: IntArray
    """(k,) variable of each entry."""
    coefficient: IntArray
    """(k,)"""
    glop_up_to: int = GLOP_UP_TO

    @property
    def is_free(self) -> BoolArray:
        """(n,) variables that have more than one value left."""
        free: BoolArray = self.low < self.high
        return free

    def fix(self, low: IntArray, high: IntArray, row_low: IntArray, row_high: IntArray) -> Matrix:
        """The same program with tighter bounds: of variables (n,) and of rows (m,)."""
        return replace(self, low=low, high=high, row_low=row_low, row_high=row_high)

    def with_row(self, coefficients: IntArray, high: int) -> Matrix:
        """The same program with one more row: coefficients (n,) · x ≤ high."""
        used = np.flatnonzero(coefficients)
        return replace(
            self,
            row_low=np.append(self.row_low, -(1 << 50)),
            row_high=np.append(self.row_high, high),
            row=np.concatenate([self.row, np.full(len(used), len(self.row_low), dtype=np.int64)]),
            variable=np.concatenate([self.variable, used]),
            coefficient=np.concatenate([self.coefficient, coefficients[used]]),
        )

    def minimise(self, cost: IntArray, deadline: Deadline) -> Solution | None:
        """The least cost (n,) of any size, which is scaled for the solver; None where there is none, or a limit came first."""
        greatest = int(np.abs(cost).max(initial=0))
        return self._minimise(cost, deadline, _How(unit=1 << max(0, greatest.bit_length() - SCALED_BITS)))

    def search(self, cost: IntArray, deadline: Deadline) -> Solution | None:
        """Whole values of little cost (n,), with a bound: what branch and bound found within its limits."""
        return self._minimise(cost, deadline, _How(whole=True))

    def is_infeasible(self, deadline: Deadline) -> bool:
        """Whether the solver says in time that no values keep the bounds and rows."""
        nothing = np.zeros_like(self.low)
        if not self.is_free.any():
            return self.minimise(nothing, deadline) is None
        model = _write(self, nothing, _How())
        try:
            result = solve_model(model, parameters_pb2.SOLVER_TYPE_HIGHS, parameters_pb2.SolveParametersProto(), deadline)
        except Exception:  # HiGHS may end in a state that it calls unknown
            return False
        ends = (result_pb2.TERMINATION_REASON_INFEASIBLE, result_pb2.TERMINATION_REASON_INFEASIBLE_OR_UNBOUNDED)
        return result.termination.reason in ends

    def _minimise(self, cost: IntArray, deadline: Deadline, how: _How) -> Solution | None:
        free = self.is_free
        reduced, rows = self._drop_fixed(free)
        others = np.ones(len(self.row_low), dtype=np.bool_)
        others[rows] = False
        paid = self._pay_fixed(free)[others]
        if np.any(paid < self.row_low[others]) or np.any(paid > self.row_high[others]):
            return None
        values, duals = self.low.astype(np.float64), np.zeros(len(self.row_low))
        if not free.any():
            return Solution(values, None if how.whole else duals, exact_sum(cost, self.low))
        found = _solve(reduced, cost[free], deadline, how)
        if found is None:
            return None
        values[free] = found.values
        if found.duals is None:
            return Solution(values, None, found.bound + exact_sum(cost[~free], self.low[~free]))
        duals[rows] = found.duals
        return Solution(values, duals)

    def _pay_fixed(self, free: BoolArray) -> IntArray:
        """(m,) what the variables that are not `free` add to each row."""
        paid = np.zeros(len(self.row_low), dtype=np.int64)
        np.add.at(paid, self.row, self.coefficient * np.where(free, 0, self.low)[self.variable])
        return paid

    def _drop_fixed(self, free: BoolArray) -> tuple[Matrix, IntArray]:
        """The program with the variables that are `free` (n,) only; and the rows it still has."""
        paid = self._pay_fixed(free)
        kept = free[self.variable]
        is_used = np.zeros(len(self.row_low), dtype=np.bool_)
        is_used[self.row[kept]] = True
        rows = np.flatnonzero(is_used)
        matrix = Matrix(
            low=self.low[free],
            high=self.high[free],
            row_low=(self.row_low - paid)[rows],
            row_high=(self.row_high - paid)[rows],
            row=(np.cumsum(is_used) - 1)[self.row[kept]],
            variable=(np.cumsum(free) - 1)[self.variable[kept]],
            coefficient=self.coefficient[kept],
            glop_up_to=self.glop_up_to,
        )
        return matrix, rows


@dataclass(frozen=True)
class _How:
    """How a program is solved."""

    whole: bool = False
    unit: int = 1
    """The solver has the cost in units of so much."""


def _solve(matrix: Matrix, cost: IntArray, deadline: Deadline, how: _How) -> Solution | None:
    """As `Matrix.minimise`, of a program without fixed variables; where HiGHS gives up, Glop has a try."""
    parameters = parameters_pb2.SolveParametersProto(iteration_limit=ITERATIONS)
    solvers = [parameters_pb2.SOLVER_TYPE_HIGHS, parameters_pb2.SOLVER_TYPE_GLOP]
    if how.whole:
        parameters = parameters_pb2.SolveParametersProto(
            node_limit=NODES, absolute_gap_tolerance=0.5, relative_gap_tolerance=0.0
        )
        solvers.pop()
    elif len(matrix.low) <= matrix.glop_up_to:
        solvers.pop(0)
    model = _write(matrix, cost, how)
    for solver in solvers:
        try:
            return _read(matrix, solve_model(model, solver, parameters, deadline), how)
        except Exception:  # HiGHS may end in a state that it calls unknown
            continue
    return None


def _write(matrix: Matrix, cost: IntArray, how: _How) -> model_pb2.ModelProto:
    return write_model(
        (matrix.low, matrix.high),
        np.full(len(matrix.low), how.whole),
        (matrix.row_low, matrix.row_high),
        (matrix.row, matrix.variable, matrix.coefficient),
        cost if how.unit == 1 else cost / how.unit,
    )


def _read(matrix: Matrix, result: result_pb2.SolveResultProto, how: _How) -> Solution | None:
    """Read the solver's solution, if it is of the kind asked for."""
    ends = [result_pb2.TERMINATION_REASON_OPTIMAL]
    if how.whole:
        ends.append(result_pb2.TERMINATION_REASON_FEASIBLE)
    solution = next(iter(result.solutions), None)
    if solution is None or result.termination.reason not in ends:
        return None
    primal = solution.primal_solution
    if primal.feasibility_status != solution_pb2.SOLUTION_STATUS_FEASIBLE:
        return None
    values = np.zeros(len(matrix.low))
    values[np.array(primal.variable_values.ids, dtype=np.int64)] = primal.variable_values.values
    if how.whole:
        return Solution(values, None, result.termination.objective_bounds.dual_bound)
    duals = np.zeros(len(matrix.row_low))
    dual = solution.dual_solution.dual_values
    duals[np.array(dual.ids, dtype=np.int64)] = dual.values
    return Solution(values, duals * how.unit)


def write_model(
    bounds: tuple[Numbers, Numbers],
    whole: BoolArray,
    row_bounds: tuple[Numbers, Numbers],
    entries: tuple[IntArray, IntArray, Numbers],
    cost: Numbers,
) -> model_pb2.ModelProto:
    """Minimise cost · x where low ≤ x ≤ high, x is in whole numbers where `whole`, and row_low ≤ A x ≤ row_high.

    bounds: low and high, (n,); whole: (n,); row_bounds: (m,); entries: row, variable and coefficient of each, (k,), sorted by
    row and variable; cost: (n,).
    """
    model = model_pb2.ModelProto()
    model.variables.ids.extend(range(len(whole)))
    model.variables.lower_bounds.extend(bounds[0].astype(np.float64))
    model.variables.upper_bounds.extend(bounds[1].astype(np.float64))
    model.variables.integers.extend(whole.tolist())
    model.linear_constraints.ids.extend(range(len(row_bounds[0])))
    model.linear_constraints.lower_bounds.extend(row_bounds[0].astype(np.float64))
    model.linear_constraints.upper_bounds.extend(row_bounds[1].astype(np.float64))
    matrix = model.linear_constraint_matrix
    matrix.row_ids.extend(entries[0])
    matrix.column_ids.extend(entries[1])
    matrix.coefficients.extend(entries[2].astype(np.float64))
    used = np.flatnonzero(cost)
    model.objective.linear_coefficients.ids.extend(used)
    model.objective.linear_coefficients.values.extend(cost[used].astype(np.float64))
    return model


def solve_model(
    model: model_pb2.ModelProto,
    solver: parameters_pb2.SolverTypeProto.ValueType,
    parameters: parameters_pb2.SolveParametersProto,
    deadline: Deadline,
) -> result_pb2.SolveResultProto:
    """The solver's answer by the deadline, under parameters that limit its work."""
    parameters.highs.int_options["presolve_rule_off"] = _HIGHS_WITHOUT_RULES
    if math.isfinite(deadline.at):
        parameters.time_limit.FromMicroseconds(max(1_000, int(deadline.left * 1e6)))
    return math_opt.solve(
        model,
        solver,
        parameters_pb2.SolverInitializerProto(),
        parameters,
        model_parameters_pb2.ModelSolveParametersProto(),
        None,
        callback_pb2.CallbackRegistrationProto(),
        None,
        None,
    )


@dataclass(frozen=True, eq=False)
class Proof:
    """By weak duality: no x within the bounds costs less than `bound`."""

    bound: int
    """Rounded up to the next whole number, as costs are whole."""
    is_tight: bool
    """The sum was a whole number: nothing was rounded."""
    price: IntArray
    """(m,) of the rows, in parts; > 0 counts at the row's lower bound, < 0 at its upper."""
    reduced: IntArray
    """(n,) reduced costs, in parts."""


def prove_bound(matrix: Matrix, cost: IntArray, duals: FloatArray, parts: int = DUAL_PARTS) -> Proof:
    """The bound that duals (m,) prove: Σ price × row bound + Σ reduced cost × variable bound, each at its lesser product.

    Duals are rounded to `parts` parts of one: only the bound's sharpness depends on that.
    """
    price = np.rint(duals * parts).astype(np.int64)
    reduced = cost * parts
    np.subtract.at(reduced, matrix.variable, matrix.coefficient * price[matrix.row])
    total = exact_sum(price, np.where(price > 0, matrix.row_low, matrix.row_high))
    total += exact_sum(reduced, np.where(reduced > 0, matrix.low, matrix.high))
    return Proof(-(-total // parts), total % parts == 0, price, reduced)


def prove_best_bound(matrix: Matrix, cost: IntArray, duals: FloatArray) -> Proof:
    """The bound that duals (m,) prove, as `prove_bound`; with finer parts if these prove more."""
    proof = prove_bound(matrix, cost, duals)
    if proof.is_tight:
        return proof
    finer = prove_bound(matrix, cost, duals, _FINE_PARTS)
    return finer if (finer.bound, finer.is_tight) > (proof.bound, proof.is_tight) else proof


def fix_to_optima(matrix: Matrix, proof: Proof) -> Matrix:
    """The bounds that leave exactly what costs no more than the proven bound, if something does (complementary slackness)."""

    def fix(low: IntArray, high: IntArray, sign: IntArray) -> tuple[IntArray, IntArray]:
        return np.where(sign < 0, high, low), np.where(sign > 0, low, high)

    return matrix.fix(*fix(matrix.low, matrix.high, proof.reduced), *fix(matrix.row_low, matrix.row_high, proof.price))


def is_whole(values: FloatArray) -> BoolArray:
    """(n,) whether each value is a whole number but for the solver's tolerance."""
    whole: BoolArray = np.abs(values - np.rint(values)) < 1e-6
    return whole
