"""Actives chosen greedily: each task on one of the clients where it may be active, in the windows of actives or near them.

1. Tasks with changelog: an auction in which a place is worth more where the task is caught up and was active before.
2. What is outside of a window after that is mended by an exchange over the network of the flow in actives.py.
3. Tasks without changelog fill what is left of the windows: owners first, the rest dealt out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optassign.models.greedy.augment import Exchange
from optassign.models.greedy.quotas import auction_pairs, deal_places, rank_within
from optassign.models.greedy.rounding import round_cells
from optassign.models.problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray, Problem
from optassign.models.windows import Window, Windows, count_actives

_COLD, _MOVED, _LOST, _EARLY = 1 << 28, 1 << 20, 1 << 18, 1 << 17
"""Costs of an active that is not caught up, of one that moves, of a standby lost by it, and at most of an early task moved."""
_EFFORT, _SMALL = 400_000, 10_000
"""Arcs to look at for saving costs, and how many arcs there may be for costs to be saved at all."""
_TURNS = 100
"""Turns of moving single tasks; mostly some ten are enough."""


@dataclass(frozen=True, eq=False)
class ActiveOptions:
    """Where each task may be active, and what that costs."""

    columns: BoolArray
    """(A,)"""
    pools: BoolArray
    """(T,) on any client without a column that it may use; a task without changelog on any other client."""
    cost: IntArray
    """(A,)"""
    pool_cost: IntArray
    """(T,)"""

    @classmethod
    def of(cls, problem: Problem, columns: BoolArray, pools: BoolArray) -> ActiveOptions:
        """Cold actives cost most, then moves; a client keeps its smallest tasks."""
        T, task = problem.T, problem.col_task
        moved = np.where(problem.has_owner, _MOVED + (T - np.arange(T)) * _EARLY // max(T, 1), 0)
        cold = problem.logged[task] & (problem.col_rank > 0)
        lost = problem.col_standby & ~problem.col_owner
        cost = _COLD * cold + np.where(problem.col_owner, 0, moved[task]) + _LOST * lost
        return cls(columns, pools, cost, _COLD * (problem.logged & (problem.pool_rank > 0)) + moved)

    def after(self, cost: IntArray, pool_cost: IntArray) -> ActiveOptions:
        """The same options where other costs come first; of the old ones, moves are still seen."""
        return replace(
            self, cost=4 * cost + self.cost % _COLD // _MOVED, pool_cost=4 * pool_cost + self.pool_cost % _COLD // _MOVED
        )


def compute_active_shares(problem: Problem) -> npt.NDArray[np.float64]:
    """(C,) each client's share of the actives."""
    units = problem.units if problem.draining.all() else np.where(problem.draining, 0, problem.units)
    share: npt.NDArray[np.float64] = units / units.sum()
    return share


def _ideal(problem: Problem) -> Window:
    """(C,) floor and ceiling of each client's share of the tasks with changelog: no window of the rules, but where their
    actives are in it, those of other tasks nearly always fit in."""
    share = compute_active_shares(problem) * int(problem.logged.sum())
    return Window(np.floor(share + 1e-9).astype(np.int64), np.ceil(share - 1e-9).astype(np.int64))


def are_in_windows(problem: Problem, windows: Windows, active: IntArray) -> bool:
    """Whether the three families of actives are in their windows."""
    counts = count_actives(problem, active)
    return (
        windows.active.holds(counts.active)
        and windows.stateful.holds(counts.stateful)
        and windows.group_active.holds(counts.group_active)
    )


def choose_cheapest(problem: Problem, options: ActiveOptions) -> IntArray:
    """(T,) the cheapest column of each task, of equals the first; −1 for tasks without."""
    column = np.flatnonzero(options.columns)
    column = column[np.lexsort((options.cost[column], problem.col_task[column]))]
    column = column[rank_within(problem.col_task[column]) == 0]
    active = np.full(problem.T, -1, dtype=np.int64)
    active[problem.col_task[column]] = problem.col_client[column]
    return active


def choose_logged_actives(problem: Problem, windows: Windows, options: ActiveOptions) -> IntArray:
    """(T,) actives of tasks with changelog on their columns, of which each must have one; −1 for tasks without changelog."""
    C, ideal = problem.C, _ideal(problem)
    logged = (problem.kind == LOGGED)[:, None]
    active = np.where(problem.logged, choose_cheapest(problem, options), -1)
    number = count_actives(problem, active).group_active
    if windows.group_active.holds(np.where(logged, number, windows.group_active.low)) and ideal.holds(number.sum(axis=0)):
        return active
    # The smallest tasks stand first, and so stay where they are among equals. Where no task cares, there is nothing to bid for.
    column = np.flatnonzero(options.columns & problem.logged[problem.col_task])
    task, client, cost = problem.col_task[column], problem.col_client[column], options.cost[column]
    cell = problem.group[task] * C + client
    worth = 256 - 64 * (cost >= _COLD) - 16 * (cost % _COLD >= _MOVED)
    taken = np.zeros(len(column), dtype=np.bool_)
    if np.any(worth != worth[np.searchsorted(task, task)]):
        least = np.zeros(problem.T, dtype=np.int64)
        taken = auction_pairs(worth, task, 1, least, cell, windows.group_active.high.ravel(), client, ideal.high)
    active[:] = -1
    active[task[taken]] = client[taken]
    _spread(problem, options, active)
    return settle_actives(problem, windows, options, active, ideal)


def _spread(problem: Problem, options: ActiveOptions, active: IntArray) -> None:
    """In place: tasks that are left take the cheapest, then the least loaded of their columns."""
    waiting = problem.logged & (active < 0)
    if not waiting.any():
        return
    counts = count_actives(problem, np.where(problem.logged, active, -1))
    over = counts.group_active - np.bincount(problem.group, minlength=problem.G)[:, None] * compute_active_shares(problem)
    in_cell, on_client = over.tolist(), over[problem.kind == LOGGED].sum(axis=0).tolist()
    column = np.flatnonzero(options.columns & waiting[problem.col_task])
    bounds = np.searchsorted(problem.col_task[column], np.flatnonzero(waiting)).tolist()
    clients, costs = problem.col_client[column].tolist(), (options.cost[column] // _MOVED).tolist()
    for task, begin, end in zip(np.flatnonzero(waiting).tolist(), bounds, [*bounds[1:], len(column)], strict=True):
        of_group = in_cell[problem.group[task]]
        _, _, client = min((costs[i], of_group[clients[i]] + on_client[clients[i]], clients[i]) for i in range(begin, end))
        active[task] = client
        of_group[client] += 1
        on_client[client] += 1


def fill_unlogged(problem: Problem, windows: Windows, active: IntArray) -> IntArray:
    """Actives of tasks without changelog beside those with: first the stateful ones, each kind rounded to what is left of its
    windows."""
    C, share = problem.C, compute_active_shares(problem)
    active = np.where(problem.logged, active, -1)
    low, high = windows.group_active.low, windows.group_active.high
    sizes = np.bincount(problem.group, minlength=problem.G)
    held = np.bincount(active[active >= 0], minlength=C)
    for kind, window in ((UNLOGGED, windows.stateful), (STATELESS, windows.active)):
        groups = np.flatnonzero(problem.kind == kind)
        if not len(groups):
            continue
        owner = np.flatnonzero(problem.col_owner & (problem.kind[problem.group[problem.col_task]] == kind))
        owner = owner[rank_within(problem.col_task[owner]) == 0]
        task, client = problem.col_task[owner], problem.col_client[owner]
        cell = np.searchsorted(groups, problem.group[task]) * C + client
        place, least, rows = rank_within(cell), low[groups], len(groups)
        gain = np.bincount(cell[place == least.ravel()[cell]], minlength=rows * C).reshape(rows, C)
        fixed = held + least.sum(axis=0)
        room = np.maximum(window.low - fixed, 0), np.maximum(window.high - fixed, 0)
        places = least + round_cells(high[groups] > least, gain, sizes[groups] - least.sum(axis=1), *room)
        held = held + places.sum(axis=0)
        stays = place < places.ravel()[cell]
        active[task[stays]] = client[stays]
        left = places.ravel() - np.bincount(cell[stays], minlength=rows * C)
        for row, group in enumerate(groups.tolist()):
            tasks = np.flatnonzero((problem.group == group) & (active < 0))
            keys, lost = deal_places(tasks, np.ones_like(tasks), left[row * C : (row + 1) * C], tasks[:0])
            active[keys // C] = keys % C
            for without_place in lost.tolist():
                active[without_place] = np.argmin(np.where(share > 0, held, problem.T))
                held[active[without_place]] += 1
    return active


def finish_actives(problem: Problem, windows: Windows, options: ActiveOptions, active: IntArray) -> IntArray:
    """The actives after what is left to do: windows that are missed and, where the problem is small, costs."""
    if are_in_windows(problem, windows, active):
        arcs = int(options.columns.sum()) + int(options.pools.sum()) + problem.G * problem.C
        if arcs > _SMALL or np.array_equal(active[problem.logged], choose_cheapest(problem, options)[problem.logged]):
            return active
    return settle_actives(problem, windows, options, active)


def settle_actives(
    problem: Problem, windows: Windows, options: ActiveOptions, active: IntArray, alone: Window | None = None
) -> IntArray:
    """The actives after an exchange that brings them into their windows and, where the problem is small, saves cost.

    alone: window (C,) of the tasks with changelog, which then are the only ones looked at, and no cost is saved.
    """
    T, C, G = problem.T, problem.C, problem.G
    scope = np.ones(T, dtype=np.bool_) if alone is None else problem.logged
    pools = options.pools & scope
    column = np.flatnonzero(options.columns & scope[problem.col_task])
    number = np.bincount(problem.col_task[column], minlength=T) + np.where(pools, 2, 0)
    column = column[number[problem.col_task[column]] > 1]
    if not len(column) and not pools.any():
        return active
    task, client = problem.col_task[column], problem.col_client[column]
    cell = problem.group[task] * C + client
    here = active[task] == client
    in_pool = pools.copy()
    in_pool[task[here]] = False
    pooled = np.flatnonzero(pools)
    pool_cells = (np.unique(problem.group[pooled])[:, None] * C + np.arange(C)).ravel()
    cells = np.unique(np.concatenate([cell, pool_cells]))
    counts = count_actives(problem, active)

    net = Exchange()
    sizes = (1, T, len(cells), G, C, C, C)
    hub, task_nodes, cell_nodes, pool_nodes, logged, stateful, clients = (net.add_nodes(n) for n in sizes)
    cost = options.cost[column]
    on = net.add_arcs(task_nodes[task], cell_nodes[np.searchsorted(cells, cell)], here, high=1, cost=cost)
    cost = options.pool_cost[pooled]
    to_pool = net.add_arcs(task_nodes[pooled], pool_nodes[problem.group[pooled]], in_pool[pooled], high=1, cost=cost)
    inside = np.bincount((problem.group * C + active)[in_pool], minlength=G * C)[pool_cells]
    from_pool = net.add_arcs(pool_nodes[pool_cells // C], cell_nodes[np.searchsorted(cells, pool_cells)], inside)
    level = np.stack([clients, stateful, logged])[problem.kind].ravel()[cells]
    window = Window(windows.group_active.low.ravel()[cells], windows.group_active.high.ravel()[cells])
    net.add_arcs(cell_nodes, level, counts.group_active.ravel()[cells], window=window)
    in_logged = counts.group_active[problem.kind == LOGGED].sum(axis=0)
    if alone is not None:
        net.add_arcs(logged, np.repeat(hub, C), in_logged, window=alone)
    else:
        net.add_arcs(logged, stateful, in_logged, window=None if problem.standbys else windows.copies)
        net.add_arcs(stateful, clients, counts.stateful, window=windows.stateful)
        net.add_arcs(clients, np.repeat(hub, C), counts.active, window=windows.active)
    flow = net.improved(_EFFORT if alone is None and net.arcs <= _SMALL else 0)

    active = active.copy()
    taken = flow[on] > 0
    active[task[taken]] = client[taken]
    waiting = np.zeros(T, dtype=np.bool_)
    waiting[pooled] = flow[to_pool] > 0
    places = np.zeros(G * C, dtype=np.int64)
    places[pool_cells] = flow[from_pool]
    _deal_pools(problem, active, waiting, waiting & in_pool, places)
    return active


def _deal_pools(problem: Problem, active: IntArray, waiting: BoolArray, may_stay: BoolArray, places: IntArray) -> None:
    """In place: tasks that use their pool stay on their client while its places (G × C,) last; the others get what is left."""
    C = problem.C
    stay = np.flatnonzero(may_stay)
    cell = problem.group[stay] * C + active[stay]
    kept = rank_within(cell) < places[cell]
    places -= np.bincount(cell[kept], minlength=len(places))
    waiting[stay[kept]] = False
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = np.flatnonzero(waiting & (problem.group == group))
        taken = tasks[:0]
        if problem.kind[group] == LOGGED:
            taken = problem.col_keys[problem.col_start[tasks[0]] : problem.col_start[tasks[-1] + 1]]
        keys, _ = deal_places(tasks, np.ones_like(tasks), places[group * C : (group + 1) * C], taken)
        active[keys // C] = keys % C


def relieve_excess(problem: Problem, windows: Windows, options: ActiveOptions, active: IntArray) -> IntArray:
    """Moves of single tasks that lessen the excess, or keep it and save cost, many at once, until there are none."""
    T, C = problem.T, problem.C
    active = active.copy()
    column = np.flatnonzero(options.columns)
    number = np.bincount(problem.col_task[column], minlength=T)
    column = column[number[problem.col_task[column]] > 1]
    task, client, cost = problem.col_task[column], problem.col_client[column], options.cost[column]
    group, stateful = problem.group[task], (problem.kind != STATELESS)[problem.group[task]]
    own = np.zeros(T, dtype=np.int64)
    for _ in range(_TURNS):
        counts = count_actives(problem, active)
        here, source = active[task] == client, active[task]
        own[task[here]] = cost[here]
        more, less = _steps(windows.group_active, counts.group_active)
        change = more[group, client] - less[group, source]
        for window, on_client, weight in (
            (windows.stateful, counts.stateful, stateful),
            (windows.active, counts.active, np.ones_like(stateful)),
        ):
            more, less = _steps(window, on_client)
            change += weight * (more[client] - less[source])
        move = np.flatnonzero(~here & ((change < 0) | ((change == 0) & (cost < own[task]))))
        if not len(move):
            break
        move = move[np.lexsort(((cost - own[task])[move], change[move]))]
        # Each move makes the next one between the same clients less worth: by one on each side of up to three windows.
        gives, takes = np.ones(C, dtype=np.int64), np.ones(C, dtype=np.int64)
        np.maximum.at(gives, source[move], -change[move] // 8)
        np.maximum.at(takes, client[move], -change[move] // 8)
        moving = rank_within(source[move]) < gives[source[move]]
        moving[moving] = rank_within(client[move[moving]]) < takes[client[move[moving]]]
        # A client that both gave and took would be counted wrong; the first move always goes.
        giver = np.zeros(C, dtype=np.bool_)
        giver[source[move[moving]]] = True
        moving &= ~giver[client[move]]
        move = move[moving] if moving.any() else move[:1]
        active[task[move]] = client[move]
    return active


def _steps(window: Window, number: IntArray) -> tuple[IntArray, IntArray]:
    """What one more adds to the excess e (e + 1) / 2, and what one less saves."""

    def step(number: IntArray) -> IntArray:
        return np.where(number < window.low, number - window.low, np.maximum(number + 1 - window.high, 0))

    return step(number), step(number - 1)
