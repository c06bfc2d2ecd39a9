"""Bounds by weak duality, in whole numbers: they use a solver's duals, but do not trust them (docs/explanation/proofs.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import exact_sum
from optassign_models.policy.constants import DUAL_PARTS
from optassign_models.problem import IntArray
from optassign_models.target.arrays import FloatArray, Matrix

_FINE_PARTS = 1 << 12
"""The parts of one to which duals are rounded if twelfths leave a gap, as in sums of goals with odd weights."""


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
    """Return the bound that duals (m,) prove: Σ price × row bound + Σ reduced cost × variable bound, each the lesser product.

    Duals are rounded to `parts` parts of one: only the bound's sharpness depends on that.
    """
    price = np.rint(duals * parts).astype(np.int64)
    reduced = cost * parts
    np.subtract.at(reduced, matrix.variable, matrix.coefficient * price[matrix.row])
    total = exact_sum(price, np.where(price > 0, matrix.row_low, matrix.row_high))
    total += exact_sum(reduced, np.where(reduced > 0, matrix.low, matrix.high))
    return Proof(-(-total // parts), total % parts == 0, price, reduced)


def prove_best_bound(matrix: Matrix, cost: IntArray, duals: FloatArray) -> Proof:
    """Return the bound that duals (m,) prove, as `prove_bound`; with finer parts if these prove more."""
    proof = prove_bound(matrix, cost, duals)
    if proof.is_tight:
        return proof
    finer = prove_bound(matrix, cost, duals, _FINE_PARTS)
    return finer if (finer.bound, finer.is_tight) > (proof.bound, proof.is_tight) else proof


def fix_to_optima(matrix: Matrix, proof: Proof) -> Matrix:
    """Return the matrix with bounds that leave exactly the points of proven least cost, if any (complementary slackness)."""

    def fix(low: IntArray, high: IntArray, sign: IntArray) -> tuple[IntArray, IntArray]:
        return np.where(sign < 0, high, low), np.where(sign > 0, low, high)

    return matrix.fix(*fix(matrix.low, matrix.high, proof.reduced), *fix(matrix.row_low, matrix.row_high, proof.price))
