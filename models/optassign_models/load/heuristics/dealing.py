"""Tasks dealt longest first (Graham 1969): of those left the heaviest goes where its client ends up with the least load."""

from __future__ import annotations

import numpy as np

from optassign_models.load.loads import Loads
from optassign_models.problem import IntArray, Placement, Problem, make_placement


def deal_longest_first(loads: Loads, tasks: IntArray, active: IntArray) -> IntArray:
    """(T,) the actives with these tasks dealt onto what the others carry; all other tasks stay where they are.

    An oversized task goes to a thread that is fast enough for it; among equals everything goes to the client of least index.
    Clients that would be left without a task for each thread get the lightest of the tasks dealt.
    """
    active = active.copy()
    active[tasks] = -1
    carried = loads.sum_up(active)
    number = np.bincount(active[active >= 0], minlength=loads.C)
    size, capacity = loads.size[loads.open_clients], loads.capacity[loads.open_clients]
    sums = carried[loads.open_clients]
    missing = np.maximum(loads.least_number[loads.open_clients] - number[loads.open_clients], 0)
    lacking = int(missing.sum())
    order = tasks[np.lexsort((tasks, -loads.weight[tasks], ~loads.is_oversized[tasks]))]
    for place, task in enumerate(order.tolist()):
        weight = loads.weight[task]
        added = np.maximum(weight, capacity) if loads.is_oversized[task] else weight
        ends = (sums + added) / size
        if not loads.has_equal_threads:
            ends = np.maximum(ends, weight / capacity)
        if lacking and len(order) - place <= lacking:
            ends = np.where(missing > 0, ends, np.inf)  # the remaining ones are needed for threads without any
        at = int(np.argmin(ends))
        sums[at] += added[at] if loads.is_oversized[task] else weight
        if missing[at]:
            missing[at] -= 1
            lacking -= 1
        active[task] = loads.open_clients[at]
    return active


def deal_all(loads: Loads) -> IntArray:
    """(T,) all tasks dealt."""
    return deal_longest_first(loads, np.arange(loads.T), np.full(loads.T, -1, dtype=np.int64))


def deal_copies(problem: Problem, loads: Loads) -> Placement:
    """All copies dealt by what they weigh, where standbys weigh something, each to a client without another one of its task."""
    assert loads.standby is not None
    C, T = loads.C, loads.T
    logged = np.flatnonzero(problem.logged)
    task = np.concatenate([np.arange(T), np.repeat(logged, problem.standbys)])
    is_active = np.arange(len(task)) < T
    weight = np.where(is_active, loads.weight[task], loads.standby[task])
    sums = np.zeros(C)
    size = np.where(loads.size > 0, loads.size, 1e-9)  # draining clients come last, and get no actives
    missing = loads.least_number.copy()
    lacking, left = int(missing.sum()), T
    active = np.full(T, -1, dtype=np.int64)
    holders: list[list[int]] = [[] for _ in range(T)]
    keys: list[int] = []
    for item in np.lexsort((task, ~is_active, -weight, ~(is_active & loads.is_oversized[task]))).tolist():
        at, own = int(task[item]), float(weight[item])
        added = np.maximum(own, loads.capacity) if is_active[item] and loads.is_oversized[at] else np.full(C, own)
        ends = np.maximum((sums + added) / size, own / loads.capacity)
        ends[holders[at]] = np.inf
        if is_active[item]:
            ends = np.where(loads.size > 0, ends, np.inf)
            if lacking and left <= lacking and np.any((missing > 0) & np.isfinite(ends)):
                ends = np.where(missing > 0, ends, np.inf)  # the remaining ones are needed for threads without any
            left -= 1
        client = int(np.argmin(ends))
        sums[client] += added[client]
        holders[at].append(client)
        if is_active[item]:
            active[at] = client
            lacking -= bool(missing[client])
            missing[client] = max(0, missing[client] - 1)
        else:
            keys.append(at * C + client)
    return make_placement(active, np.array(keys, dtype=np.int64), C)
