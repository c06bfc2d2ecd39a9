"""Copies of logged tasks, whatever their role, chosen greedily; little restore work comes first.

1. An auction finds the columns that save most restore work over a copy in the pool.
2. Each client's number of copies of each subtopology is set: its window rounded to a whole number, the ceiling where one more
   copy saves most. A second auction keeps to these numbers.
3. An exchange on the same network as the flow of copies.py mends what is left.
4. The pool's places are dealt out to tasks. Where every pair is a column, the exchange comes last: R2 is then part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .augment import WINDOW, Exchange
from .first import First
from .problem import LOGGED, BoolArray, IntArray, Problem
from .quotas import auctioned, dealt, rank_within, rounded
from .swaps import swapped
from .windows import Window, Windows

_FINE = 1 << 30
"""Restore costs are compared in so many steps from 0 to the greatest."""
_MUST = 1 << 41
_EFFORT = 400_000
_FEW = 16
_MANY = 4_000
"""Columns beyond which swaps between pairs of clients come before the exchange, which is slow to improve many copies."""
_SMALL = 30_000
"""Arcs up to which the exchange also saves costs: beyond, it gains little for its time."""


@dataclass(frozen=True, eq=False)
class Prices:
    """What copies cost the greedy methods: restore work first, then being cold; offsets scaled down to small integers.

    Where R5 forces copies on tied clients that are not caught up, so many copies on tied clients are `free`.
    """

    column: IntArray
    """(A,)"""
    pool: IntArray
    """(T,) of a copy on a client without a column; where there is none, as the dearest column."""
    tied: BoolArray
    """(A,) such a tied client."""
    pool_tied: BoolArray
    """(T,) the pool's clients are such."""
    free: IntArray
    """(T,)"""
    tie: IntArray
    """(T,) price of the further ones."""
    saved: IntArray
    """(A,) by a column over the pool, and a little more where the copy would stay where it was."""

    @classmethod
    def of(cls, problem: Problem, first: First) -> Prices:
        """The prices of a plan: what R3 to R5 force in this answer is paid already."""
        task = problem.col_task
        cost = np.where(first.mandatory, 0, problem.col_cost)
        unit = 1 + int(max(cost.max(initial=0), problem.pool_cost.max(initial=0))) // _FINE
        column = cost // unit * 64 + np.where((problem.col_rank > 0) & ~first.mandatory, 16, 0)
        pool = problem.pool_cost // unit * 64 + np.where(problem.pool_rank > 0, 16, 0)
        dearest = np.zeros(problem.T, dtype=np.int64)
        np.maximum.at(dearest, task, column)
        pool = np.where(problem.pool_size > 0, pool, dearest)
        tied, pool_tied = first.tied & first.tie_cold[task], first.pool_tied & first.tie_cold
        free = np.where(first.tie_cold, first.choices, 0)
        # The auction knows a price for each column only: some of the tied ones are free, the others are not. Where the pool is
        # tied, it has the free places, and nothing is saved by columns that are not forced.
        some = np.flatnonzero(tied & ~pool_tied[task])
        turn = (problem.col_client[some] - task[some]) % problem.C
        some = some[np.lexsort((turn, -_held(problem)[some], task[some]))]
        paid = column.copy()
        paid[some[rank_within(task[some]) < free[task[some]]]] = 0
        over = np.where(pool_tied[task] & ~first.mandatory, 0, pool[task])
        over = np.where(pool_tied[task] & tied, pool[task], over)
        tie = first.tie_cost // unit * 64 + 16
        return cls(column, pool, tied, pool_tied, free, tie, over - paid + _held(problem))

    @classmethod
    def none(cls, problem: Problem) -> Prices:
        """Nothing costs anything; columns are liked better than the pool, and best where the copy was before."""
        zero = np.zeros(len(problem.col_task), dtype=np.int64)
        no = np.zeros(problem.T, dtype=np.int64)
        return cls(zero, no, zero > 0, no > 0, no, no, 1 + _held(problem))


def _held(problem: Problem) -> IntArray:
    return 8 * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state


@dataclass(frozen=True, eq=False)
class Choice:
    """Where copies may be."""

    must: BoolArray
    """(A,) columns to be taken before all others."""
    allowed: BoolArray
    """(A,) columns that may be taken."""
    pools: BoolArray
    """(T,) tasks that may use their pool."""

    @classmethod
    def of_plan(cls, problem: Problem, must: BoolArray | None = None) -> Choice:
        """Anywhere."""
        none = np.zeros(len(problem.col_task), dtype=np.bool_)
        return cls(none if must is None else must, problem.logged[problem.col_task], problem.logged & (problem.pool_size > 0))

    @classmethod
    def of_now(cls, problem: Problem, first: First, must: BoolArray | None = None) -> Choice:
        """What R5 allows in this rebalance."""
        taken = first.mandatory if must is None else first.mandatory | must
        return cls(taken, first.mandatory | first.tied, first.pool_tied)


@dataclass
class _Copies:
    """Candidates and what is taken of them."""

    column: IntArray
    """(n,) columns, most saved first."""
    task: IntArray
    cell: IntArray
    """(n,) subtopology × C + client."""
    taken: BoolArray
    room: IntArray
    """(T,) further clients that the task could use, all alike."""
    need: IntArray
    """(T,) copies that are to be on those."""
    places: IntArray
    """(G, C) copies of each subtopology on each client."""


def greedy_copies(problem: Problem, windows: Windows, prices: Prices, choice: Choice) -> tuple[IntArray, IntArray]:
    """Keys of the copies, sorted, and the tasks of copies that found no place (nearly always none)."""
    C = problem.C
    task = problem.col_task
    barred = ~choice.allowed | (prices.column > prices.pool[task])
    barred |= prices.pool_tied[task] & ~prices.tied & (prices.column > 0)
    exact = bool(np.all(choice.allowed == problem.logged[task])) and not np.any(problem.logged & (problem.pool_size > 0))
    listed = (prices.saved > 0) | choice.must
    copies = _auctioned(problem, windows, prices, choice, np.flatnonzero(choice.allowed & listed), barred)
    few = exact and C <= _FEW
    _mended(problem, windows, prices, choice, copies, few)
    taken = problem.col_keys[copies.column[copies.taken]]
    keys, lost = _dealt(problem, choice, copies, taken, problem.col_keys[barred])
    if few or (exact and (len(lost) or prices.free.any())):
        copies.column = np.flatnonzero(choice.allowed)
        copies.task = problem.col_task[copies.column]
        copies.cell = problem.group[copies.task] * C + problem.col_client[copies.column]
        copies.taken = np.isin(problem.col_keys[copies.column], keys)
        copies.room = np.zeros(problem.T, dtype=np.int64)
        copies.need = np.bincount(lost, minlength=problem.T)
        counts = np.bincount(copies.cell[copies.taken], minlength=problem.G * C)
        copies.places = counts.reshape(problem.G, C)
        if few and len(copies.column) > _MANY and not _nothing_to_gain(problem, windows, prices, choice, copies, False):
            _mended(problem, windows, prices, choice, copies, True)
            _swapped(problem, prices, choice, copies)
        _mended(problem, windows, prices, choice, copies, False)
        keys, lost = problem.col_keys[copies.column[copies.taken]], np.repeat(np.arange(problem.T), copies.need)
    return np.sort(keys), lost


def _auctioned(
    problem: Problem, windows: Windows, prices: Prices, choice: Choice, column: IntArray, barred: BoolArray
) -> _Copies:
    """Steps 1 and 2."""
    T, C, size = problem.T, problem.C, problem.standbys + 1
    worth = (prices.saved + _MUST * choice.must)[column]
    column = column[np.argsort(-worth, kind="stable")]
    worth = (prices.saved + _MUST * choice.must)[column]
    task, client = problem.col_task[column], problem.col_client[column]
    cell = problem.group[task] * C + client
    high = windows.group_copies.high.ravel()
    room = _room(problem, choice, barred, column, np.ones((problem.G, C), dtype=np.bool_))
    least = np.where(problem.logged, np.maximum(size - room, 0), 0)
    won = auctioned(worth, task, size, least, cell, high, client, windows.copies.high)
    # What lost to a higher bid would still be worth its place if the rounding found one, less what the task would give up.
    full = np.bincount(task[won], minlength=T) >= size
    worst = np.full(T, np.iinfo(np.int64).max)
    np.minimum.at(worst, task[won], worth[won])
    gain = np.where(won, worth, np.maximum(worth - np.where(full, worst, 0)[task], 0))
    best_first = np.argsort(-gain, kind="stable")
    places = _places(problem, windows, cell[best_first], gain[best_first])
    # Only where places are left can a task have its other copies (R2).
    spare = places > np.bincount(cell[won], minlength=places.size).reshape(places.shape)
    least = np.where(problem.logged, np.maximum(size - _room(problem, choice, barred, column[won], spare), 0), 0)
    taken = auctioned(worth, task, size, least, cell, places.ravel(), client, places.sum(axis=0))
    need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    return _Copies(column, task, cell, taken, room, need, places)


def _swapped(problem: Problem, prices: Prices, choice: Choice, copies: _Copies) -> None:
    """Where every pair is a column, in place: the same numbers on every client, of tasks that cost less there."""
    C = problem.C
    tasks = np.flatnonzero(problem.logged)
    cost = (prices.column - _MUST * choice.must)[copies.column].reshape(-1, C)
    tied = prices.tied[copies.column].reshape(-1, C)
    free, tie = prices.free[tasks], prices.tie[tasks]

    def dearer(held: BoolArray, a: int, b: int) -> IntArray:
        number = np.sum(held & tied, axis=1)
        from_a = held[:, a]
        # One of a and b holds a copy: what a tied copy costs depends on how many others the task has.
        others = number - np.where(from_a, tied[:, a], tied[:, b])
        price = np.where(others >= free, tie, 0)
        on_a, on_b = (np.where(tied[:, c], price, cost[:, c]) for c in (a, b))
        return on_b - on_a

    held = copies.taken.reshape(-1, C)
    copies.taken = swapped(held, problem.group[tasks], dearer, _EFFORT).ravel()


def _room(problem: Problem, choice: Choice, barred: BoolArray, taken: IntArray, spare: BoolArray) -> IntArray:
    """(T,) clients with places to spare (G, C) that the task could use besides the columns that are taken."""
    at_spare = spare[problem.group[problem.col_task], problem.col_client]
    open_ = at_spare & ~barred
    open_[taken] = False
    in_columns = np.bincount(problem.col_task[open_], minlength=problem.T)
    in_pool = spare.sum(axis=1)[problem.group] - np.bincount(problem.col_task[at_spare], minlength=problem.T)
    return in_columns + np.where(choice.pools, in_pool, 0)


def _places(problem: Problem, windows: Windows, cell: IntArray, gain: IntArray) -> IntArray:
    """(G, C) copies of each subtopology on each client; the candidates come with most gain first."""
    G, C = problem.G, problem.C
    copies = np.where(problem.kind == LOGGED, np.bincount(problem.group, minlength=G), 0) * (problem.standbys + 1)
    low, high = windows.group_copies.low, windows.group_copies.high
    marginal = np.zeros(G * C, dtype=np.int64)
    last = rank_within(cell) == low.ravel()[cell]
    marginal[cell[last]] = gain[last]
    least = np.maximum(windows.copies.low - low.sum(axis=0), 0)
    most = np.maximum(windows.copies.high - low.sum(axis=0), 0)
    return low + rounded(high > low, marginal.reshape(G, C), copies - low.sum(axis=1), least, most)


def _mended(problem: Problem, windows: Windows, prices: Prices, choice: Choice, copies: _Copies, quick: bool) -> None:
    """Step 3, in place."""
    if _nothing_to_gain(problem, windows, prices, choice, copies, quick):
        return
    T, C, G = problem.T, problem.C, problem.G
    tasks = np.flatnonzero(problem.logged)
    group, need, room = problem.group[tasks], copies.need[tasks], copies.room[tasks]
    cells = (np.flatnonzero(problem.kind == LOGGED)[:, None] * C + np.arange(C)).ravel()
    used = np.bincount(copies.cell[copies.taken], minlength=G * C)
    spare = copies.places.ravel() - used
    net = Exchange()
    hub, task_nodes, tie_nodes, cell_nodes, client_nodes, pool_nodes = (net.add_nodes(n) for n in (1, T, T, G * C, C, G))
    tied, pool_tied = prices.tied[copies.column], prices.pool_tied[tasks]
    cost = np.where(tied, 0, prices.column[copies.column]) - _MUST * choice.must[copies.column]
    tails = np.where(tied, tie_nodes[copies.task], task_nodes[copies.task])
    on = net.add_arcs(tails, cell_nodes[copies.cell], copies.taken, high=1, cost=cost)
    in_pool, no_place = np.minimum(need, room), np.maximum(need - room, 0)
    tails = np.where(pool_tied, tie_nodes[tasks], task_nodes[tasks])
    cost = np.where(pool_tied, 0, prices.pool[tasks])
    to_pool = net.add_arcs(tails, pool_nodes[group], in_pool, high=room, cost=cost)
    number = np.bincount(copies.task[copies.taken & tied], minlength=T)[tasks] + np.where(pool_tied, in_pool, 0)
    free = prices.free[tasks]
    net.add_arcs(task_nodes[tasks], tie_nodes[tasks], np.minimum(number, free), high=free)
    cost = prices.tie[tasks]
    net.add_arcs(task_nodes[tasks], tie_nodes[tasks], np.maximum(number - free, 0), cost=cost)
    none = Window(np.zeros_like(tasks), np.zeros_like(tasks))
    nowhere = net.add_arcs(task_nodes[tasks], pool_nodes[group], no_place, window=none)
    from_pool = net.add_arcs(pool_nodes[cells // C], cell_nodes[cells], spare[cells])
    short = np.bincount(group, need, G).astype(np.int64) - spare.reshape(G, C).sum(axis=1)
    net.add_arcs(pool_nodes, np.repeat(hub, G), np.maximum(short, 0), window=Window(np.zeros_like(short), np.zeros_like(short)))
    window = Window(windows.group_copies.low.ravel()[cells], windows.group_copies.high.ravel()[cells])
    net.add_arcs(cell_nodes[cells], client_nodes[cells % C], copies.places.ravel()[cells], window=window)
    net.add_arcs(client_nodes, np.repeat(hub, C), copies.places.sum(axis=0), window=windows.copies)
    flow = net.improved(0 if quick else _EFFORT if net.arcs <= _SMALL or not copies.room.any() else 0)
    copies.stats = net.stats
    copies.taken = flow[on] > 0
    copies.need = np.zeros(T, dtype=np.int64)
    copies.need[tasks] = flow[to_pool] + flow[nowhere]
    places = np.bincount(copies.cell[copies.taken], minlength=G * C)
    places[cells] += flow[from_pool]
    copies.places = places.reshape(G, C)


def _nothing_to_gain(
    problem: Problem, windows: Windows, prices: Prices, choice: Choice, copies: _Copies, quick: bool
) -> bool:
    """Whether the windows hold, every copy has a place and each task has its cheapest clients; `quick`: never mind the last."""
    T, G = problem.T, problem.G
    spare = copies.places.sum(axis=1) - np.bincount(problem.group[copies.task[copies.taken]], minlength=G)
    if (
        np.any(copies.need > copies.room)
        or np.any(spare != np.bincount(problem.group, copies.need, G))
        or not windows.group_copies.holds(copies.places)
        or not windows.copies.holds(copies.places.sum(axis=0))
    ):
        return False
    if quick:
        return True
    tied = prices.tied[copies.column]
    number = np.bincount(copies.task[copies.taken & tied], minlength=T) + np.where(prices.pool_tied, copies.need, 0)
    price = np.where(tied, 0, prices.column[copies.column]) - _MUST * choice.must[copies.column]
    pool = np.where(prices.pool_tied, 0, prices.pool)
    dearest, cheapest = np.where(copies.need > 0, pool, -WINDOW), np.where(copies.room > copies.need, pool, WINDOW)
    np.maximum.at(dearest, copies.task[copies.taken], price[copies.taken])
    np.minimum.at(cheapest, copies.task[~copies.taken], price[~copies.taken])
    return not np.any(dearest > cheapest) and not np.any((number > prices.free) & (prices.tie > 0))


def _dealt(problem: Problem, choice: Choice, copies: _Copies, taken: IntArray, barred: IntArray) -> tuple[IntArray, IntArray]:
    """Step 4: all keys, and the tasks of copies without a place."""
    C, need = problem.C, copies.need
    used = np.bincount(copies.cell[copies.taken], minlength=problem.G * C).reshape(problem.G, C)
    places = copies.places - used
    shut = np.concatenate([taken, barred])
    shut = np.sort(shut[need[shut // C] > 0])
    hopeless = (need > 0) & ~choice.pools & (problem.pool_size > 0)
    keys, lost = [taken], [np.repeat(np.arange(problem.T), np.where(hopeless, need, 0))]
    waiting = (need > 0) & ~hopeless
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = np.flatnonzero(waiting & (problem.group == group))
        begin, end = np.searchsorted(shut, (tasks[0] * C, (tasks[-1] + 1) * C))
        some, left = dealt(tasks, need[tasks], places[group], shut[begin:end])
        keys.append(some)
        lost.append(left)
    return np.concatenate(keys), np.concatenate(lost)
