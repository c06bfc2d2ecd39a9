"""Tests of water filling against its definition: a client's share per task is min(1, level × unit), with one level for all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from optassign_models.shares import split_copies


@pytest.mark.parametrize("seed", range(100))
def test_shares_are_a_level_limited_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clients = int(rng.integers(1, 7))
    units = rng.integers(1, 9, clients).tolist()
    copies = int(rng.integers(0, clients + 3))
    shares, left = split_copies(units, copies)
    assert sum(shares) + left == copies
    if copies >= clients:
        assert shares == [1] * clients
        return
    assert left == 0
    levels = {share / unit for share, unit in zip(shares, units, strict=True) if share < 1}
    assert len(levels) == 1
    level = levels.pop()
    assert shares == [min(Fraction(1), level * unit) for unit in units]
