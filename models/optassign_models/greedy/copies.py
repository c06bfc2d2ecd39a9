"""Copies of logged tasks, whatever their role, chosen greedily; little restore work comes first.

1. An auction finds the columns that save most restore work over a copy in the pool. Each client's number of copies of each
   subtopology is then set: its share rounded to a whole number, the ceiling where one more copy saves most. A second auction
   keeps to these numbers (`_auction_columns`).
2. An exchange brings into the shares what is not (`exchange_copies`).
3. The pool's places are dealt to tasks (`_deal_pools`).
4. If clients are few, or some places cannot be dealt, R2 decides which tasks go together: then every pair of these tasks
   becomes a column, and copies are exchanged with R2 as a part of the network (`_exchange_columns`).
"""

from __future__ import annotations

import numpy as np

from optassign_models.forced import Forced, find_forced
from optassign_models.greedy.algorithms.auction import auction_pairs
from optassign_models.greedy.algorithms.dealing import deal_places
from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.greedy.algorithms.rounding import round_cells
from optassign_models.greedy.copy_exchange import CopyChoice, CopyTerms, exchange_copies, swap_tasks
from optassign_models.policy.constants import (
    COLUMNS_OF_FEW,
    COLUMNS_OF_GUESSED,
    COLUMNS_OF_LOST,
    FEW_CANDIDATES,
    FEW_CLIENTS,
    SWAP_FIRST_FROM,
    SWAPPING_CLIENTS,
)
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import Shares


def choose_greedy_copies(
    problem: Problem, forced: Forced, shares: Shares, *, now: bool, must: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """(n,) keys of the copies, sorted, and (k,) tasks of copies that found no place (nearly always none).

    A key is task × C + client.

    Args:
        now: only where R5 allows copies in this rebalance.
        must: (m,) keys of columns to be taken before all others.
    """
    terms = _make_terms(problem, forced, now, must)
    copies = _auction_columns(problem, shares, terms)
    few = problem.C <= FEW_CLIENTS
    exchange_copies(problem, shares, terms, copies, save=not few and len(copies.column) <= FEW_CANDIDATES)
    keys, lost = _deal_pools(problem, terms, copies)
    stuck = _choose_tasks_to_write_out(problem, terms, lost, few)
    if not len(stuck):
        return np.sort(keys), lost
    return _exchange_columns(problem, shares, keys, lost, stuck, now, must)


def _make_terms(problem: Problem, forced: Forced, now: bool, must: IntArray | None) -> CopyTerms:
    """The terms of the plan, or of this rebalance; `must`: keys of columns to be taken before all others."""
    keys = np.zeros(0, dtype=np.int64) if must is None else must
    return (CopyTerms.of_now if now else CopyTerms.of_plan)(problem, forced, np.isin(problem.col_keys, keys))


def _auction_columns(problem: Problem, shares: Shares, terms: CopyTerms) -> CopyChoice:
    """Columns that save most, how many copies each client takes of each subtopology, and how many tasks still need."""
    T, C, G, size = problem.T, problem.C, problem.G, problem.standbys + 1
    column = np.flatnonzero(terms.are_better_than_pool())
    column = column[np.argsort(-terms.worth[column], kind="stable")]
    worth, task, client = terms.worth[column], problem.col_task[column], problem.col_client[column]
    cell = problem.group[task] * C + client
    barred = terms.are_worse_than_pool(problem)
    everywhere = np.ones((G, C), dtype=np.bool_)
    room = _count_room(problem, terms, barred, column, everywhere)
    least = np.where(problem.logged, np.maximum(size - room, 0), 0)
    high = shares.group_copies.high.ravel()
    won = auction_pairs(worth, task, size, least, cell, high, client, shares.copies.high)

    # A copy that lost to a higher bid would still be worth its place if the rounding found one, less the task's own loss.
    full = np.bincount(task[won], minlength=T) >= size
    worst = np.full(T, np.iinfo(np.int64).max)
    np.minimum.at(worst, task[won], worth[won])
    gain = np.where(won, worth, np.maximum(worth - np.where(full, worst, 0)[task], 0))
    best_first = np.argsort(-gain, kind="stable")
    places = _round_places(problem, shares, cell[best_first], gain[best_first])

    # Only where places are left can a task have its other copies (R2).
    spare = places > np.bincount(cell[won], minlength=G * C).reshape(G, C)
    least = np.where(problem.logged, np.maximum(size - _count_room(problem, terms, barred, column[won], spare), 0), 0)
    taken = auction_pairs(worth, task, size, least, cell, places.ravel(), client, places.sum(axis=0))
    need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    left = places - np.bincount(cell[taken], minlength=G * C).reshape(G, C)
    more = _require_columns(problem, need, left, terms.pool_price, least)
    if np.any(more > least):
        taken = auction_pairs(worth, task, size, more, cell, places.ravel(), client, places.sum(axis=0))
        need = np.where(problem.logged, size, 0) - np.bincount(task[taken], minlength=T)
    return CopyChoice(column, task, cell, taken, room, need, places)


def _count_room(problem: Problem, terms: CopyTerms, barred: BoolArray, taken: IntArray, spare: BoolArray) -> IntArray:
    """(T,) clients that the task could use besides the columns that are taken.

    Args:
        barred: (A,) columns that it cannot use.
        taken: columns that are taken.
        spare: (G, C) clients with places to spare for the subtopology.
    """
    at_spare = spare[problem.group[problem.col_task], problem.col_client]
    open_ = at_spare & ~barred
    open_[taken] = False
    in_columns = np.bincount(problem.col_task[open_], minlength=problem.T)
    in_pool = spare.sum(axis=1)[problem.group] - np.bincount(problem.col_task[at_spare], minlength=problem.T)
    return in_columns + np.where(terms.pools, in_pool, 0)


def _require_columns(problem: Problem, need: IntArray, places: IntArray, price: IntArray, least: IntArray) -> IntArray:
    """(T,) columns that each task must have, so that the others find different clients among the places (G, C) left.

    That is so if for every k (Gale, 1957; Ryser, 1957) what tasks need beyond k copies each fits on all but the k clients with
    most places. If it does not, only the cheapest tasks may need more than k.

    Args:
        need: (T,) copies that are to be dealt.
        price: (T,) of a copy in the pool.
        least: (T,) columns that each task must have anyway.
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


def _round_places(problem: Problem, shares: Shares, cell: IntArray, gain: IntArray) -> IntArray:
    """(G, C) copies of each subtopology on each client: its share rounded to where one more gains most.

    Args:
        cell: (n,) subtopology × C + client of the candidates, those of most gain first.
        gain: (n,) of a copy there.
    """
    G, C = problem.G, problem.C
    copies = np.where(problem.kind == LOGGED, np.bincount(problem.group, minlength=G), 0) * (problem.standbys + 1)
    low, high = shares.group_copies.low, shares.group_copies.high
    marginal = np.zeros(G * C, dtype=np.int64)
    last = rank_within(cell) == low.ravel()[cell]
    marginal[cell[last]] = gain[last]
    least = np.maximum(shares.copies.low - low.sum(axis=0), 0)
    most = np.maximum(shares.copies.high - low.sum(axis=0), 0)
    return low + round_cells(high > low, marginal.reshape(G, C), copies - low.sum(axis=1), least, most)


def _deal_pools(problem: Problem, terms: CopyTerms, copies: CopyChoice) -> tuple[IntArray, IntArray]:
    """All keys once the pool's places are dealt, and the tasks of copies without a place."""
    G, C, need = problem.G, problem.C, copies.need
    taken = problem.col_keys[copies.column[copies.taken]]
    places = copies.places - np.bincount(copies.cell[copies.taken], minlength=G * C).reshape(G, C)
    closed = np.concatenate([taken, problem.col_keys[terms.are_worse_than_pool(problem)]])
    closed = np.sort(closed[need[closed // C] > 0])
    hopeless = (need > 0) & ~terms.pools & (problem.pool_size > 0)
    keys, lost = [taken], [np.repeat(np.arange(problem.T), np.where(hopeless, need, 0))]
    waiting = (need > 0) & ~hopeless
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = np.flatnonzero(waiting & (problem.group == group))
        begin, end = np.searchsorted(closed, (tasks[0] * C, (tasks[-1] + 1) * C))
        some, left = deal_places(tasks, need[tasks], places[group], closed[begin:end])
        keys.append(some)
        lost.append(left)
    return np.concatenate(keys), np.concatenate(lost)


def _choose_tasks_to_write_out(problem: Problem, terms: CopyTerms, lost: IntArray, few: bool) -> IntArray:
    """Logged tasks whose every pair is to become a column.

    These are all tasks if clients are few; otherwise the tasks of subtopologies where a copy found no place, or where the
    auction had to guess which tied columns are free. If they are too many, the tasks without a place and then the tasks that
    move most cheaply.
    """
    C, logged = problem.C, np.flatnonzero(problem.logged)
    most = (COLUMNS_OF_FEW if few else COLUMNS_OF_LOST) // C
    tasks = logged if few else logged[np.isin(problem.group[logged], problem.group[lost])]
    guessed = problem.col_task[terms.tied & ~terms.pool_tied[problem.col_task]]
    more = logged[np.isin(problem.group[logged], problem.group[guessed])]
    if len(more) * C <= COLUMNS_OF_GUESSED:
        tasks = np.union1d(tasks, more)
    if len(tasks) > most:
        tasks = np.sort(tasks[np.lexsort((terms.pool_price[tasks], ~np.isin(tasks, lost)))[:most]])
    return tasks


def _exchange_columns(
    problem: Problem,
    shares: Shares,
    keys: IntArray,
    lost: IntArray,
    stuck: IntArray,
    now: bool,
    must: IntArray | None,
) -> tuple[IntArray, IntArray]:
    """Keys of the copies, and tasks of copies without a place, after every pair of the tasks `stuck` became a column."""
    problem = problem.with_all_columns(stuck).with_columns(keys)
    terms = _make_terms(problem, find_forced(problem), now, must)
    open_ = np.isin(problem.col_task, stuck) | np.isin(problem.col_keys, keys)
    copies = CopyChoice.of_keys(problem, np.flatnonzero(open_ & terms.allowed), keys, lost)
    if not now and problem.C <= SWAPPING_CLIENTS and len(stuck) * problem.C > SWAP_FIRST_FROM:
        exchange_copies(problem, shares, terms, copies, save=False)
        swap_tasks(problem, terms, copies, stuck)
    exchange_copies(problem, shares, terms, copies, save=True)
    return problem.col_keys[copies.column[copies.taken]], np.repeat(np.arange(problem.T), copies.need)
