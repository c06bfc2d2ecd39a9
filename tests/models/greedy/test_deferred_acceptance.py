"""Deferred acceptance against taking the best pair again and again."""

from __future__ import annotations

import numpy as np
import pytest

from optassign_models.greedy.places import accept_pairs
from optassign_models.problem import BoolArray, IntArray


def take_one_by_one(order: IntArray, left: IntArray, left_room: IntArray, right: IntArray, right_room: IntArray) -> BoolArray:
    taken = np.zeros(len(left), dtype=np.bool_)
    left_room, right_room = left_room.copy(), right_room.copy()
    for pair in order.tolist():
        if left_room[left[pair]] > 0 and right_room[right[pair]] > 0:
            taken[pair] = True
            left_room[left[pair]] -= 1
            right_room[right[pair]] -= 1
    return taken


@pytest.mark.parametrize("seed", range(60))
def test_the_same_pairs_are_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lefts, rights, n = 8, 6, 40
    left, right = rng.integers(0, lefts, n), rng.integers(0, rights, n)
    left_room, right_room = rng.integers(0, 4, lefts), rng.integers(0, 5, rights)
    order = rng.permutation(n)[: rng.integers(1, n + 1)]
    expected = take_one_by_one(order, left, left_room, right, right_room)
    assert np.array_equal(accept_pairs(order, left, left_room, right, right_room), expected)
