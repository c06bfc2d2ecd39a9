"""Copies of logged tasks, greedily."""

from __future__ import annotations

import numpy as np

from .augment import Exchange
from .first import First
from .problem import LOGGED, BoolArray, IntArray, Problem
from .windows import Window, Windows

_WINDOW = 1 << 42
STATS = {}


def _rank_within(group: IntArray, order: IntArray) -> IntArray:
    """(n,) place of each element among those of its group, in the given order."""
    sorted_group = group[order]
    by_group = np.argsort(sorted_group, kind="stable")
    arranged = sorted_group[by_group]
    start = np.flatnonzero(np.concatenate([[True], arranged[1:] != arranged[:-1]])) if len(arranged) else arranged
    place = np.arange(len(arranged)) - np.repeat(start, np.diff(np.concatenate([start, [len(arranged)]])))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order[by_group]] = place
    return rank


def accept(order: IntArray, left: IntArray, left_room: IntArray, right: IntArray, right_room: IntArray) -> BoolArray:
    """(n,) which pairs a greedy choice in the given order takes, while left and right have room."""
    taken = np.zeros(len(left), dtype=np.bool_)
    alive = order
    while True:
        proposed = alive[_rank_within(left[alive], np.arange(len(alive))) < left_room[left[alive]]]
        kept = _rank_within(right[proposed], np.arange(len(proposed))) < right_room[right[proposed]]
        if kept.all():
            taken[proposed] = True
            return taken
        gone = np.zeros(len(left), dtype=np.bool_)
        gone[proposed[~kept]] = True
        alive = alive[~gone[alive]]


def gains(problem: Problem, first: First) -> tuple[IntArray, IntArray, IntArray, int]:
    """Cost (A,), base (T,), in fine units ≥ 0"""
    free = first.mandatory
    cost = np.where(free, 0, problem.col_cost)
    top = int(max(cost.max(initial=0), problem.pool_cost.max(initial=0)))
    unit = max(1, -(-top // (1 << 30)))
    cold = (problem.col_rank > 0) & ~free
    cost = (cost // unit) * 64 + 16 * cold
    base = (problem.pool_cost // unit) * 64 + 16 * (problem.pool_rank > 0)
    full = problem.pool_size == 0
    most = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(most, problem.col_task, cost)
    base = np.where(full, most, base)
    bonus = 8 * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state
    return cost, base, base[problem.col_task] - cost + bonus, unit


def targets(problem, windows, cell, gain, n_tasks_quota):
    """(G, C) exact numbers of copies."""
    G, C = problem.G, problem.C
    sizes = np.where(problem.kind == LOGGED, np.bincount(problem.group, minlength=G), 0) * (problem.standbys + 1)
    low, high = windows.group_copies.low, windows.group_copies.high
    order = np.lexsort((-gain,))
    rank = _rank_within(cell, order)
    marginal = np.zeros(G * C, dtype=np.int64)
    at_margin = rank == low.ravel()[cell]
    marginal[cell[at_margin]] = gain[at_margin]
    rows = sizes - low.sum(axis=1)
    base = low.sum(axis=0)
    least = np.maximum(windows.copies.low - base, 0)
    most = np.maximum(windows.copies.high - base, 0)
    picks = rounding(high > low, marginal.reshape(G, C), rows, least, most)
    return low + picks


def rounding(optional, gain, rows, least, most):
    G, C = optional.shape
    total = int(rows.sum())
    taken = np.zeros((G, C), dtype=np.bool_)
    if not total:
        return taken
    g, c = np.nonzero(optional & (gain > 0))
    value = gain[g, c]
    order = np.lexsort((-value,))
    sure = accept(order, c, least, g, rows)
    taken[g[sure], c[sure]] = True
    spare = total - int(least.sum())
    if spare > 0:
        more = order[~sure[order]]
        kept = taken.sum(axis=0)
        extra = np.zeros(len(g), dtype=np.bool_)
        sub = accept(np.arange(len(more)), c[more], np.where(kept >= least, most - kept, 0), g[more], rows - taken.sum(axis=1))
        chosen = more[sub][:spare]
        taken[g[chosen], c[chosen]] = True
    # client totals
    held = taken.sum(axis=0)
    goal = np.maximum(least, held)
    spare = total - int(goal.sum())
    if spare > 0:
        room = most - goal
        who = np.lexsort((np.arange(C), held - goal))  # hmm
        while spare > 0 and room.max() > 0:
            who = np.flatnonzero(room > 0)[:spare]
            goal[who] += 1
            room[who] -= 1
            spare -= len(who)
    left = rows - taken.sum(axis=1)
    want = goal - held
    open_ = optional & ~taken
    slack = open_.sum(axis=1) - left
    for row in np.argsort(slack, kind="stable").tolist():
        if left[row] <= 0:
            continue
        can = np.flatnonzero(open_[row] & (want > 0))
        pick = can[np.argsort(-want[can], kind="stable")[: left[row]]]
        taken[row, pick] = True
        want[pick] -= 1
        left[row] -= len(pick)
    STATS["round_left"] = int(left.sum()), int(np.maximum(want, 0).sum()), spare
    e = Exchange()
    hub, rown, coln = e.add_nodes(1), e.add_nodes(G), e.add_nodes(C)
    g, c = np.nonzero(optional)
    e.add_arcs(np.broadcast_to(hub, (G,)), rown, taken.sum(axis=1), window=Window(rows, rows), weight=_WINDOW)
    at = e.add_arcs(rown[g], coln[c], taken[g, c], high=1, cost=-gain[g, c])
    e.add_arcs(coln, np.broadcast_to(hub, (C,)), taken.sum(axis=0), window=Window(least, most), weight=_WINDOW)
    flow = e.improved(hub, 20, 30)
    taken[g, c] = flow[at] > 0
    STATS["round"] = e.stats
    STATS["round_viol"] = int(np.abs(taken.sum(axis=1) - rows).sum()), Window(least, most).excess(taken.sum(axis=0))
    return taken


def copies(problem: Problem, first: First, windows: Windows, improve=(10, 30)):
    G, C, T = problem.G, problem.C, problem.T
    size = problem.standbys + 1
    cost, base, gain, unit = gains(problem, first)
    k = np.flatnonzero(problem.logged[problem.col_task] & (gain > 0))
    task, client, g = problem.col_task[k], problem.col_client[k], gain[k]
    cell = problem.group[task] * C + client
    order = np.lexsort((task, -g))
    within = _rank_within(task, order) < size
    places = targets(problem, windows, cell[within], g[within], None)
    STATS["w"] = windows.group_copies.holds(places), windows.copies.holds(places.sum(axis=0))
    taken = accept(order, task, np.full(T, size), cell, places.ravel())
    # engine
    used = np.bincount(cell[taken], minlength=G * C).reshape(G, C)
    need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    pool_places = places - used
    v0 = int(np.sum(cost[k][taken] // 64)) + int(np.sum((base // 64) * need))
    logged_groups = np.flatnonzero(problem.kind == LOGGED)
    e = Exchange()
    hub, tasks, cells, clients, pools = (e.add_nodes(n) for n in (1, T, G * C, C, G))
    on = e.add_arcs(tasks[task], cells[cell], taken, high=1, cost=cost[k])
    pooled = np.flatnonzero(problem.logged)
    to_pool = e.add_arcs(
        tasks[pooled],
        pools[problem.group[pooled]],
        need[pooled],
        high=np.minimum(size, problem.pool_size[pooled] + 0),
        cost=base[pooled],
    )
    gg, cc = np.repeat(logged_groups, C), np.tile(np.arange(C), len(logged_groups))
    pl = e.add_arcs(pools[gg], cells[gg * C + cc], pool_places[gg, cc])
    e.add_arcs(
        cells[gg * C + cc],
        clients[cc],
        places[gg, cc],
        window=Window(windows.group_copies.low[gg, cc], windows.group_copies.high[gg, cc]),
        weight=_WINDOW,
    )
    e.add_arcs(clients, np.broadcast_to(hub, (C,)), places.sum(axis=0), window=windows.copies, weight=_WINDOW)
    flow = e.improved(hub, *improve)
    STATS["copies"] = e.stats
    taken = flow[on] > 0
    need[pooled] = flow[to_pool]
    v1 = int(np.sum(cost[k][taken] // 64)) + int(np.sum((base // 64) * need))
    return v0 * unit, v1 * unit
