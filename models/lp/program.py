"""A sparse linear program, built in blocks of arrays and solved by MathOpt.

Minimise cost · x where row_low ≤ A x ≤ row_high and low ≤ x ≤ high; all bounds and coefficients are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from ortools.math_opt import callback_pb2, model_parameters_pb2, model_pb2, parameters_pb2, result_pb2, solution_pb2
from ortools.math_opt.core.python import solver as math_opt

from optassign.models.problem import BoolArray, IntArray

FloatArray = npt.NDArray[np.float64]

_GLOP_UP_TO = 400_000
"""Variables. Beyond, HiGHS is faster."""
_PAYS = 1e-6
"""A reduced cost below which a variable is worth taking in."""
_ITERATIONS = 2_000_000
"""A limit that does not depend on the machine (R9); no program met so far needed a tenth of it."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The optimum of one program."""

    values: FloatArray
    """(n,)"""
    duals: FloatArray | None
    """(m,) of the rows; None of a program in whole numbers."""


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
        """One coefficient for each (row, variable); no pair may come twice."""
        self._entries.append((rows, variables, np.full(len(rows), coefficient, dtype=np.int64)))

    def finish(self) -> Matrix:
        """The program in arrays."""
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

    def fix(self, low: IntArray, high: IntArray, row_low: IntArray, row_high: IntArray) -> Matrix:
        """The same program with tighter bounds."""
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

    def restrict(self, used: BoolArray) -> tuple[Matrix, IntArray]:
        """The program with the variables that are `used` (n,), the others at their lower bounds; and the rows it still has."""
        fixed = np.where(used, 0, self.low)
        paid = np.zeros(len(self.row_low), dtype=np.int64)
        np.add.at(paid, self.row, self.coefficient * fixed[self.variable])
        kept = used[self.variable]
        rows = np.unique(self.row[kept])
        matrix = Matrix(
            low=self.low[used],
            high=self.high[used],
            row_low=(self.row_low - paid)[rows],
            row_high=(self.row_high - paid)[rows],
            row=np.searchsorted(rows, self.row[kept]),
            variable=(np.cumsum(used) - 1)[self.variable[kept]],
            coefficient=self.coefficient[kept],
        )
        return matrix, rows

    def minimise_by_columns(self, cost: IntArray, used: BoolArray) -> tuple[Solved | None, BoolArray]:
        """The least cost, and the variables it took: column generation (Dantzig and Wolfe, 1960).

        A few variables are enough for an optimum. The program is solved with those; the duals price the others, and those that
        would pay are taken in, until none would.

        Args:
            cost: (n,)
            used: (n,) variables to begin with, among which some x keeps all rows.
        """
        while True:
            matrix, rows = self.restrict(used)
            solved = matrix.minimise(cost[used])
            if solved is None or solved.duals is None:
                return None, used
            values, duals = self.low.astype(np.float64), np.zeros(len(self.row_low))
            values[used], duals[rows] = solved.values, solved.duals
            priced = cost.astype(np.float64)
            np.subtract.at(priced, self.variable, self.coefficient * duals[self.row])
            paying = ~used & (self.low < self.high) & (priced < -_PAYS)
            if not paying.any():
                return Solved(values, duals), used
            used = used | paying

    def minimise(self, cost: IntArray, integer: BoolArray | None = None) -> Solved | None:
        """The least cost (n,), in whole numbers where `integer` says so; None where there is none or the limit came first."""
        model = model_pb2.ModelProto()
        model.variables.ids.extend(range(len(self.low)))
        model.variables.lower_bounds.extend(self.low.astype(np.float64))
        model.variables.upper_bounds.extend(self.high.astype(np.float64))
        model.variables.integers.extend((np.zeros(len(self.low), dtype=np.bool_) if integer is None else integer).tolist())
        model.linear_constraints.ids.extend(range(len(self.row_low)))
        model.linear_constraints.lower_bounds.extend(self.row_low.astype(np.float64))
        model.linear_constraints.upper_bounds.extend(self.row_high.astype(np.float64))
        matrix = model.linear_constraint_matrix
        matrix.row_ids.extend(self.row)
        matrix.column_ids.extend(self.variable)
        matrix.coefficients.extend(self.coefficient.astype(np.float64))
        used = np.flatnonzero(cost)
        model.objective.linear_coefficients.ids.extend(used)
        model.objective.linear_coefficients.values.extend(cost[used].astype(np.float64))
        parameters = parameters_pb2.SolveParametersProto(iteration_limit=_ITERATIONS)
        if integer is not None:
            parameters = parameters_pb2.SolveParametersProto(
                node_limit=2_000, absolute_gap_tolerance=0.5, relative_gap_tolerance=0.0
            )
        use_glop = integer is None and len(self.low) <= _GLOP_UP_TO
        kind = parameters_pb2.SOLVER_TYPE_GLOP if use_glop else parameters_pb2.SOLVER_TYPE_HIGHS
        result = math_opt.solve(
            model,
            kind,
            parameters_pb2.SolverInitializerProto(),
            parameters,
            model_parameters_pb2.ModelSolveParametersProto(),
            None,
            callback_pb2.CallbackRegistrationProto(),
            None,
            None,
        )
        solution = next(iter(result.solutions), None)
        if solution is None or result.termination.reason != result_pb2.TERMINATION_REASON_OPTIMAL:
            return None
        values = np.zeros(len(self.low))
        primal = solution.primal_solution
        if primal.feasibility_status != solution_pb2.SOLUTION_STATUS_FEASIBLE:
            return None
        values[np.array(primal.variable_values.ids, dtype=np.int64)] = primal.variable_values.values
        if integer is not None:
            return Solved(values, None)
        duals = np.zeros(len(self.row_low))
        dual = solution.dual_solution.dual_values
        duals[np.array(dual.ids, dtype=np.int64)] = dual.values
        return Solved(values, duals)
