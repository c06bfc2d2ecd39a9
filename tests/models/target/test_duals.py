"""Tests of bounds from duals: wrong duals give weak bounds, but never wrong ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign_models.results import Deadline
from optassign_models.target.arrays import Matrix, Program
from optassign_models.target.backends import decide, fix_to_optima, prove_bound, relax, search

NO_DEADLINE = Deadline.after(None)


def random_program(seed: int) -> tuple[Matrix, np.ndarray]:
    """Return the matrix of a random feasible program, of four variables from 0 to 2 and three rows, and (4,) its costs."""
    rng = np.random.default_rng(seed)
    program = Program()
    x = program.add_variables(np.zeros(4, dtype=np.int64), np.full(4, 2))
    inside = rng.integers(0, 3, 4)
    coefficients = rng.integers(-1, 2, (3, 4))
    sums = coefficients @ inside
    rows = program.add_rows(sums - rng.integers(0, 2, 3), sums + rng.integers(0, 2, 3))
    for coefficient in (-1, 1):
        row, variable = np.nonzero(coefficients == coefficient)
        program.add_entries(rows[row], x[variable], coefficient)
    return program.finish(), rng.integers(-3, 4, 4)


def list_points(matrix: Matrix) -> list[np.ndarray]:
    """Return all integral x that satisfy the rows."""
    table = np.zeros((len(matrix.row_low), len(matrix.low)), dtype=np.int64)
    table[matrix.row, matrix.variable] = matrix.coefficient
    ranges = [range(low, high + 1) for low, high in zip(matrix.low.tolist(), matrix.high.tolist(), strict=True)]
    every = (np.array(point) for point in itertools.product(*ranges))
    return [x for x in every if np.all(table @ x >= matrix.row_low) and np.all(table @ x <= matrix.row_high)]


@pytest.mark.parametrize("seed", range(60))
def test_no_duals_prove_a_wrong_bound(seed: int) -> None:
    matrix, cost = random_program(seed)
    least = min(int(cost @ x) for x in list_points(matrix))
    for trial in range(20):
        duals = np.random.default_rng(1000 * seed + trial).normal(0, 2, len(matrix.row_low))
        assert prove_bound(matrix, cost, duals).bound <= least, f"seed {seed}, trial {trial}"


@pytest.mark.parametrize("seed", range(60))
def test_the_solvers_duals_prove_its_optimum_and_leave_all_others(seed: int) -> None:
    matrix, cost = random_program(seed)
    points = list_points(matrix)
    solved = relax(matrix, cost, NO_DEADLINE)
    assert solved is not None
    values, duals = solved
    proof = prove_bound(matrix, cost, duals)
    assert abs(float(cost @ values) - proof.bound) < 1 + 1e-6
    if proof.is_tight and min(int(cost @ x) for x in points) == proof.bound:
        optima = {tuple(x) for x in points if int(cost @ x) == proof.bound}
        assert {tuple(x) for x in list_points(fix_to_optima(matrix, proof))} == optima, f"seed {seed}"


def test_search_gives_integers_and_relax_fractions() -> None:
    """Three pairs of three items, each item at most once: the optimum of the relaxation is fractional."""
    program = Program()
    x = program.add_variables(np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64))
    rows = program.add_rows(np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64))
    program.add_entries(rows, x, 1)
    program.add_entries(rows, np.roll(x, 1), 1)
    matrix, cost = program.finish(), np.full(3, -1)
    halves, whole = relax(matrix, cost, NO_DEADLINE), search(matrix, cost, NO_DEADLINE)
    assert halves is not None
    assert whole.values is not None
    assert (float(cost @ halves[0]), float(cost @ whole.values)) == (-1.5, -1.0)
    assert prove_bound(matrix, cost, halves[1]).bound == -1


def test_a_row_may_hold_a_value_below_any_other_sum() -> None:
    """Values of many tags are large and negative; once such a row had a lower bound above them, which solvers refuse."""
    program, least = Program(), -(1 << 55)
    x = program.add_variables(0, np.ones(2, dtype=np.int64))
    program.add_entries(program.add_rows(0, np.ones(1, dtype=np.int64)), x[:1], 1)
    matrix = program.finish().with_row(np.array([least, 1]), least)
    assert not matrix.is_plainly_impossible
    found = decide(matrix, np.array([0, -1]), None, 1.0, NO_DEADLINE)
    assert found.values is not None
    assert found.values.tolist() == [1, 0]


@pytest.mark.parametrize(("coefficient", "low", "high", "is_told"), [(1, 3, 9, True), (1, 2, 9, False), (-1, -9, -3, True)])
def test_a_row_out_of_reach_is_told_without_a_solver(coefficient: int, low: int, high: int, is_told: bool) -> None:
    """An assignment that is balanced now is often excluded so; a solver takes ten times as long to say it."""
    program = Program()
    x = program.add_variables(0, np.ones(2, dtype=np.int64))
    program.add_entries(program.add_rows(low, np.full(1, high))[np.zeros(2, dtype=np.int64)], x, coefficient)
    assert program.finish().is_plainly_impossible is is_told
