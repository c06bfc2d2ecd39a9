"""Copies of logged tasks, whatever their role, chosen greedily; little restore work comes first.

1. An auction finds the columns that save most restore work over a copy in the pool.
2. Each client's number of copies of each subtopology is set: its window rounded to a whole number, the ceiling where one more
   copy saves most. A second auction keeps to these numbers.
3. An exchange mends what is left, and the pool's places are dealt out to tasks.
4. Where clients are few, or some places cannot be dealt out, R2 decides which tasks go together: then every pair of these
   tasks becomes a column, and copies are exchanged with R2 as a part of the network.
"""

from __future__ import annotations

import numpy as np

from optassign.models.forced import Forced, find_forced
from optassign.models.greedy.copy_exchange import CopyChoice, exchange_copies, swap_tasks
from optassign.models.greedy.copy_terms import Terms
from optassign.models.greedy.quotas import auction_pairs, deal_places, rank_within
from optassign.models.greedy.rounding import round_cells
from optassign.models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign.models.windows import Windows

_FEW_CLIENTS = 16
"""Up to so many, a pool is too small to be dealt out without looking at R2."""
_FEW_CANDIDATES = 8_000
"""Up to so many, exchanging dealt copies saves something for its time."""
_MANY_PAIRS = 4_000
"""Beyond so many, clients swap tasks first: the exchange takes one copy at a time."""
_MOST_PAIRS = {"few": 1_000_000, "lost": 200_000, "guessed": 20_000}
"""No more pairs than these become columns: where clients are few, copies found no place, prices were guessed."""
_SWAPPING_CLIENTS = 40
"""Beyond so many, there are too many pairs of clients to swap between."""


def choose_greedy_copies(
    problem: Problem, forced: Forced, windows: Windows, *, now: bool, must: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Keys of the copies, sorted, and the tasks of copies that found no place (nearly always none).

    Args:
        now: only where R5 allows copies in this rebalance.
        must: keys of columns to be taken before all others.
    """
    terms = _terms(problem, forced, now, must)
    copies = _auctioned(problem, windows, terms)
    few = problem.C <= _FEW_CLIENTS
    exchange_copies(problem, windows, terms, copies, save=not few and len(copies.column) <= _FEW_CANDIDATES)
    keys, lost = _dealt(problem, terms, copies)
    stuck = _to_write_out(problem, terms, lost, few)
    if not len(stuck):
        return np.sort(keys), lost
    problem = problem.with_all_columns(stuck).with_columns(keys)
    terms = _terms(problem, find_forced(problem), now, must)
    open_ = np.isin(problem.col_task, stuck) | np.isin(problem.col_keys, keys)
    copies = CopyChoice.settled(problem, np.flatnonzero(open_ & terms.allowed), keys, lost)
    if not now and problem.C <= _SWAPPING_CLIENTS and len(stuck) * problem.C > _MANY_PAIRS:
        exchange_copies(problem, windows, terms, copies, save=False)
        swap_tasks(problem, terms, copies, stuck)
    exchange_copies(problem, windows, terms, copies, save=True)
    return problem.col_keys[copies.column[copies.taken]], np.repeat(np.arange(problem.T), copies.need)


def _terms(problem: Problem, forced: Forced, now: bool, must: IntArray | None) -> Terms:
    keys = np.zeros(0, dtype=np.int64) if must is None else must
    return (Terms.of_now if now else Terms.of_plan)(problem, forced, np.isin(problem.col_keys, keys))


def _to_write_out(problem: Problem, terms: Terms, lost: IntArray, few: bool) -> IntArray:
    """Logged tasks: all where clients are few; else those of subtopologies where a copy found no place, or where the auction
    had to guess which tied columns are free. Of too many, those without a place and then those that move most cheaply."""
    C, logged = problem.C, np.flatnonzero(problem.logged)
    most = _MOST_PAIRS["few" if few else "lost"] // C
    tasks = logged if few else logged[np.isin(problem.group[logged], problem.group[lost])]
    guessed = problem.col_task[terms.tied & ~terms.pool_tied[problem.col_task]]
    more = logged[np.isin(problem.group[logged], problem.group[guessed])]
    if len(more) * C <= _MOST_PAIRS["guessed"]:
        tasks = np.union1d(tasks, more)
    if len(tasks) > most:
        tasks = np.sort(tasks[np.lexsort((terms.pool_price[tasks], ~np.isin(tasks, lost)))[:most]])
    return tasks


def _auctioned(problem: Problem, windows: Windows, terms: Terms) -> CopyChoice:
    """Steps 1 and 2."""
    T, C, G, size = problem.T, problem.C, problem.G, problem.standbys + 1
    column = np.flatnonzero(terms.listed())
    column = column[np.argsort(-terms.worth[column], kind="stable")]
    worth, task, client = terms.worth[column], problem.col_task[column], problem.col_client[column]
    cell = problem.group[task] * C + client
    barred = terms.barred(problem)
    everywhere = np.ones((G, C), dtype=np.bool_)
    room = _room(problem, terms, barred, column, everywhere)
    least = np.where(problem.logged, np.maximum(size - room, 0), 0)
    high = windows.group_copies.high.ravel()
    won = auction_pairs(worth, task, size, least, cell, high, client, windows.copies.high)

    # What lost to a higher bid would still be worth its place if the rounding found one, less what the task would give up.
    full = np.bincount(task[won], minlength=T) >= size
    worst = np.full(T, np.iinfo(np.int64).max)
    np.minimum.at(worst, task[won], worth[won])
    gain = np.where(won, worth, np.maximum(worth - np.where(full, worst, 0)[task], 0))
    best_first = np.argsort(-gain, kind="stable")
    places = _places(problem, windows, cell[best_first], gain[best_first])

    # Only where places are left can a task have its other copies (R2).
    spare = places > np.bincount(cell[won], minlength=G * C).reshape(G, C)
    least = np.where(problem.logged, np.maximum(size - _room(problem, terms, barred, column[won], spare), 0), 0)
    taken = auction_pairs(worth, task, size, least, cell, places.ravel(), client, places.sum(axis=0))
    need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    left = places - np.bincount(cell[taken], minlength=G * C).reshape(G, C)
    more = _apart(problem, need, left, terms.pool_price, least)
    if np.any(more > least):
        taken = auction_pairs(worth, task, size, more, cell, places.ravel(), client, places.sum(axis=0))
        need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    return CopyChoice(column, task, cell, taken, room, need, places)


def _room(problem: Problem, terms: Terms, barred: BoolArray, taken: IntArray, spare: BoolArray) -> IntArray:
    """(T,) clients with places to spare (G, C) that the task could use besides the columns that are taken."""
    at_spare = spare[problem.group[problem.col_task], problem.col_client]
    open_ = at_spare & ~barred
    open_[taken] = False
    in_columns = np.bincount(problem.col_task[open_], minlength=problem.T)
    in_pool = spare.sum(axis=1)[problem.group] - np.bincount(problem.col_task[at_spare], minlength=problem.T)
    return in_columns + np.where(terms.pools, in_pool, 0)


def _apart(problem: Problem, need: IntArray, places: IntArray, price: IntArray, least: IntArray) -> IntArray:
    """(T,) columns that each task must have, so that the others find different clients among the places (G, C) left.

    That is so if for every k (Gale and Ryser) what tasks need beyond k copies each fits on all but the k clients with most
    places. Where it does not, only the cheapest tasks may need more than k.
    """
    size, least = problem.standbys + 1, least.copy()
    for group in np.unique(problem.group[need > 1]).tolist():
        tasks = np.flatnonzero(problem.group == group)
        tasks = tasks[np.argsort(price[tasks], kind="stable")]
        most_first = np.sort(places[group])[::-1]
        for k in range(1, size):
            beyond = np.maximum(need[tasks] - k, 0)
            if beyond.sum() > most_first[k:].sum():
                may = (beyond > 0) & (np.cumsum(beyond) <= most_first[k:].sum())
                least[tasks[~may]] = np.maximum(least[tasks[~may]], size - k)
    return least


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
    return low + round_cells(high > low, marginal.reshape(G, C), copies - low.sum(axis=1), least, most)


def _dealt(problem: Problem, terms: Terms, copies: CopyChoice) -> tuple[IntArray, IntArray]:
    """All keys once the pool's places are given out, and the tasks of copies without a place."""
    G, C, need = problem.G, problem.C, copies.need
    taken = problem.col_keys[copies.column[copies.taken]]
    places = copies.places - np.bincount(copies.cell[copies.taken], minlength=G * C).reshape(G, C)
    shut = np.concatenate([taken, problem.col_keys[terms.barred(problem)]])
    shut = np.sort(shut[need[shut // C] > 0])
    hopeless = (need > 0) & ~terms.pools & (problem.pool_size > 0)
    keys, lost = [taken], [np.repeat(np.arange(problem.T), np.where(hopeless, need, 0))]
    waiting = (need > 0) & ~hopeless
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = np.flatnonzero(waiting & (problem.group == group))
        begin, end = np.searchsorted(shut, (tasks[0] * C, (tasks[-1] + 1) * C))
        some, left = deal_places(tasks, need[tasks], places[group], shut[begin:end])
        keys.append(some)
        lost.append(left)
    return np.concatenate(keys), np.concatenate(lost)
