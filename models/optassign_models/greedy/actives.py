"""Actives chosen greedily: each task on one of the clients where it may be active, in the shares of actives or near them.

1. Tasks with changelog (`choose_logged_actives`): the cheapest clients, if these keep the shares; otherwise an auction in which
   a place is worth more if the task is caught up and was active before. Counts outside of a share then are repaired.
2. Tasks without changelog (`fill_unlogged`) fill what is left of the shares: owners first, the rest dealt out.
3. The rest (`finish_actives`): an exchange repairs missed shares, and small problems save cost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optassign_models.greedy.active_exchange import COLD, MOVED, ActiveOptions, settle_actives
from optassign_models.greedy.algorithms.auction import auction_pairs
from optassign_models.greedy.algorithms.dealing import deal_places
from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.greedy.algorithms.rounding import round_cells
from optassign_models.policy.constants import COSTS_SAVED_UP_TO
from optassign_models.problem import LOGGED, STATELESS, UNLOGGED, IntArray, Problem
from optassign_models.shares import Share, Shares, count_actives


def choose_actives(problem: Problem, shares: Shares, options: ActiveOptions) -> IntArray:
    """(T,) actives of all tasks; every task with changelog must have a column among the options."""
    active = choose_logged_actives(problem, shares, options)
    active = fill_unlogged(problem, shares, active)
    return finish_actives(problem, shares, options, active)


def choose_logged_actives(problem: Problem, shares: Shares, options: ActiveOptions) -> IntArray:
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


def _compute_ideal_share(problem: Problem) -> Share:
    """(C,) floor and ceiling of each client's share of the tasks with changelog.

    This is no share that the answer must keep, but where these actives are in it, those of other tasks nearly always fit in.
    """
    proportion = _compute_proportions(problem) * int(problem.logged.sum())
    return Share(np.floor(proportion + 1e-9).astype(np.int64), np.ceil(proportion - 1e-9).astype(np.int64))


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


def fill_unlogged(problem: Problem, shares: Shares, active: IntArray) -> IntArray:
    """(T,) the actives of tasks with changelog and of tasks without, first the stateful ones.

    The number of tasks of each kind on each client is rounded to what is left of its shares.
    """
    active = np.where(problem.logged, active, -1)
    held = np.bincount(active[active >= 0], minlength=problem.C)
    for kind, share in ((UNLOGGED, shares.stateful), (STATELESS, shares.active)):
        if np.any(problem.kind == kind):
            held = _fill_kind(problem, shares, kind, share, held, active)
    return active


def _fill_kind(problem: Problem, shares: Shares, kind: int, share: Share, held: IntArray, active: IntArray) -> IntArray:
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


def finish_actives(problem: Problem, shares: Shares, options: ActiveOptions, active: IntArray) -> IntArray:
    """(T,) the actives after missed shares are repaired and, if the problem is small, cost is saved."""
    if shares.hold_actives(count_actives(problem, active)):
        arcs = int(options.columns.sum()) + int(options.pools.sum()) + problem.G * problem.C
        if arcs > COSTS_SAVED_UP_TO or np.array_equal(active[problem.logged], options.choose_cheapest(problem)[problem.logged]):
            return active
    return settle_actives(problem, shares, options, active)
