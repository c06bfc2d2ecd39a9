"""Giving the pool's places to tasks: the second step after a model that only counts them."""

from __future__ import annotations

import heapq

import numpy as np

from optassign.models.problem import IntArray


def deal_pool(
    tasks: IntArray, need: IntArray, places: IntArray, forbidden: dict[int, set[int]], clients: int
) -> list[int] | None:
    """Gives each task `need` different clients so that client c is used `places[c]` times.

    Tasks of greatest need come first, each takes the clients with most places left (which never fails where nothing is
    forbidden: Gale–Ryser); where a forbidden pair is left over, it is swapped with an earlier one. Depends on nothing but
    the arguments, ties go to the least client.

    Args:
        tasks: (K,) tasks, ascending.
        need: (K,) places for each; Σ need = Σ places.
        places: (C,) places of each client.
        forbidden: clients that a task must not get.
        clients: C, for the keys.

    Returns:
        Keys task × C + client, or None where swaps did not suffice.
    """
    heap = [(-int(n), int(c)) for c, n in enumerate(places.tolist()) if n > 0]
    heapq.heapify(heap)
    given: dict[int, set[int]] = {}
    lost: list[int] = []
    for k in np.argsort(-need, kind="stable").tolist():
        task, wanted = int(tasks[k]), int(need[k])
        bad = forbidden.get(task, ())
        taken: set[int] = set()
        aside: list[tuple[int, int]] = []
        while heap and len(taken) < wanted:
            entry = heapq.heappop(heap)
            if entry[1] in bad:
                aside.append(entry)
            else:
                taken.add(entry[1])
                if entry[0] < -1:
                    aside.append((entry[0] + 1, entry[1]))
        for entry in aside:
            heapq.heappush(heap, entry)
        given[task] = taken
        lost.extend([task] * (wanted - len(taken)))
    left: list[int] = []
    for negative, client in sorted(heap, key=lambda entry: entry[1]):
        left.extend([client] * -negative)
    return _swapped(given, lost, left, forbidden, clients)


def _swapped(
    given: dict[int, set[int]], lost: list[int], left: list[int], forbidden: dict[int, set[int]], clients: int
) -> list[int] | None:
    for task in lost:
        mine = given[task]
        bad = forbidden.get(task, set())
        done = False
        for place in list(left):
            for other, theirs in given.items():
                if other == task or place in theirs or place in forbidden.get(other, ()):
                    continue
                swap = next((c for c in sorted(theirs) if c not in mine and c not in bad), None)
                if swap is not None:
                    theirs.remove(swap)
                    theirs.add(place)
                    mine.add(swap)
                    left.remove(place)
                    done = True
                    break
            if done:
                break
        if not done:
            return None
    return [task * clients + client for task in sorted(given) for client in sorted(given[task])]
