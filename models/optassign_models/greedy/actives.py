"""Actives chosen greedily: each task on one of the clients where it may be active, in the shares of actives or near them.

1. Tasks with changelog (`choose_logged_actives`): the cheapest clients, if these keep the shares; otherwise an auction in which
   a place is worth more if the task is caught up and was active before. Counts outside of a share then are repaired.
2. Tasks without changelog (`fill_unlogged`) fill what is left of the shares: owners first, the rest dealt out.
3. The rest (`finish_actives`): an exchange repairs missed shares, and small problems save cost.

The exchange (`settle_actives`) starts from the actives as they are. Its network is the one of the flow in flows/actives.py:
task → subtopology on client → logged → stateful → client → hub, with a node for each subtopology's pool. If no exchange is
possible, single moves lessen the imbalance (`lessen_imbalance`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optassign_models.greedy.exchange import Exchange, round_cells
from optassign_models.greedy.places import auction_pairs, deal_places, rank_within
from optassign_models.policy.constants import COSTS_SAVED_UP_TO, EXCHANGE_ARCS, LESSENING_TURNS
from optassign_models.problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import ShareBounds, ShareFamilies, count_actives

COLD = 1 << 28
"""Cost of an active that is not caught up."""
MOVED = 1 << 20
"""Cost of an active that leaves its owner."""
_STANDBY_LOST, _EARLY = 1 << 18, 1 << 17
"""Cost of a standby that becomes active and so is lost as a standby; most that an early task costs more when it moves."""


@dataclass(frozen=True, eq=False)
class ActiveOptions:
    """The clients where each task may be active, and the costs."""

    columns: BoolArray
    """(A,) columns that may be used."""
    pools: BoolArray
    """(T,) tasks that may be on any client without a column of the task; a task without changelog on any other client."""
    cost: IntArray
    """(A,) of an active on each column."""
    pool_cost: IntArray
    """(T,) of an active on a client of the pool."""

    @classmethod
    def of(cls, problem: Problem, columns: BoolArray, pools: BoolArray) -> ActiveOptions:
        """Actives not caught up cost most, then moves; a client keeps its smallest tasks. `columns` is (A,), `pools` (T,)."""
        T, task = problem.T, problem.col_task
        moved = np.where(problem.has_owner, MOVED + (T - np.arange(T)) * _EARLY // max(T, 1), 0)
        cold = problem.logged[task] & (problem.col_rank > 0)
        lost = problem.col_standby & ~problem.col_owner
        cost = COLD * cold + np.where(problem.col_owner, 0, moved[task]) + _STANDBY_LOST * lost
        return cls(columns, pools, cost, COLD * (problem.logged & (problem.pool_rank > 0)) + moved)

    def put_first(self, cost: IntArray, pool_cost: IntArray) -> ActiveOptions:
        """The same options where other costs come first; of the old ones, only moves still count.

        Args:
            cost: (A,) of each column.
            pool_cost: (T,) of each task's pool.
        """
        return replace(
            self, cost=4 * cost + self.cost % COLD // MOVED, pool_cost=4 * pool_cost + self.pool_cost % COLD // MOVED
        )

    def choose_cheapest(self, problem: Problem) -> IntArray:
        """(T,) the cheapest column of each task, of equals the first; −1 for tasks without."""
        column = np.flatnonzero(self.columns)
        column = column[np.lexsort((self.cost[column], problem.col_task[column]))]
        column = column[rank_within(problem.col_task[column]) == 0]
        active = np.full(problem.T, -1, dtype=np.int64)
        active[problem.col_task[column]] = problem.col_client[column]
        return active


def settle_actives(
    problem: Problem, shares: ShareFamilies, options: ActiveOptions, active: IntArray, alone: ShareBounds | None = None
) -> IntArray:
    """(T,) the actives after an exchange that brings them into their shares and, where the problem is small, saves cost.

    alone: share (C,) of the tasks with changelog, which then are the only ones looked at, and no cost is saved.
    """
    T, C, G = problem.T, problem.C, problem.G
    scope = np.ones(T, dtype=np.bool_) if alone is None else problem.logged
    pools = options.pools & scope
    column = np.flatnonzero(options.columns & scope[problem.col_task])
    number = np.bincount(problem.col_task[column], minlength=T) + np.where(pools, 2, 0)
    column = column[number[problem.col_task[column]] > 1]  # a task of one column has no choice
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

    network = Exchange()
    sizes = (1, T, len(cells), G, C, C, C)
    hub, task_nodes, cell_nodes, pool_nodes, logged, stateful, clients = (network.add_nodes(n) for n in sizes)
    cost = options.cost[column]
    on = network.add_arcs(task_nodes[task], cell_nodes[np.searchsorted(cells, cell)], here, high=1, cost=cost)
    cost = options.pool_cost[pooled]
    to_pool = network.add_arcs(task_nodes[pooled], pool_nodes[problem.group[pooled]], in_pool[pooled], high=1, cost=cost)
    inside = np.bincount((problem.group * C + active)[in_pool], minlength=G * C)[pool_cells]
    from_pool = network.add_arcs(pool_nodes[pool_cells // C], cell_nodes[np.searchsorted(cells, pool_cells)], inside)
    level = np.stack([clients, stateful, logged])[problem.kind].ravel()[cells]
    share = ShareBounds(shares.group_active.low.ravel()[cells], shares.group_active.high.ravel()[cells])
    network.add_arcs(cell_nodes, level, counts.group_active.ravel()[cells], share=share)
    in_logged = counts.group_active[problem.kind == LOGGED].sum(axis=0)
    if alone is not None:
        network.add_arcs(logged, np.repeat(hub, C), in_logged, share=alone)
    else:
        network.add_arcs(logged, stateful, in_logged, share=None if problem.standbys else shares.copies)
        network.add_arcs(stateful, clients, counts.stateful, share=shares.stateful)
        network.add_arcs(clients, np.repeat(hub, C), counts.active, share=shares.active)
    flow = network.improve(EXCHANGE_ARCS if alone is None and network.arcs <= COSTS_SAVED_UP_TO else 0)

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
    """In place: tasks that use their pool stay on their client while its places (G × C,) last; the others get what is left.

    Args:
        waiting: (T,) tasks that use their pool.
        may_stay: (T,) those of them that did so before.
    """
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


def lessen_imbalance(problem: Problem, shares: ShareFamilies, options: ActiveOptions, active: IntArray) -> IntArray:
    """(T,) the actives after moves of single tasks that lessen the imbalance, or keep it and save cost, until there are none.

    Each turn: the change of imbalance and of cost of every move is computed, and as many of the best moves as do not hinder
    each other are made at once.
    """
    active = active.copy()
    column = np.flatnonzero(options.columns)
    number = np.bincount(problem.col_task[column], minlength=problem.T)
    column = column[number[problem.col_task[column]] > 1]  # a task of one column has no choice
    task, client, cost = problem.col_task[column], problem.col_client[column], options.cost[column]
    own = np.zeros(problem.T, dtype=np.int64)
    for _ in range(LESSENING_TURNS):
        here, source = active[task] == client, active[task]
        own[task[here]] = cost[here]
        change = _compute_changes(problem, shares, active, task, client)
        move = np.flatnonzero(~here & ((change < 0) | ((change == 0) & (cost < own[task]))))
        if not len(move):
            break
        move = move[np.lexsort(((cost - own[task])[move], change[move]))]
        move = _choose_together(problem.C, move, source, client, change)
        active[task[move]] = client[move]
    return active


def _compute_changes(problem: Problem, shares: ShareFamilies, active: IntArray, task: IntArray, client: IntArray) -> IntArray:
    """(n,) by how much the imbalance changes if a task moves from where it is active to the client of the pair."""
    counts, source, group = count_actives(problem, active), active[task], problem.group[task]
    share, count = shares.group_active, counts.group_active
    change = share.next_imbalance(count)[group, client] - share.next_imbalance(count - 1)[group, source]
    stateful: BoolArray = (problem.kind != STATELESS)[group]
    for share, count, counted in (
        (shares.stateful, counts.stateful, stateful),
        (shares.active, counts.active, np.ones_like(stateful)),
    ):
        change += counted * (share.next_imbalance(count)[client] - share.next_imbalance(count - 1)[source])
    return change


def _choose_together(C: int, move: IntArray, source: IntArray, client: IntArray, change: IntArray) -> IntArray:
    """The moves, of those given best first, that can be made at once.

    Each move makes the next one between the same clients less worth: by one on each side of up to three shares.
    """
    gives, takes = np.ones(C, dtype=np.int64), np.ones(C, dtype=np.int64)
    np.maximum.at(gives, source[move], -change[move] // 8)
    np.maximum.at(takes, client[move], -change[move] // 8)
    moving = rank_within(source[move]) < gives[source[move]]
    moving[moving] = rank_within(client[move[moving]]) < takes[client[move[moving]]]
    # A client that both gave and took would be counted wrong; the first move always goes.
    giver = np.zeros(C, dtype=np.bool_)
    giver[source[move[moving]]] = True
    moving &= ~giver[client[move]]
    return move[moving] if moving.any() else move[:1]


def choose_actives(problem: Problem, shares: ShareFamilies, options: ActiveOptions) -> IntArray:
    """(T,) actives of all tasks; every task with changelog must have a column among the options."""
    active = choose_logged_actives(problem, shares, options)
    active = fill_unlogged(problem, shares, active)
    return finish_actives(problem, shares, options, active)


def choose_logged_actives(problem: Problem, shares: ShareFamilies, options: ActiveOptions) -> IntArray:
    """(T,) actives of tasks with changelog on their columns, at least one for each; −1 for tasks without changelog."""
    C, ideal = problem.C, _compute_ideal_share(problem)
    logged = (problem.kind == LOGGED)[:, None]
    active = np.where(problem.logged, options.choose_cheapest(problem), -1)
    number = count_actives(problem, active).group_active
    if shares.group_active.holds(np.where(logged, number, shares.group_active.low)) and ideal.holds(number.sum(axis=0)):
        return active
    # The smallest tasks stand first, and so stay where they are among equals. If no task has a preference, there is no bidding.
    column = np.flatnonzero(options.columns & problem.logged[problem.col_task])
    task, client, cost = problem.col_task[column], problem.col_client[column], options.cost[column]
    cell = problem.group[task] * C + client
    worth = 256 - 64 * (cost >= COLD) - 16 * (cost % COLD >= MOVED)
    taken = np.zeros(len(column), dtype=np.bool_)
    if np.any(worth != worth[np.searchsorted(task, task)]):
        least = np.zeros(problem.T, dtype=np.int64)
        taken = auction_pairs(worth, task, 1, least, cell, shares.group_active.high.ravel(), client, ideal.high)
    active[:] = -1
    active[task[taken]] = client[taken]
    _place_waiting(problem, options, active)
    return settle_actives(problem, shares, options, active, ideal)


def _compute_proportions(problem: Problem) -> npt.NDArray[np.float64]:
    """(C,) each client's share of the actives, summing to 1."""
    units = problem.units if problem.draining.all() else np.where(problem.draining, 0, problem.units)
    proportion: npt.NDArray[np.float64] = units / units.sum()
    return proportion


def _compute_ideal_share(problem: Problem) -> ShareBounds:
    """(C,) floor and ceiling of each client's share of the tasks with changelog.

    This is no share that the answer must keep, but where these actives are in it, those of other tasks nearly always fit in.
    """
    proportion = _compute_proportions(problem) * int(problem.logged.sum())
    return ShareBounds(np.floor(proportion + 1e-9).astype(np.int64), np.ceil(proportion - 1e-9).astype(np.int64))


def _place_waiting(problem: Problem, options: ActiveOptions, active: IntArray) -> None:
    """In place: tasks with changelog that are left (−1) take the cheapest, then the least loaded of their columns."""
    waiting = problem.logged & (active < 0)
    if not waiting.any():
        return
    counts = count_actives(problem, np.where(problem.logged, active, -1))
    over = counts.group_active - np.bincount(problem.group, minlength=problem.G)[:, None] * _compute_proportions(problem)
    in_cell, on_client = over.tolist(), over[problem.kind == LOGGED].sum(axis=0).tolist()
    column = np.flatnonzero(options.columns & waiting[problem.col_task])
    bounds = np.searchsorted(problem.col_task[column], np.flatnonzero(waiting)).tolist()
    clients, costs = problem.col_client[column].tolist(), (options.cost[column] // MOVED).tolist()
    for task, begin, end in zip(np.flatnonzero(waiting).tolist(), bounds, [*bounds[1:], len(column)], strict=True):
        of_group = in_cell[problem.group[task]]
        _, _, client = min((costs[i], of_group[clients[i]] + on_client[clients[i]], clients[i]) for i in range(begin, end))
        active[task] = client
        of_group[client] += 1
        on_client[client] += 1


def fill_unlogged(problem: Problem, shares: ShareFamilies, active: IntArray) -> IntArray:
    """(T,) the actives of tasks with changelog and of tasks without, first the stateful ones.

    The number of tasks of each kind on each client is rounded to what is left of its shares.
    """
    active = np.where(problem.logged, active, -1)
    held = np.bincount(active[active >= 0], minlength=problem.C)
    for kind, share in ((UNLOGGED, shares.stateful), (STATELESS, shares.active)):
        if np.any(problem.kind == kind):
            held = _fill_kind(problem, shares, kind, share, held, active)
    return active


def _fill_kind(
    problem: Problem, shares: ShareFamilies, kind: int, share: ShareBounds, held: IntArray, active: IntArray
) -> IntArray:
    """In place: actives of the tasks of one kind, owners first, the rest dealt out; (C,) the actives of each client then.

    Args:
        kind: UNLOGGED or STATELESS.
        share: (C,) of all actives that are placed after this.
        held: (C,) actives placed so far.
        active: (T,) changed in place.
    """
    C, proportion = problem.C, _compute_proportions(problem)
    groups = np.flatnonzero(problem.kind == kind)
    low, high = shares.group_active.low, shares.group_active.high
    sizes = np.bincount(problem.group, minlength=problem.G)
    owner = np.flatnonzero(problem.col_owner & (problem.kind[problem.group[problem.col_task]] == kind))
    owner = owner[rank_within(problem.col_task[owner]) == 0]
    task, client = problem.col_task[owner], problem.col_client[owner]
    cell = np.searchsorted(groups, problem.group[task]) * C + client
    place, least, rows = rank_within(cell), low[groups], len(groups)
    gain = np.bincount(cell[place == least.ravel()[cell]], minlength=rows * C).reshape(rows, C)
    fixed = held + least.sum(axis=0)
    room = np.maximum(share.low - fixed, 0), np.maximum(share.high - fixed, 0)
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
            active[without_place] = np.argmin(np.where(proportion > 0, held, problem.T))
            held[active[without_place]] += 1
    return held


def finish_actives(problem: Problem, shares: ShareFamilies, options: ActiveOptions, active: IntArray) -> IntArray:
    """(T,) the actives after missed shares are repaired and, if the problem is small, cost is saved."""
    if shares.hold_actives(count_actives(problem, active)):
        arcs = int(options.columns.sum()) + int(options.pools.sum()) + problem.G * problem.C
        if arcs > COSTS_SAVED_UP_TO or np.array_equal(active[problem.logged], options.choose_cheapest(problem)[problem.logged]):
            return active
    return settle_actives(problem, shares, options, active)
