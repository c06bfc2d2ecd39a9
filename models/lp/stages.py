"""Goals in order on one program: each is minimised on the optimal face of those before it, and its bound is proven.

Where a bound is missed by a fraction, whole numbers are asked for, and a row keeps the value that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.deadline import Deadline
from optassign.models.lp.program import Matrix, Solved
from optassign.models.lp.proof import fix_to_optima, is_whole, prove_bound
from optassign.models.problem import BoolArray, IntArray

_SAME = 1e-3
"""Costs are whole, so a value so near to a whole number is that number."""
_MOST_WHOLE = 30_000
"""Variables that are still free: up to so many, whole numbers are asked for where the program's vertex has fractions."""
_SHORT_ROW = 200
"""Entries up to which a row says that its variables are near to each other."""


@dataclass(frozen=True, eq=False)
class Step:
    """One goal minimised."""

    matrix: Matrix
    """What is left of the face."""
    solved: Solved
    bound: int
    is_reached: bool = True


def minimise(matrix: Matrix, cost: IntArray, deadline: Deadline) -> Step | None:
    """What is left of the face, one of its optima, and the bound; None where nothing is left, or found."""
    solved = matrix.minimise(cost, deadline)
    if solved is None or solved.duals is None:
        return None
    proof = prove_bound(matrix, cost, solved.duals)
    if proof.is_tight and is_near(float(cost @ solved.values), proof.bound):
        return Step(fix_to_optima(matrix, proof), solved, proof.bound)
    whole = _solve_whole(matrix, cost, deadline)
    if whole is None:
        return None
    value = int(cost @ np.rint(whole.values).astype(np.int64))
    return Step(matrix.with_row(cost, value), whole, proof.bound, is_reached=value == proof.bound)


def is_near(value: float, bound: int) -> bool:
    """Whether a value is the bound, but for the solver's tolerance."""
    return abs(value - bound) < max(_SAME, 1e-9 * abs(bound))


def _solve_whole(matrix: Matrix, cost: IntArray, deadline: Deadline) -> Solved | None:
    return matrix.minimise(cost, deadline, whole=True) if int(matrix.is_free.sum()) <= _MOST_WHOLE else None


def find_whole(faces: list[Matrix], costs: list[IntArray], solved: Solved, deadline: Deadline) -> IntArray | None:
    """Whole values that are best in the goals, in their order: the last vertex, if it is whole.

    Else whole numbers are asked for near its fractions, then on all of the last face; where it has none, for the last goal
    again on the face before, and so on.
    """
    if is_whole(solved.values).all():
        return np.rint(solved.values).astype(np.int64)
    near = _find_whole_near(faces[-1], solved, deadline)
    if near is not None:
        return near
    for first in range(len(costs), -1, -1):
        matrix, whole = faces[first], None
        for cost in costs[first:] or [np.zeros(len(faces[0].low), dtype=np.int64)]:
            whole = _solve_whole(matrix, cost, deadline)
            if whole is None:
                break
            matrix = matrix.with_row(cost, int(cost @ np.rint(whole.values).astype(np.int64)))
        if whole is not None:
            return np.rint(whole.values).astype(np.int64)
    return None


def _find_whole_near(face: Matrix, solved: Solved, deadline: Deadline) -> IntArray | None:
    """Whole values on the face that differ from the solution near its fractions only, in wider and wider circles."""
    near: BoolArray = ~is_whole(solved.values)
    entries = np.bincount(face.row, minlength=len(face.row_low))
    is_short = entries[face.row] <= _SHORT_ROW
    nothing = np.zeros(len(face.low), dtype=np.int64)
    while int(near.sum()) <= _MOST_WHOLE:
        touched = np.zeros(len(face.row_low), dtype=np.bool_)
        touched[face.row[is_short & near[face.variable]]] = True
        wider = near.copy()
        wider[face.variable[is_short & touched[face.row]]] = True
        wider &= face.is_free
        if np.array_equal(wider, near):
            return None
        near = wider
        values = np.rint(solved.values).astype(np.int64)
        low, high = np.where(near, face.low, values), np.where(near, face.high, values)
        whole = _solve_whole(face.fix(low, high, face.row_low, face.row_high), nothing, deadline)
        if whole is not None:
            return np.rint(whole.values).astype(np.int64)
    return None
