"""Pools: the interchangeable clients of a task. A model counts their places; they are dealt to tasks afterwards.

Clients that goals or limits tell apart are in different *zones*, and every subtopology has a pool in each zone. Places are
dealt in two steps:

1. Greedily: tasks of greatest need first, each takes the clients with most places left. By the theorem of Gale (1957) and
   Ryser (1957) this succeeds whenever success is possible and nothing is forbidden.
2. Places that are left over, because all tasks that still lack one are forbidden there, are swapped with places dealt before.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from optassign_models.problem import IntArray, Problem

_Forbidden = dict[int, set[int]]
"""Clients that a task must not get, by task."""


def deal_pool(tasks: IntArray, need: IntArray, places: IntArray, forbidden: _Forbidden, clients: int) -> list[int] | None:
    """Give each task `need` different clients so that client c is used `places[c]` times.

    The outcome depends on nothing but the arguments. Ties go to the client whose last turn is the longest ago, then to the
    least index.

    Args:
        tasks: (K,) tasks, ascending.
        need: (K,) places for each; Σ need = Σ places.
        places: (C,) places of each client.
        forbidden: clients that a task must not get, by task.
        clients: C, for the keys.

    Returns:
        Keys task × C + client, sorted, or None where swaps did not suffice.
    """
    given, lacking, left = _deal_greedily(tasks, need, places, forbidden)
    for task in lacking:
        if not _swap_for_a_place(task, given, left, forbidden):
            return None
    return [task * clients + client for task in sorted(given) for client in sorted(given[task])]


def _deal_greedily(
    tasks: IntArray, need: IntArray, places: IntArray, forbidden: _Forbidden
) -> tuple[dict[int, set[int]], list[int], list[int]]:
    """Return the clients of each task, the tasks that lack a client (once for each), and the clients of the places left."""
    most_places_first = [(-number, 0, client) for client, number in enumerate(places.tolist()) if number > 0]
    heapq.heapify(most_places_first)
    given: dict[int, set[int]] = {}
    lacking: list[int] = []
    for turn, k in enumerate(np.argsort(-need, kind="stable").tolist(), start=1):
        task, wanted = int(tasks[k]), int(need[k])
        given[task] = _take_clients(most_places_first, wanted, forbidden.get(task, ()), turn)
        lacking.extend([task] * (wanted - len(given[task])))
    left: list[int] = []
    for minus_places, _, client in sorted(most_places_first, key=lambda entry: entry[2]):
        left.extend([client] * -minus_places)
    return given, lacking, left


def _take_clients(
    most_places_first: list[tuple[int, int, int]], wanted: int, forbidden: Collection[int], turn: int
) -> set[int]:
    """Take one place each from up to `wanted` clients of the heap of (−places, last turn, client)."""
    taken: set[int] = set()
    put_back: list[tuple[int, int, int]] = []
    while most_places_first and len(taken) < wanted:
        minus_places, last, client = heapq.heappop(most_places_first)
        if client in forbidden:
            put_back.append((minus_places, last, client))
            continue
        taken.add(client)
        if minus_places < -1:
            put_back.append((minus_places + 1, turn, client))
    for entry in put_back:
        heapq.heappush(most_places_first, entry)
    return taken


def _swap_for_a_place(task: int, given: dict[int, set[int]], left: list[int], forbidden: _Forbidden) -> bool:
    """Give another task a place that is left, and this task one of the other's clients. Return whether a swap was allowed."""
    own, not_here = given[task], forbidden.get(task, set())
    for place in list(left):
        for other, theirs in given.items():
            if other == task or place in theirs or place in forbidden.get(other, ()):
                continue
            swap = next((client for client in sorted(theirs) if client not in own and client not in not_here), None)
            if swap is not None:
                theirs.remove(swap)
                theirs.add(place)
                own.add(swap)
                left.remove(place)
                return True
    return False


@dataclass(frozen=True, eq=False)
class Zones:
    """Z zones, numbered from 0."""

    of_client: IntArray
    """(C,) zone of each client."""
    number: int
    """Z"""

    def find_pools(self, groups: IntArray, clients: IntArray) -> IntArray:
        """Return (n,) subtopology × Z + zone: the pool of each pair of a subtopology and a client."""
        return groups * self.number + self.of_client[clients]


def find_zones(problem: Problem, labels: Iterable[IntArray]) -> Zones:
    """Return the zones of clients that none of the labels, (C,) each, tells apart."""
    keys = np.stack([np.zeros(problem.C, dtype=np.int64), *labels])
    of_client = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Zones(of_client, int(of_client.max(initial=0)) + 1)
