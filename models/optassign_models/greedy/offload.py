"""Offload without a solver: from clients with too many active tasks to those with room, the cheapest moves first.

1. Stateless tasks back to owners that have room: that is no extra move.
2. Stateless tasks to the clients with most room.
3. Logged tasks to caught-up standbys on clients with room.
"""

from __future__ import annotations

import heapq

import numpy as np

from optassign_models.offload import OffloadOptions, Price
from optassign_models.problem import BoolArray, IntArray
from optassign_models.shares import Shares


def find_greedy_offload(options: OffloadOptions, shares: Shares, price: Price) -> IntArray:
    """Actives (T,) of no greater value than those without offload."""
    problem, high = options.problem, shares.active.high
    active = options.start.copy()
    room = high - np.bincount(active, minlength=problem.C)
    at = problem.find(np.arange(problem.T) * problem.C + active)
    paid = np.where(at >= 0, options.cost.columns[np.maximum(at, 0)] if len(options.cost.columns) else 0, options.cost.pools)
    stateless = options.columns & options.pools[problem.col_task]
    _move_on_columns(options, stateless & problem.col_owner, price, paid, active, room)
    _move_to_pools(options, price, paid, active, room)
    _move_on_columns(options, options.columns & ~stateless, price, paid, active, room)
    return active


def _move_on_columns(
    options: OffloadOptions, columns: BoolArray, price: Price, paid: IntArray, active: IntArray, room: IntArray
) -> None:
    """In place: tasks from clients without room to those of their columns that have some, cheapest first."""
    problem = options.problem
    column = np.flatnonzero(columns & (room[active[problem.col_task]] < 0) & (room[problem.col_client] > 0))
    extra = options.cost.columns[column] - paid[problem.col_task[column]]
    for k in np.lexsort((column, room[active[problem.col_task[column]]], extra)).tolist():
        t, c = int(problem.col_task[column[k]]), int(problem.col_client[column[k]])
        if extra[k] < price.imbalance and room[active[t]] < 0 < room[c] and active[t] == options.start[t]:
            room[active[t]] += 1
            room[c] -= 1
            active[t] = c
            paid[t] += extra[k]


def _move_to_pools(options: OffloadOptions, price: Price, paid: IntArray, active: IntArray, room: IntArray) -> None:
    """In place: stateless tasks from clients without room to clients with most room, cheapest first."""
    task = np.flatnonzero(options.pools & (room[active] < 0))
    extra = options.cost.pools[task] - paid[task]
    most = [(-int(room[c]), c) for c in np.flatnonzero(room > 0).tolist()]
    heapq.heapify(most)
    for k in np.lexsort((-task, room[active[task]], extra)).tolist():
        t = int(task[k])
        if not most or extra[k] >= price.imbalance:
            break
        if room[active[t]] < 0:
            left, c = heapq.heappop(most)
            room[active[t]] += 1
            room[c] -= 1
            active[t] = c
            if left + 1 < 0:
                heapq.heappush(most, (left + 1, c))
