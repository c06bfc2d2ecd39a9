"""The auction against trying every assignment, and what it does where tasks must have something."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign_models.greedy.places import auction_pairs


@pytest.mark.parametrize("seed", range(60))
def test_an_auction_comes_near_the_greatest_worth(seed: int) -> None:
    """Bertsekas: in the end the worth is short of the greatest by at most one step of the bids for each task."""
    rng = np.random.default_rng(seed)
    tasks, clients = 5, 4
    worth = rng.integers(1, 100, (tasks, clients))
    room = rng.integers(0, 3, clients)
    best = 0
    for choice in itertools.product(range(clients + 1), repeat=tasks):  # the last stands for no client
        if np.all(np.bincount(choice, minlength=clients + 1)[:clients] <= room):
            best = max(best, sum(int(worth[task, client]) for task, client in enumerate(choice) if client < clients))
    task, client = np.repeat(np.arange(tasks), clients), np.tile(np.arange(clients), tasks)
    none = np.zeros(tasks, dtype=np.int64)
    taken = auction_pairs(worth.ravel(), task, 1, none, client, room, client, room)
    assert np.all(np.bincount(task[taken], minlength=tasks) <= 1)
    assert np.all(np.bincount(client[taken], minlength=clients) <= room)
    step = 1 + int(worth.mean()) // 40
    assert best - tasks * step <= worth.ravel()[taken].sum() <= best


def test_an_auction_gives_places_to_those_that_lose_most_without_them() -> None:
    """Tasks 0 and 1 both like client 0 best, which has one place: task 1 has no other place that is worth much."""
    worth = np.array([100, 90, 80, 10])
    task, client = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    room, none = np.array([1, 1]), np.zeros(2, dtype=np.int64)
    assert auction_pairs(worth, task, 1, none, client, room, client, room).tolist() == [False, True, True, False]


def test_an_auction_heeds_what_a_task_must_have() -> None:
    """Both tasks hold a copy on either client; each client can keep one, and each task must keep one."""
    worth = np.array([100, 100, 10, 10])
    task, client = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    room = np.array([1, 1])
    taken = auction_pairs(worth, task, 2, np.array([1, 1]), client, room, client, room)
    assert np.bincount(task[taken], minlength=2).tolist() == [1, 1]
