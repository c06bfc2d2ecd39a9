"""Swaps between two clients against trying every way to share out their tasks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign_models.greedy.exchange import swap_copies
from optassign_models.problem import BoolArray, IntArray


@pytest.mark.parametrize("seed", range(40))
def test_two_clients_share_out_their_tasks_at_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, on_first = rng.integers(0, 20, (8, 2)), rng.random(8) < 0.5
    group = np.sort(rng.integers(0, 2, 8))
    held = np.stack([on_first, ~on_first], axis=1)

    def compare_costs(held: BoolArray, a: int, b: int) -> IntArray:
        return cost[:, b] - cost[:, a]

    ways = (np.array(way) for way in itertools.product([False, True], repeat=8))
    alike = [way for way in ways if all(way[group == g].sum() == on_first[group == g].sum() for g in (0, 1))]
    best = min(int(np.where(way, cost[:, 0], cost[:, 1]).sum()) for way in alike)
    swapped = swap_copies(held, group, compare_costs, 1_000)
    assert np.all(swapped.sum(axis=1) == 1)
    assert any(np.array_equal(swapped[:, 0], way) for way in alike)
    assert int((swapped * cost).sum()) == best
