"""Copies of logged tasks, whatever their role, chosen greedily; little restore work comes first.

1. Each client's number of copies of each subtopology is set: the windows rounded to whole numbers, a ceiling where one more
   copy saves most (`_targets`).
2. Columns are taken in the order of what they save over a copy in the pool, while their task and their place last.
3. An exchange on the same network as the flow of copies.py mends what the order cost.
4. The pool's places are dealt out to tasks. Where every pair is a column, a second exchange makes good what R2 cost there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .augment import WINDOW, Exchange
from .first import First
from .problem import LOGGED, BoolArray, IntArray, Problem
from .quotas import auctioned, dealt, rank_within, rounded
from .windows import Window, Windows

_FINE = 1 << 30
"""Restore costs are compared in so many steps from 0 to the greatest."""
_MUST = WINDOW // 2
STATS = {}


@dataclass(frozen=True, eq=False)
class Prices:
    """What copies cost the greedy methods: restore work first, then being cold; offsets scaled down to small integers."""

    column: IntArray
    """(A,)"""
    pool: IntArray
    """(T,) of a copy on a client without a column; without such clients the dearest column."""
    saved: IntArray
    """(A,) by a column over the pool, and a little more where the copy would stay where it was."""

    @classmethod
    def of(cls, problem: Problem, first: First) -> Prices:
        """What R3 to R5 force in this answer is paid already."""
        free = first.mandatory
        cost = np.where(free, 0, problem.col_cost)
        unit = 1 + int(max(cost.max(initial=0), problem.pool_cost.max(initial=0))) // _FINE
        column = cost // unit * 64 + np.where((problem.col_rank > 0) & ~free, 16, 0)
        pool = problem.pool_cost // unit * 64 + np.where(problem.pool_rank > 0, 16, 0)
        dearest = np.zeros(problem.T, dtype=np.int64)
        np.maximum.at(dearest, problem.col_task, column)
        pool = np.where(problem.pool_size > 0, pool, dearest)
        held = 8 * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state
        return cls(column, pool, pool[problem.col_task] - column + held)


def greedy_copies(
    problem: Problem,
    first: First,
    windows: Windows,
    prices: Prices,
    *,
    must: BoolArray,
    allowed: BoolArray,
    pools: BoolArray,
    effort: int,
) -> tuple[IntArray, IntArray]:
    """Keys of the copies, sorted, and the tasks of copies that found no place (nearly always none).

    Args:
        must: (A,) columns that are to be taken.
        allowed: (A,) columns that may be taken.
        pools: (T,) tasks that may use their pool.
        effort: passes of the exchange.
    """
    T, C, G = problem.T, problem.C, problem.G
    size = problem.standbys + 1
    column = np.flatnonzero(problem.logged[problem.col_task] & allowed & ((prices.saved > 0) | must | ~pools[problem.col_task]))
    column = column[np.argsort(-(prices.saved + _MUST * must)[column], kind="stable")]
    task = problem.col_task[column]
    cell = problem.group[task] * C + problem.col_client[column]
    saved = (prices.saved + _MUST * must)[column]
    client = problem.col_client[column]
    won = auctioned(saved, task, size, cell, windows.group_copies.high.ravel(), client, windows.copies.high)
    full = np.bincount(task[won], minlength=T) >= size
    worst = np.full(T, 1 << 61)
    np.minimum.at(worst, task[won], saved[won])
    margin = np.where(won, saved, np.maximum(saved - np.where(full, worst, 0)[task], 0))
    best_first = np.argsort(-margin, kind="stable")
    places = _targets(problem, windows, cell[best_first], margin[best_first])
    taken = auctioned(saved, task, size, cell, places.ravel(), client, places.sum(axis=0))
    dense = not pools.any()
    need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    if not dense:
        taken, need, places = _mended(problem, windows, prices, column, must[column], taken, need, pools, places, effort)
    used = np.bincount(cell[taken], minlength=G * C).reshape(G, C)
    barred = problem.col_keys[~allowed | (prices.column > prices.pool[problem.col_task])]
    keys, lost = _dealt(problem, problem.col_keys[column[taken]], need, places - used, barred)
    return np.sort(keys), lost


def _targets(problem: Problem, windows: Windows, cell: IntArray, saved: IntArray) -> IntArray:
    """(G, C) copies of each subtopology on each client; the candidates come with most saved first."""
    G, C = problem.G, problem.C
    copies = np.where(problem.kind == LOGGED, np.bincount(problem.group, minlength=G), 0) * (problem.standbys + 1)
    low, high = windows.group_copies.low, windows.group_copies.high
    marginal = np.zeros(G * C, dtype=np.int64)
    last = rank_within(cell) == low.ravel()[cell]
    marginal[cell[last]] = saved[last]
    least = np.maximum(windows.copies.low - low.sum(axis=0), 0)
    most = np.maximum(windows.copies.high - low.sum(axis=0), 0)
    return low + rounded(high > low, marginal.reshape(G, C), copies - low.sum(axis=1), least, most)


def _mended(problem, windows, prices, column, must, taken, need, pools, places, effort):
    C, G, T = problem.C, problem.G, problem.T
    task, client = problem.col_task[column], problem.col_client[column]
    cell = problem.group[task] * C + client
    groups = np.flatnonzero(problem.kind == LOGGED)
    pooled = np.flatnonzero(problem.logged)
    room = np.where(pools, problem.C - np.bincount(task, minlength=T), 0)[pooled]
    e = Exchange()
    hub, tasks, cells, clients, pool_nodes = (e.add_nodes(n) for n in (1, T, G * C, C, G))
    on = e.add_arcs(tasks[task], cells[cell], taken, high=1, cost=prices.column[column] - _MUST * must)
    to_pool = e.add_arcs(tasks[pooled], pool_nodes[problem.group[pooled]], np.minimum(need[pooled], room), high=room, cost=prices.pool[pooled])
    none = e.add_arcs(tasks[pooled], pool_nodes[problem.group[pooled]], np.maximum(need[pooled] - room, 0), window=Window(np.zeros(len(pooled),dtype=np.int64), np.zeros(len(pooled),dtype=np.int64)))
    at = (groups[:, None] * C + np.arange(C)).ravel()
    used = np.bincount(cell[taken], minlength=G * C)
    from_pool = e.add_arcs(pool_nodes[at // C], cells[at], places.ravel()[at] - used[at])
    low, high = windows.group_copies.low.ravel()[at], windows.group_copies.high.ravel()[at]
    e.add_arcs(cells[at], clients[at % C], places.ravel()[at], window=Window(low, high))
    e.add_arcs(clients, np.broadcast_to(hub, (C,)), places.sum(axis=0), window=windows.copies)
    flow = e.improved(200_000, effort)
    STATS['mended'] = e.stats
    taken = flow[on] > 0
    need = need.copy()
    need[pooled] = flow[to_pool] + flow[none]
    places = np.bincount(cell[taken], minlength=G * C)
    places[at] += flow[from_pool]
    return taken, need, places.reshape(G, C)


def _dealt(problem: Problem, taken: IntArray, need: IntArray, places: IntArray, barred: IntArray) -> tuple[IntArray, IntArray]:
    C = problem.C
    keys, lost = [taken], [np.zeros(0, dtype=np.int64)]
    shut = np.concatenate([taken, barred])
    shut = np.sort(shut[need[shut // C] > 0])
    for group in np.unique(problem.group[need > 0]).tolist():
        tasks = np.flatnonzero((need > 0) & (problem.group == group))
        some, left = dealt(tasks, need[tasks], places[group], shut[(shut >= tasks[0] * C) & (shut < (tasks[-1] + 1) * C)])
        keys.append(some)
        lost.append(left)
    return np.concatenate(keys), np.concatenate(lost)
