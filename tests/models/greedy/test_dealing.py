"""Dealing places to tasks, where not all can be dealt."""

from __future__ import annotations

import numpy as np
import pytest

from optassign_models.greedy.places import deal_places


@pytest.mark.parametrize("seed", range(40))
def test_dealing_gives_every_task_different_clients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks, clients = np.sort(rng.choice(100, 20, replace=False)), 9
    need = rng.integers(1, 4, 20)
    places = np.bincount(np.concatenate([rng.choice(clients, n, replace=False) for n in need]), minlength=clients)
    forbidden = np.sort(tasks * clients + rng.integers(0, clients, 20))
    keys, lost = deal_places(tasks, need, places, forbidden)
    assert len(np.unique(keys)) == len(keys)
    assert not np.isin(keys, forbidden).any()
    given = np.bincount(np.searchsorted(tasks, np.concatenate([keys // clients, lost])), minlength=20)
    assert np.array_equal(given, need)
    assert np.all(np.bincount(keys % clients, minlength=clients) <= places)
