"""Rounding a matrix so that rows and columns come out right."""

from __future__ import annotations

import numpy as np
import pytest

from optassign_models.greedy.exchange import round_cells


@pytest.mark.parametrize("seed", range(40))
def test_rounding_meets_rows_and_columns_that_can_be_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    optional = rng.random((5, 12)) < 0.7
    some = optional & (rng.random((5, 12)) < 0.5)
    slack = rng.integers(0, 2, 12)
    rows, most = some.sum(axis=1), some.sum(axis=0)
    taken = round_cells(optional, rng.integers(0, 9, (5, 12)), rows, most - slack, most)
    assert not np.any(taken & ~optional)
    assert np.array_equal(taken.sum(axis=1), rows)
    assert np.all((taken.sum(axis=0) >= most - slack) & (taken.sum(axis=0) <= most))
