"""Actives chosen greedily: each task one of the clients it may be active on, the windows of actives kept or nearly kept.

A first choice keeps actives where they are and gives the others to clients that lack most; an exchange over the same network as
the flow of actives.py then brings every count into its window, if it finds the way, and saves cold actives and moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .augment import WINDOW, Exchange
from .problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray, Problem
from .quotas import accepted, auctioned, dealt, rank_within, rounded
from .windows import Window, Windows, count

STATS = {}


@dataclass(frozen=True, eq=False)
class Options:
    """Where each task may be active, and what that costs."""

    columns: BoolArray
    """(A,)"""
    pools: BoolArray
    """(T,) any client without a column; for tasks without changelog just any client."""
    cost: IntArray
    """(A,)"""
    pool_cost: IntArray
    """(T,)"""


def excess_of(windows: Windows, problem: Problem, active: IntArray) -> int:
    none = np.zeros(0, dtype=np.int64)
    counts = count(problem, active, none, none)
    return windows.active.excess(counts.active) + windows.stateful.excess(counts.stateful) + windows.group_active.excess(counts.group_active)


def spread(problem: Problem, windows: Windows, options: Options, active: IntArray) -> IntArray:
    """The first choice for tasks with active −1: each the option that adds least excess over ideal counts."""
    C, G = problem.C, problem.G
    active = active.copy()
    waiting = np.flatnonzero((active < 0) & problem.logged)
    units = np.where(problem.draining, 0, problem.units) if not problem.draining.all() else problem.units
    share = units / units.sum()
    sizes = np.bincount(problem.group, minlength=G)
    ideal = np.maximum(sizes[:, None] * share, 1e-9)
    done = np.flatnonzero((active >= 0) & problem.logged)
    over = (np.bincount(problem.group[done] * C + active[done], minlength=G * C) - ideal.ravel())
    logged_cells = np.repeat(problem.kind == LOGGED, C)
    total = np.where(logged_cells, over, 0).reshape(G, C).sum(axis=0)
    cells, totals = over.tolist(), total.tolist()
    columns = np.flatnonzero(options.columns & (active < 0)[problem.col_task] & problem.logged[problem.col_task])
    start = np.searchsorted(problem.col_task[columns], np.arange(problem.T + 1)).tolist()
    clients = problem.col_client[columns].tolist()
    costs = options.cost[columns].tolist()
    group = problem.group.tolist()
    for task in waiting.tolist():
        base = group[task] * C
        best, chosen = None, -1
        for i in range(start[task], start[task + 1]):
            c = clients[i]
            key = (cells[base + c] + totals[c], costs[i])
            if best is None or key < best:
                best, chosen = key, c
        active[task] = chosen
        cells[base + chosen] += 1
        totals[chosen] += 1
    return active


def owners(problem: Problem, options: Options) -> IntArray:
    owner = np.flatnonzero(problem.col_owner & options.columns & problem.logged[problem.col_task])
    active = np.full(problem.T, -1, dtype=np.int64)
    active[problem.col_task[owner[::-1]]] = problem.col_client[owner[::-1]]
    return active


def keep_owners(problem: Problem, windows: Windows, options: Options) -> IntArray:
    """(T,) the clients that keep their actives, smallest tasks first, while windows last; −1 for the others."""
    C = problem.C
    units = np.where(problem.draining, 0, problem.units) if not problem.draining.all() else problem.units
    n = int(problem.logged.sum())
    cap = -(-units.astype(np.float64) * n // units.sum()).astype(np.int64)
    owner = np.flatnonzero(problem.col_owner & options.columns & problem.logged[problem.col_task])
    task, client = problem.col_task[owner], problem.col_client[owner]
    once = rank_within(task) == 0
    owner, task, client = owner[once], task[once], client[once]
    cell = problem.group[task] * C + client
    kept = accepted(np.arange(len(owner)), cell, windows.group_active.high.ravel(), client, np.minimum(cap, windows.stateful.high))
    active = np.full(problem.T, -1, dtype=np.int64)
    active[task[kept]] = client[kept]
    return active


def _up(window: Window, count: IntArray) -> IntArray:
    return np.where(count < window.low, count - window.low, np.maximum(count + 1 - window.high, 0))


def relieved(problem: Problem, options: Options, active: IntArray, cells: Window, clients: list[Window], base: list[IntArray], turns: int) -> IntArray:
    """Moves of single logged tasks that reduce excess, many at once, until there are none."""
    C, G, T = problem.C, problem.G, problem.T
    active = active.copy()
    column = np.flatnonzero(options.columns & problem.logged[problem.col_task])
    task, client = problem.col_task[column], problem.col_client[column]
    open_ = np.bincount(task, minlength=T) > 1
    column, task, client = column[open_[task]], task[open_[task]], client[open_[task]]
    cell = problem.group[task] * C + client
    low_high = Window(cells.low.ravel(), cells.high.ravel())
    own = np.zeros(T, dtype=np.int64)
    cost = options.cost[column]
    n=0
    logged = np.flatnonzero(problem.logged & (active >= 0))
    for _ in range(turns):
        on = active[task] == client
        own[task[on]] = cost[on]
        in_cells = np.bincount(problem.group[logged] * C + active[logged], minlength=G * C)
        in_clients = np.bincount(active[logged], minlength=C)
        up = _up(low_high, in_cells)
        down = _up(low_high, in_cells - 1)
        up_c = sum(_up(w, in_clients + b) for w, b in zip(clients, base))
        down_c = sum(_up(w, in_clients + b - 1) for w, b in zip(clients, base))
        here = problem.group[task] * C + active[task]
        change = up[cell] + up_c[client] - down[here] - down_c[active[task]]
        move = np.flatnonzero(~on & (change < 0))
        if not len(move):
            break
        move = move[np.lexsort(((cost - own[task])[move], change[move]))]
        source, goal = active[task[move]], client[move]
        sel = accepted(np.arange(len(move)), source, np.ones(C, dtype=np.int64), goal, np.ones(C, dtype=np.int64))
        giving = np.zeros(C, dtype=np.bool_)
        giving[source[sel]] = True
        first = sel & ~giving[goal]
        if not first.any():
            first = sel & (np.cumsum(sel) == 1)
        active[task[move[first]]] = client[move[first]]
        n+=int(first.sum())
    STATS['relieved'] = (_, n)
    return active


def ideal(problem: Problem) -> Window:
    units = np.where(problem.draining, 0, problem.units) if not problem.draining.all() else problem.units
    share = units.astype(np.float64) * int(problem.logged.sum()) / units.sum()
    return Window(np.floor(share).astype(np.int64), np.ceil(share).astype(np.int64))


def loose_actives(problem: Problem, windows: Windows, active: IntArray) -> IntArray:
    """Actives of tasks without changelog, given those with: rounded to the windows, owners first, the rest dealt out."""
    C, G = problem.C, problem.G
    active = active.copy()
    low, high = windows.group_active.low, windows.group_active.high
    sizes = np.bincount(problem.group, minlength=G)
    held = np.bincount(active[active >= 0], minlength=C)
    for kind, window in ((UNLOGGED, windows.stateful), (STATELESS, windows.active)):
        groups = np.flatnonzero(problem.kind == kind)
        if not len(groups):
            continue
        owner = np.flatnonzero(problem.col_owner & (problem.kind[problem.group[problem.col_task]] == kind))
        owner = owner[rank_within(problem.col_task[owner]) == 0]
        task, client = problem.col_task[owner], problem.col_client[owner]
        cell = np.searchsorted(groups, problem.group[task]) * C + client
        nth = rank_within(cell)
        gain = np.bincount(cell[nth == low[groups].ravel()[cell]], minlength=len(groups) * C).reshape(-1, C)
        base = held + low[groups].sum(axis=0)
        places = low[groups] + rounded(
            high[groups] > low[groups], gain, sizes[groups] - low[groups].sum(axis=1),
            np.maximum(window.low - base, 0), np.maximum(window.high - base, 0),
        )
        held = held + places.sum(axis=0)
        stays = nth < places.ravel()[cell]
        active[task[stays]] = client[stays]
        left = places.ravel() - np.bincount(cell[stays], minlength=len(groups) * C)
        for i, group in enumerate(groups.tolist()):
            tasks = np.flatnonzero((problem.group == group) & (active < 0))
            keys, lost = dealt(tasks, np.ones(len(tasks), dtype=np.int64), left[i * C : (i + 1) * C], tasks[:0])
            active[keys // C] = keys % C
            active[lost] = np.argmax(units_of(problem))
    return active

def units_of(problem):
    return np.where(problem.draining, 0, problem.units)


def settled(problem: Problem, windows: Windows, options: Options, active: IntArray, logged_window: Window | None, rounds: int, effort: int) -> IntArray:
    """The actives after an exchange that brings them into the windows and saves cost."""
    C, G, T = problem.C, problem.G, problem.T
    column = np.flatnonzero(options.columns)
    task, client = problem.col_task[column], problem.col_client[column]
    number = np.bincount(task, minlength=T) + np.where(options.pools, 2, 0)
    open_ = number > 1
    column, task, client = column[open_[task]], task[open_[task]], client[open_[task]]
    if not len(column) and not options.pools.any():
        return active
    on_now = active[task] == client
    pooled = np.flatnonzero(options.pools)
    in_pool = np.ones(T, dtype=np.bool_)
    in_pool[task[on_now]] = False
    in_pool &= options.pools
    pool_groups = np.unique(problem.group[pooled])
    cell = problem.group[task] * C + client
    pool_cells = (pool_groups[:, None] * C + np.arange(C)).ravel()
    cells_used = np.unique(np.concatenate([cell, pool_cells]))
    counts = count(problem, active, T * 0 + np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    e = Exchange()
    hub, tasks, cells, pools = e.add_nodes(1), e.add_nodes(T), e.add_nodes(len(cells_used)), e.add_nodes(G)
    logged, stateful, clients = e.add_nodes(C), e.add_nodes(C), e.add_nodes(C)
    on = e.add_arcs(tasks[task], cells[np.searchsorted(cells_used, cell)], on_now, high=1, cost=options.cost[column])
    to_pool = e.add_arcs(tasks[pooled], pools[problem.group[pooled]], in_pool[pooled], high=1, cost=options.pool_cost[pooled])
    inside = np.bincount((problem.group * C + active)[in_pool], minlength=G * C)
    from_pool = e.add_arcs(pools[pool_cells // C], cells[np.searchsorted(cells_used, pool_cells)], inside[pool_cells])
    window = Window(windows.group_active.low.ravel()[cells_used], windows.group_active.high.ravel()[cells_used])
    level = np.stack([clients, stateful, logged])[problem.kind]
    e.add_arcs(cells, level.ravel()[cells_used], counts.group_active.ravel()[cells_used], window=window)
    in_logged = counts.group_active[problem.kind == LOGGED].sum(axis=0)
    e.add_arcs(logged, stateful, in_logged, window=logged_window)
    e.add_arcs(stateful, clients, counts.stateful, window=windows.stateful)
    e.add_arcs(clients, np.broadcast_to(hub, (C,)), counts.active, window=windows.active)
    flow = e.improved(200_000, effort)
    STATS['settled'] = e.stats
    active = active.copy()
    taken = flow[on] > 0
    active[task[taken]] = client[taken]
    waits = np.zeros(T, dtype=np.bool_)
    waits[pooled] = flow[to_pool] > 0
    places = np.zeros(G * C, dtype=np.int64)
    places[pool_cells] = flow[from_pool]
    # those in pools who may stay
    stay = np.flatnonzero(waits & in_pool)
    at = problem.group[stay] * C + active[stay]
    kept = rank_within(at) < places[at]
    places -= np.bincount(at[kept], minlength=G * C)
    waits[stay[kept]] = False
    for group in np.unique(problem.group[waits]).tolist():
        waiting = np.flatnonzero(waits & (problem.group == group))
        forbidden = problem.col_keys[problem.col_start[waiting[0]]: problem.col_start[waiting[-1] + 1]] if problem.kind[group] == LOGGED else waiting[:0]
        keys, lost = dealt(waiting, np.ones(len(waiting), dtype=np.int64), places[group * C : (group + 1) * C], forbidden)
        active[keys // C] = keys % C
        # lost: keep as before (still valid)
    return active
