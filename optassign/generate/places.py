"""Places of whole subtopologies dealt to their tasks: the client with most copies left comes first."""

import heapq
from itertools import pairwise
from typing import Any

import numpy as np

from optassign_models.problem import IntArray


def deal_tasks(
    sizes: IntArray, active: IntArray, standby: IntArray, standbys: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Deals each subtopology's places to its tasks, all copies of a task on clients of their own.

    Args:
        sizes: (G,) tasks of each subtopology.
        active, standby: (G, C) places of each client.
        standbys: of each logged task.
        rng: what decides which task comes when, and ties between clients.

    Returns:
        (T,) client of each task's active copy, and (T, standbys) clients of its standbys, −1 where it has none.
    """
    T = int(sizes.sum())
    ends = np.cumsum(sizes)
    actives = np.zeros(T, dtype=np.int64)
    standby_clients = np.full((T, standbys), -1, dtype=np.int64)
    for g, (first, end) in enumerate(pairwise([0, *ends.tolist()])):
        tasks = first + rng.permutation(end - first)
        if not standby[g].any():
            actives[tasks] = np.repeat(np.arange(active.shape[1]), active[g])
        else:
            copies = _Places(active[g], standby[g], rng)
            for task in tasks.tolist():
                actives[task], standby_clients[task] = copies.take_for_task(standbys)
    return actives, standby_clients


class _Places:
    """The places of one subtopology that are still to be dealt, clients with most left at the top of two heaps."""

    def __init__(self, active: IntArray, standby: IntArray, rng: np.random.Generator) -> None:
        self._active, self._standby = active.tolist(), standby.tolist()
        self._left = (active + standby).tolist()
        ties = len(self._left) + 2 * int(active.sum() + standby.sum())
        self._ties = iter(rng.permutation(ties).tolist())
        self._heaps: dict[str, list[Any]] = {"active": [], "standby": []}
        for client in np.flatnonzero(active + standby).tolist():
            self._push(client)

    def take_for_task(self, standbys: int) -> tuple[int, list[int]]:
        """Takes the places of one task and returns its clients: active, standbys."""
        active = self._pop("active", self._active)
        chosen = [self._pop("standby", self._standby, active)]
        while len(chosen) < standbys:
            chosen.append(self._pop("standby", self._standby, active))
        self._active[active] -= 1
        for client in chosen:
            self._standby[client] -= 1
        for client in (active, *chosen):
            self._left[client] -= 1
            self._push(client)
        return active, chosen

    def _push(self, client: int) -> None:
        """Puts a client on the heaps of the roles for which it has places."""
        entry = (-self._left[client], next(self._ties), client)
        if self._active[client]:
            heapq.heappush(self._heaps["active"], entry)
        if self._standby[client]:
            heapq.heappush(self._heaps["standby"], entry)

    def _pop(self, role: str, places: list[int], but: int = -1) -> int:
        """Takes the client with most places left, other than `but`, from the heap of a role."""
        heap = self._heaps[role]
        while True:
            left, _, client = heapq.heappop(heap)
            # An entry is stale where the client has got a copy since, which wrote a new one.
            if -left == self._left[client] and places[client] and client != but:
                return int(client)
