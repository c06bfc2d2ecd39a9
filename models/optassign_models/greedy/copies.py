"""Copies of logged tasks, whatever their role, chosen greedily; little restore work comes first.

1. An auction finds the columns that save most restore work over a copy in the pool. Each client's number of copies of each
   subtopology is then set: its share rounded to a whole number, the ceiling where one more copy saves most. A second auction
   keeps to these numbers (`_auction_columns`).
2. An exchange brings into the shares what is not (`exchange_copies`). Its network is the one of flows/copies.py: task →
   subtopology on client → client → hub, with a node for each pool and for each task's tied clients.
3. The pool's places are dealt to tasks (`_deal_pools`).
4. If clients are few, or some places cannot be dealt, R2 decides which tasks go together: then every pair of these tasks
   becomes a column, and copies are exchanged with R2 as a part of the network (`_exchange_columns`). Clients swap tasks two by
   two, where every pair is a candidate (`swap_tasks`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced, find_forced
from optassign_models.greedy.exchange import SHARE, Exchange, round_cells, swap_copies
from optassign_models.greedy.places import auction_pairs, deal_places, rank_within
from optassign_models.policy.constants import (
    COLUMNS_OF_FEW,
    COLUMNS_OF_GUESSED,
    COLUMNS_OF_LOST,
    EXCHANGE_ARCS,
    FEW_CANDIDATES,
    FEW_CLIENTS,
    SWAP_FIRST_FROM,
    SWAPPING_CLIENTS,
)
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import ShareBounds, ShareFamilies

MUST = 1 << 41
"""The worth of a copy that must be somewhere: more than any price, less than a share."""
_FINE = 1 << 30
"""Restore costs are compared in this many steps from 0 to the greatest."""
_STEP, _COLD = 1 << 6, 1 << 4
"""Price of one such step, and of a copy that is not caught up."""


@dataclass(frozen=True, eq=False)
class CopyTerms:
    """The clients for copies, and their prices: restore work scaled down to small integers, then the number of copies not
    caught up.

    If R5 forces copies on tied clients that are not caught up, that number of copies on tied clients is `free`.
    """

    must: BoolArray
    """(A,) columns to be taken before all others."""
    allowed: BoolArray
    """(A,) columns that may be taken."""
    pools: BoolArray
    """(T,) tasks that may use their pool."""
    price: IntArray
    """(A,) of a copy; of a tied one, what it costs beyond the free ones."""
    pool_price: IntArray
    """(T,) of a copy on a client without a column; of a task whose clients all have columns, as on the dearest of these."""
    tied: BoolArray
    """(A,) a tied client that is not caught up."""
    pool_tied: BoolArray
    """(T,) the pool's clients, and columns that are no better, are tied and not caught up."""
    free: IntArray
    """(T,) how many copies on tied clients that are not caught up cost nothing."""
    worth: IntArray
    """(A,) what a column saves over the pool, and a little more where the copy would stay where it was."""

    @classmethod
    def of_plan(cls, problem: Problem, forced: Forced, must: BoolArray) -> CopyTerms:
        """Copies may be anywhere; forced copies of this answer (R3 to R5) are paid already. `must`: (A,) columns of actives."""
        T, task, stays = problem.T, problem.col_task, _reward_staying(problem, must)
        allowed, pools = problem.logged[task], problem.logged & (problem.pool_size > 0)
        cost = np.where(forced.mandatory, 0, problem.col_cost)
        unit = 1 + int(max(cost.max(initial=0), problem.pool_cost.max(initial=0))) // _FINE
        price = cost // unit * _STEP + np.where((problem.col_rank > 0) & ~forced.mandatory, _COLD, 0)
        pool_price = problem.pool_cost // unit * _STEP + np.where(problem.pool_rank > 0, _COLD, 0)
        dearest = np.zeros(T, dtype=np.int64)
        np.maximum.at(dearest, task, price)
        pool_price = np.where(problem.pool_size > 0, pool_price, dearest)

        tied = forced.tied & forced.tie_not_caught_up[task]
        others = np.bincount(task[allowed & ~tied & ~forced.mandatory], minlength=T)
        pool_tied = forced.tie_not_caught_up & (forced.pool_tied | ((problem.pool_size == 0) & (others == 0)))
        free = np.where(forced.tie_not_caught_up, forced.choices, 0)
        # A column has one worth for all its task's copies: so some of the tied ones are free, the others are not.
        some = np.flatnonzero(tied & ~pool_tied[task])
        turn = (problem.col_client[some] - task[some]) % problem.C
        some = some[np.lexsort((turn, -stays[some], task[some]))]
        paid = price.copy()
        paid[some[rank_within(task[some]) < free[task[some]]]] = 0
        # If the pool is tied it has the free places: only columns that are forced save anything.
        best = np.where(pool_tied[task] & ~forced.mandatory & ~tied, 0, pool_price[task])
        worth = best - paid + stays + MUST * must
        return cls(must, allowed, pools, price, pool_price, tied, pool_tied, free, worth)

    @classmethod
    def of_now(cls, problem: Problem, forced: Forced, must: BoolArray) -> CopyTerms:
        """Copies may be where R5 allows them in this rebalance. They cost nothing; best they stay where they were.

        `must`: (A,) columns to be taken before all others.
        """
        nothing, never = np.zeros(problem.T, dtype=np.int64), np.zeros(problem.T, dtype=np.bool_)
        stays = _reward_staying(problem, must)
        must = must | forced.mandatory
        worth = 1 + stays + MUST * must
        no, free = np.zeros_like(must), np.zeros_like(worth)
        return cls(must, forced.mandatory | forced.tied, forced.pool_tied, free, nothing, no, never, nothing, worth)

    def are_worse_than_pool(self, problem: Problem) -> BoolArray:
        """(A,) columns that must not be dealt as if they were clients of the pool: not allowed, or dearer."""
        task = problem.col_task
        dearer = (self.price > self.pool_price[task]) | (self.pool_tied[task] & ~self.tied & (self.price > 0))
        return ~self.allowed | dearer


def _reward_staying(problem: Problem, actives: BoolArray) -> IntArray:
    """(A,) a little worth where a copy would stay: owners before standbys before other state on disk.

    actives: (A,) columns of the actives, if these are known: then owners are worth no more than others.
    """
    owners = 0 if actives.any() else 8
    return owners * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state


@dataclass
class CopyChoice:
    """Candidates, what is taken of them, and how many copies are still to be dealt."""

    column: IntArray
    """(n,) columns that may be taken."""
    task: IntArray
    """(n,) task of each."""
    cell: IntArray
    """(n,) subtopology × C + client of each."""
    taken: BoolArray
    """(n,) whether it is taken."""
    room: IntArray
    """(T,) further clients that the task could use, all alike."""
    need: IntArray
    """(T,) copies that are to be on those."""
    places: IntArray
    """(G, C) copies of each subtopology on each client, dealt or not."""

    @classmethod
    def of_keys(cls, problem: Problem, column: IntArray, keys: IntArray, lost: IntArray) -> CopyChoice:
        """The copies with the given keys, among the columns (n,); nothing is to be dealt but the copies of the tasks `lost`."""
        G, C = problem.G, problem.C
        task = problem.col_task[column]
        cell = problem.group[task] * C + problem.col_client[column]
        taken = np.isin(problem.col_keys[column], keys)
        places = np.bincount(cell[taken], minlength=G * C).reshape(G, C)
        nothing = np.zeros(problem.T, dtype=np.int64)
        return cls(column, task, cell, taken, nothing, np.bincount(lost, minlength=problem.T), places)


def exchange_copies(problem: Problem, shares: ShareFamilies, terms: CopyTerms, copies: CopyChoice, *, save: bool) -> None:
    """In place: copies that keep the shares, or nearly so, and with `save` cost little."""
    if _is_settled(problem, shares, terms, copies, save):
        return
    T, C, G = problem.T, problem.C, problem.G
    tasks = np.flatnonzero(problem.logged)
    group, need, room = problem.group[tasks], copies.need[tasks], copies.room[tasks]
    cells = (np.flatnonzero(problem.kind == LOGGED)[:, None] * C + np.arange(C)).ravel()
    places = copies.places.ravel()
    spare = places - np.bincount(copies.cell[copies.taken], minlength=G * C)
    tied, pool_tied, free = terms.tied[copies.column], terms.pool_tied[tasks], terms.free[tasks]
    in_pool = np.minimum(need, room)
    number = np.bincount(copies.task[copies.taken & tied], minlength=T)[tasks] + np.where(pool_tied, in_pool, 0)

    network = Exchange()
    sizes = (1, T, T, G * C, C, G)
    hub, task_nodes, tie_nodes, cell_nodes, client_nodes, pool_nodes = (network.add_nodes(n) for n in sizes)
    tails = np.where(tied, tie_nodes[copies.task], task_nodes[copies.task])
    cost = np.where(tied, 0, terms.price[copies.column]) - MUST * terms.must[copies.column]
    on = network.add_arcs(tails, cell_nodes[copies.cell], copies.taken, high=1, cost=cost)
    tails = np.where(pool_tied, tie_nodes[tasks], task_nodes[tasks])
    cost = np.where(pool_tied, 0, terms.pool_price[tasks])
    to_pool = network.add_arcs(tails, pool_nodes[group], in_pool, high=room, cost=cost)
    # The free copies on tied clients, then the paid ones.
    network.add_arcs(task_nodes[tasks], tie_nodes[tasks], np.minimum(number, free), high=free)
    cost = _find_tie_prices(problem, terms)[tasks]
    network.add_arcs(task_nodes[tasks], tie_nodes[tasks], np.maximum(number - free, 0), cost=cost)
    # Copies without a client, and places that are missing: both should be none.
    nowhere = network.add_arcs(task_nodes[tasks], pool_nodes[group], need - in_pool, share=_allow_none(len(tasks)))
    missing = np.bincount(group, need, G).astype(np.int64) - spare.reshape(G, C).sum(axis=1)
    network.add_arcs(pool_nodes, np.repeat(hub, G), np.maximum(missing, 0), share=_allow_none(G))
    from_pool = network.add_arcs(pool_nodes[cells // C], cell_nodes[cells], spare[cells])
    share = ShareBounds(shares.group_copies.low.ravel()[cells], shares.group_copies.high.ravel()[cells])
    network.add_arcs(cell_nodes[cells], client_nodes[cells % C], places[cells], share=share)
    network.add_arcs(client_nodes, np.repeat(hub, C), copies.places.sum(axis=0), share=shares.copies)

    flow = network.improve(EXCHANGE_ARCS if save else 0)
    copies.taken = flow[on] > 0
    copies.need = np.zeros(T, dtype=np.int64)
    copies.need[tasks] = flow[to_pool] + flow[nowhere]
    after = np.bincount(copies.cell[copies.taken], minlength=G * C)
    after[cells] += flow[from_pool]
    copies.places = after.reshape(G, C)


def _allow_none(n: int) -> ShareBounds:
    """(n,) shares that hold 0 only."""
    return ShareBounds(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))


def _find_tie_prices(problem: Problem, terms: CopyTerms) -> IntArray:
    """(T,) price of a copy on a tied client beyond the free ones; all tied clients of a task cost the same."""
    price = np.where(terms.pool_tied, terms.pool_price, 0)
    price[problem.col_task[terms.tied]] = terms.price[terms.tied]
    return price


def _is_settled(problem: Problem, shares: ShareFamilies, terms: CopyTerms, copies: CopyChoice, save: bool) -> bool:
    """Whether all shares hold, every copy has a place and, if costs are to be saved, each task has its cheapest clients."""
    spare = copies.places.sum(axis=1) - np.bincount(problem.group[copies.task[copies.taken]], minlength=problem.G)
    if (
        np.any(copies.need > copies.room)
        or np.any(spare != np.bincount(problem.group, copies.need, problem.G))
        or not shares.group_copies.holds(copies.places)
        or not shares.copies.holds(copies.places.sum(axis=0))
    ):
        return False
    if not save:
        return True
    tied, taken, task = terms.tied[copies.column], copies.taken, copies.task
    number = np.bincount(task[taken & tied], minlength=problem.T) + np.where(terms.pool_tied, copies.need, 0)
    price = np.where(tied, 0, terms.price[copies.column]) - MUST * terms.must[copies.column]
    pool = np.where(terms.pool_tied, 0, terms.pool_price)
    dearest = np.where(copies.need > 0, pool, -SHARE)
    cheapest = np.where(copies.room > copies.need, pool, SHARE)
    np.maximum.at(dearest, task[taken], price[taken])
    np.minimum.at(cheapest, task[~taken], price[~taken])
    return not np.any(dearest > cheapest) and not np.any((number > terms.free) & (_find_tie_prices(problem, terms) > 0))


def swap_tasks(problem: Problem, terms: CopyTerms, copies: CopyChoice, tasks: IntArray) -> None:
    """In place: clients swap copies of the tasks (n,), whose every pair must be a candidate, so that these cost less.

    Each client keeps its number of copies of each subtopology.
    """
    C = problem.C
    rows = np.isin(copies.task, tasks)
    column = copies.column[rows]
    cost = (terms.price - MUST * terms.must)[column].reshape(-1, C)
    tied = terms.tied[column].reshape(-1, C)
    free, tie_price = terms.free[tasks], _find_tie_prices(problem, terms)[tasks]

    def compare_costs(held: BoolArray, a: int, b: int) -> IntArray:
        # One of a and b holds a copy: what a tied copy costs depends on how many others the task has.
        here = np.where(held[:, a], tied[:, a], tied[:, b])
        price = np.where(np.sum(held & tied, axis=1) - here >= free, tie_price, 0)
        on_a, on_b = (np.where(tied[:, c], price, cost[:, c]) for c in (a, b))
        return on_b - on_a

    held = swap_copies(copies.taken[rows].reshape(-1, C), problem.group[tasks], compare_costs, EXCHANGE_ARCS)
    copies.taken[rows] = held.ravel()


def choose_greedy_copies(
    problem: Problem, forced: Forced, shares: ShareFamilies, *, now: bool, must: IntArray | None = None
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


def _auction_columns(problem: Problem, shares: ShareFamilies, terms: CopyTerms) -> CopyChoice:
    """Columns that save most, how many copies each client takes of each subtopology, and how many tasks still need."""
    T, C, G, size = problem.T, problem.C, problem.G, problem.standbys + 1
    column = np.flatnonzero(terms.allowed & (terms.worth > 0))  # worth more than a copy in the pool
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


def _round_places(problem: Problem, shares: ShareFamilies, cell: IntArray, gain: IntArray) -> IntArray:
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
    shares: ShareFamilies,
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
