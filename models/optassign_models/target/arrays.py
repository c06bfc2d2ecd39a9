"""Programs in whole numbers as sparse arrays, built in blocks.

Minimise cost · x where row_low ≤ A x ≤ row_high and low ≤ x ≤ high; all bounds and coefficients are whole numbers. Every solver
reads these arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from optassign_models.problem import BoolArray, FloatArray, IntArray, exact_sum

FAR = 1 << 50
"""The bound of a row that has none: more than any sum of a row."""
MOST = 1 << 61
"""The limit of a sum of costs: CP-SAT calculates with 64 bits, and reserves one."""
_Bounds = npt.NDArray[Any] | int


@dataclass
class Program:
    """A program to which variables and rows are added in blocks. Their bounds are (n,); one of both may be a number for all."""

    _variables: list[IntArray] = field(default_factory=list)
    _rows: list[IntArray] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)
    variables: int = 0
    rows: int = 0

    def add_variables(self, low: _Bounds, high: _Bounds) -> IntArray:
        """Add variables with these bounds; return their ids (n,)."""
        self._variables.append(np.stack(np.broadcast_arrays(low, high)).astype(np.int64))
        first, self.variables = self.variables, self.variables + self._variables[-1].shape[1]
        return np.arange(first, self.variables)

    def add_rows(self, low: _Bounds, high: _Bounds) -> IntArray:
        """Add rows with these bounds, without entries yet; return their ids (m,)."""
        self._rows.append(np.stack(np.broadcast_arrays(low, high)).astype(np.int64))
        first, self.rows = self.rows, self.rows + self._rows[-1].shape[1]
        return np.arange(first, self.rows)

    def add_entries(self, rows: IntArray, variables: IntArray, coefficients: IntArray | int) -> None:
        """Add coefficients, (n,) or one for all, of n pairs of row and variable, (n,) each. No pair may come twice."""
        self._entries.append((rows, variables, np.broadcast_to(np.asarray(coefficients, dtype=np.int64), len(rows))))

    def finish(self) -> Matrix:
        """Return the program in arrays."""
        row, variable, coefficient = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        order = np.lexsort((variable, row))
        (low, high), (row_low, row_high) = (np.concatenate(blocks, axis=1) for blocks in (self._variables, self._rows))
        return Matrix(low, high, row_low, row_high, row[order], variable[order], coefficient[order])


@dataclass(frozen=True, eq=False)
class Matrix:
    """A program in arrays: bounds of variables (n,) and of rows (m,), and entries (k,), sorted by (row, variable)."""

    low: IntArray
    high: IntArray
    row_low: IntArray
    row_high: IntArray
    row: IntArray
    variable: IntArray
    coefficient: IntArray

    @property
    def is_free(self) -> BoolArray:
        """(n,) whether the variable has more than one value left."""
        return np.asarray(self.low < self.high)

    @property
    def is_plainly_impossible(self) -> bool:
        """Whether bounds are crossed, which solvers refuse, or a row cannot reach its own: a solver needs far longer."""
        least, most = np.zeros((2, len(self.row_low)), dtype=np.int64)
        ends = np.sort(self.coefficient * np.stack([self.low, self.high])[:, self.variable], axis=0)
        np.add.at(least, self.row, ends[0])
        np.add.at(most, self.row, ends[1])
        is_missed = (least > self.row_high) | (most < self.row_low) | (self.row_low > self.row_high)
        return bool(is_missed.any() or np.any(self.low > self.high))

    def bound_sum(self, cost: IntArray) -> int:
        """Return an upper bound of |cost (n,) · x| for all x within the variables' bounds, in exact arithmetic."""
        return exact_sum(np.abs(cost), np.maximum(np.abs(self.low), np.abs(self.high)))

    def with_row(self, coefficients: IntArray, high: int) -> Matrix:
        """Return the same program with one more row: coefficients (n,) · x ≤ high."""
        used = np.flatnonzero(coefficients)
        return replace(
            self,
            row_low=np.append(self.row_low, min(high, -self.bound_sum(coefficients))),
            row_high=np.append(self.row_high, high),
            row=np.concatenate([self.row, np.full(len(used), len(self.row_low), dtype=np.int64)]),
            variable=np.concatenate([self.variable, used]),
            coefficient=np.concatenate([self.coefficient, coefficients[used]]),
        )

    def drop_fixed(self) -> tuple[Matrix, IntArray] | None:
        """Return the program of the free variables, and (k,) the rows that it keeps; None if fixed variables break a row."""
        free = self.is_free
        paid = np.zeros(len(self.row_low), dtype=np.int64)
        np.add.at(paid, self.row, self.coefficient * np.where(free, 0, self.low)[self.variable])
        kept = free[self.variable]
        is_used = np.zeros(len(self.row_low), dtype=np.bool_)
        is_used[self.row[kept]] = True
        row_low, row_high = self.row_low - paid, self.row_high - paid
        if np.any((row_low > 0) & ~is_used) or np.any((row_high < 0) & ~is_used):
            return None
        rows = np.flatnonzero(is_used)
        matrix = Matrix(
            low=self.low[free],
            high=self.high[free],
            row_low=row_low[rows],
            row_high=row_high[rows],
            row=(np.cumsum(is_used) - 1)[self.row[kept]],
            variable=(np.cumsum(free) - 1)[self.variable[kept]],
            coefficient=self.coefficient[kept],
        )
        return matrix, rows


@dataclass(frozen=True, eq=False)
class Decided:
    """The result of a search for whole values."""

    values: IntArray | None
    """(n,) whole values, or None if none were found."""
    bound: int | None
    """A lower bound of the cost; None if the solver knows none."""
    is_impossible: bool = False
    """Whether it is proven that no values keep the rows."""


def is_whole(values: FloatArray) -> BoolArray:
    """Return (n,) whether each value is a whole number within the solver's tolerance, 10⁻⁶."""
    return np.asarray(np.abs(values - np.rint(values)) < 1e-6)
