"""Standbys for given actives: the cheapest clients to restore, then the previous ones, then the clients with fewest copies."""

from __future__ import annotations

import heapq

import numpy as np

from optassign_models.forced import Forced
from optassign_models.load.loads import Loads
from optassign_models.problem import IntArray, Placement, Problem, make_placement


def place_standbys(problem: Problem, forced: Forced, loads: Loads, active: IntArray) -> Placement:
    """A placement with these actives (T,); each logged task's standbys by themselves (R2, R4), draining clients last."""
    C, n = problem.C, problem.standbys
    logged = np.flatnonzero(problem.logged)
    if not n or not len(logged):
        return make_placement(active, np.zeros(0, dtype=np.int64), C)
    cost = np.where(forced.mandatory, 0, problem.col_cost)
    order = np.lexsort((problem.col_client, problem.col_lag, ~problem.col_standby, cost, problem.col_task))
    order = order[loads.size[problem.col_client[order]] > 0]
    start = np.searchsorted(problem.col_task[order], np.arange(problem.T + 1))
    number = np.bincount(active[logged], minlength=C).astype(np.float64)
    size = np.where(loads.size > 0, loads.size, 1e-9)  # draining clients come last
    given: list[int] = []
    waiting: list[tuple[int, int, set[int]]] = []
    for task in logged.tolist():
        own = order[start[task] : start[task + 1]]
        own = own[problem.col_client[own] != active[task]]
        cheap = own[cost[own] < problem.pool_cost[task]][:n]
        clients = problem.col_client[cheap].tolist()
        given.extend(task * C + client for client in clients)
        number[clients] += 1
        if len(clients) < n:
            waiting.append((task, n - len(clients), {*clients, int(active[task])}))
    heap = [(float(number[c] / size[c]), c) for c in range(C)]
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
            number[client] += 1
            passed.append((float(number[client] / size[client]), client))
            without.add(client)
            missing -= 1
        for entry in passed:
            heapq.heappush(heap, entry)
    return make_placement(active, np.array(given, dtype=np.int64), C)
