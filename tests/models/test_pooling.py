"""Tests of dealing the places of a pool to tasks."""

from __future__ import annotations

import numpy as np
import pytest

from optassign_models.target.deal import deal_pool


@pytest.mark.parametrize("seed", range(50))
def test_without_forbidden_pairs_a_deal_never_fails(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clients, tasks = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    need = rng.integers(1, clients + 1, tasks)
    # Take the places from some deal, so that one exists.
    places = np.zeros(clients, dtype=np.int64)
    for n in need:
        places[rng.permutation(clients)[:n]] += 1
    keys = deal_pool(np.arange(tasks), need, places, {})
    assert keys is not None, f"seed {seed}"
    pairs = np.array(keys)
    assert len(set(keys)) == need.sum()
    assert np.bincount(pairs // clients, minlength=tasks).tolist() == need.tolist()
    assert np.bincount(pairs % clients, minlength=clients).tolist() == places.tolist()


@pytest.mark.parametrize("seed", range(100))
def test_a_deal_exists_by_the_theorem_of_gale_and_ryser(seed: int) -> None:
    """A deal exists iff the k greatest needs fit for each k: Σ of the k greatest needs ≤ Σ min(places, k) over all clients."""
    rng = np.random.default_rng(seed)
    clients, tasks = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    need = rng.integers(1, clients + 1, tasks)
    places = np.bincount(rng.integers(0, clients, int(need.sum())), minlength=clients)
    greatest = np.sort(need)[::-1]
    possible = all(greatest[:k].sum() <= np.minimum(places, k).sum() for k in range(1, tasks + 1))
    assert (deal_pool(np.arange(tasks), need, places, {}) is not None) == possible


def test_a_forbidden_pair_is_swapped_away() -> None:
    # Task 1 may not go to client 0, the only one left once task 0 is on client 1.
    keys = deal_pool(np.array([0, 1]), np.array([1, 1]), np.array([1, 1]), {1: {0}})
    assert keys == [0 * 2 + 0, 1 * 2 + 1]


def test_an_impossible_deal_returns_none() -> None:
    assert deal_pool(np.array([0]), np.array([1]), np.array([1, 0]), {0: {0}}) is None


def test_ties_go_to_the_least_client() -> None:
    assert deal_pool(np.array([3, 5]), np.array([1, 1]), np.array([1, 0, 1]), {}) == [3 * 3 + 0, 5 * 3 + 2]
