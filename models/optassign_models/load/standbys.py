"""Standbys for given actives: on the cheapest client to restore, then on the previous one, then where clients carry least.

Clients carry copies or, where standbys weigh something, weight. Then the heaviest standbys come first, and a client without
room gets none that is cheap there.
"""

from __future__ import annotations

import heapq

import numpy as np

from optassign_models.forced import Forced
from optassign_models.load.loads import LoadArrays
from optassign_models.problem import IntArray, Placement, Problem, make_placement


def place_standbys(problem: Problem, forced: Forced, loads: LoadArrays, active: IntArray, level: float) -> Placement:
    """Return the placement with these actives (T,) and the standbys of each logged task (R2, R4), on draining clients last.

    level: the load, in even spreads, up to which a client has room.
    """
    C, n = problem.C, problem.standbys
    logged = np.flatnonzero(problem.logged)
    if not n or not len(logged):
        return make_placement(active, np.zeros(0, dtype=np.int64), C)
    cost = np.where(forced.mandatory, 0, problem.col_cost)
    order = np.lexsort((problem.col_client, problem.col_lag, ~problem.col_standby, cost, problem.col_task))
    order = order[loads.size[problem.col_client[order]] > 0]
    start = np.searchsorted(problem.col_task[order], np.arange(problem.T + 1))
    if loads.standby is None:
        weight, room = np.ones(problem.T), np.full(C, np.inf)
        carried = np.bincount(active[logged], minlength=C).astype(np.float64)
    else:
        weight, room, carried = loads.standby, loads.measure_room(level), loads.sum_up(active)
        logged = logged[np.argsort(-weight[logged], kind="stable")]
    size = np.where(loads.size > 0, loads.size, 1e-9)
    given: list[int] = []
    waiting: list[tuple[int, int, set[int]]] = []
    for task in logged.tolist():
        own = order[start[task] : start[task + 1]]
        own = own[(problem.col_client[own] != active[task]) & (cost[own] < problem.pool_cost[task])]
        clients = problem.col_client[own]
        clients = clients[carried[clients] + weight[task] <= room[clients]][:n]
        given.extend((task * C + clients).tolist())
        carried[clients] += weight[task]
        if len(clients) < n:
            waiting.append((task, n - len(clients), {*clients.tolist(), int(active[task])}))
    heap = [(float(carried[c] / size[c]), c) for c in range(C)]
    heapq.heapify(heap)
    for task, missing, without in waiting:
        passed = []
        while missing:
            entry = heapq.heappop(heap)
            client = entry[1]
            if client in without:
                passed.append(entry)
                continue
            given.append(task * C + client)
            carried[client] += weight[task]
            passed.append((float(carried[client] / size[client]), client))
            without.add(client)
            missing -= 1
        for entry in passed:
            heapq.heappush(heap, entry)
    return make_placement(active, np.array(given, dtype=np.int64), C)
