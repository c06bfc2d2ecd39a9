"""Copies under a greatest load: kept where that saves restore work and there is room; the others are dealt.

1. *Keep*: each task is on its best client. Clients that carry too much shed tasks, which go to their next best client with
   room (`_shed`).
2. *Deal*: the other tasks are dealt longest first (`dealing.deal`).
3. *Even out*: dealt tasks are traded for an even load. If loads exceed the level, all tasks are traded at any restore cost.

Standbys are kept and dealt in the same way around the actives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign_models.goals.goal import PairCosts, price_active_migrations
from optassign_models.load.dealing import deal, even_out
from optassign_models.load.loads import LoadArrays
from optassign_models.policy.constants import EVEN_LOAD, PLACING_ROUNDS, ROUNDING
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem, make_placement, rank_within
from optassign_models.shares import ShareFamilies

_MOST_COST = 1 << 40
"""Greater costs are counted in greater units, so that sums over some hundred tasks stay exact."""


def leave_actives_alone(problem: Problem) -> Problem:
    """Return the problem without standbys, in which an active costs what its task restores beyond what R3 to R5 force.

    R3 to R5 force standbys + 1 copies of a task. Its plan restores only these if its active is on one of their clients, and the
    copy on the active's client in addition otherwise.
    """
    forced = problem.forced
    cost = np.where(forced.mandatory | forced.tied, 0, problem.col_cost)
    in_pool = np.where(forced.pool_tied, 0, problem.pool_cost)
    rank, pool_rank = (cost > 0).astype(np.int64), (in_pool > 0).astype(np.int64)
    return replace(problem, standbys=0, col_cost=cost, pool_cost=in_pool, col_rank=rank, col_rank_now=rank, pool_rank=pool_rank)


def price_actives(problem: Problem) -> PairCosts:
    """Return the price of an active: 4 × its cost in `leave_actives_alone`, 2 more if it restores, 1 more if it migrates."""
    alone = leave_actives_alone(problem)
    unit = 1 + max(int(alone.col_cost.max(initial=0)), int(alone.pool_cost.max(initial=0))) // _MOST_COST
    moves = price_active_migrations(problem)
    columns = alone.col_cost // unit * 4 + 2 * alone.col_rank + moves.columns
    return PairCosts(columns, alone.pool_cost // unit * 4 + 2 * alone.pool_rank + moves.pools)


def place_actives(problem: Problem, loads: LoadArrays, level: float, preferred: IntArray | None = None) -> IntArray:
    """Return (T,) actives that restore little, with loads up to `level`, or beyond if no such actives are found.

    preferred: (T,) clients to begin with, −1 for tasks to be dealt; None: each task's best client.
    """
    alone, task, client = loads.actives_alone, problem.col_task, problem.col_client
    price = price_actives(problem)
    dearest = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(dearest, task, price.columns)
    # The price that an active on each column saves over one elsewhere.
    saved = np.where(problem.pool_size > 0, price.pools, dearest)[task] - price.columns
    active, lost = np.full(problem.T, -1, dtype=np.int64), np.zeros(problem.T, dtype=np.int64)
    may = loads.fits(loads.weight[task], client, level) & (saved > 0)
    column = np.flatnonzero(may)
    column = column[np.lexsort((client[column], -saved[column], task[column]))]
    best = column[rank_within(task[column]) == 0]
    big = best[loads.is_oversized[task[best]]]  # at most one per thread
    best = np.setdiff1d(best, big[rank_within(client[big]) >= loads.threads[client[big]]])
    active[task[best]], lost[task[best]] = client[best], saved[best]
    active = _spare_for_idle(loads, active if preferred is None else preferred, lost)
    active = even_out(alone, deal(alone, active), active < 0, level)
    room = loads.measure_room(level)
    for _ in range(PLACING_ROUNDS):
        before, sums = active, loads.sum_up(active)
        over = np.flatnonzero(sums > room)
        for giver in over[np.argsort(-sums[over] / loads.size[over], kind="stable")].tolist():
            active = _shed(problem, loads, level, saved, active, giver)
        if np.array_equal(active, before):
            break
    if loads.greatest(active) > level * (1 + ROUNDING):
        active = even_out(alone, active, np.ones(problem.T, dtype=np.bool_), level)
    saves_nothing = problem.look_up(np.arange(problem.T) * problem.C + active, saved, 0) <= 0
    return even_out(alone, active, saves_nothing, EVEN_LOAD)


def _shed(problem: Problem, loads: LoadArrays, level: float, saved: IntArray, active: IntArray, giver: int) -> IntArray:
    """Return the actives (T,) after the giver shed its load beyond the level, with tasks that cost little to move.

    Each goes to the client with room that saves most, of equals to the fullest; tasks without such a client stay.
    """
    room, sums = loads.measure_room(level), loads.sum_up(active)
    left = np.minimum(room - sums, loads.capacity * level * (1 + ROUNDING))
    left[giver] = -np.inf

    def find_place(one: int) -> tuple[int, int]:
        """Return the price saved on the best client with room, and that client, or −1 if none has room."""
        bears = left >= loads.weight[one]
        own = slice(problem.col_start[one], problem.col_start[one + 1])
        value = np.zeros(loads.C, dtype=np.int64)
        value[problem.col_client[own]] = saved[own]
        place = int(np.lexsort((left, -value, ~bears))[0])
        return int(value[place]), place if bears[place] else -1

    tasks = np.flatnonzero((active == giver) & ~loads.is_oversized)
    found = [find_place(one) for one in tasks.tolist()]
    tasks = tasks[[place >= 0 for _, place in found]]
    there = np.array([value for value, place in found if place >= 0], dtype=np.int64)
    lost = problem.look_up(tasks * problem.C + giver, saved, 0) - there
    leaving = tasks[_cover_cheaply(loads.weight[tasks], lost, float(sums[giver] - room[giver]))]
    spare = np.sum(active == giver) - loads.least_number[giver]
    active = active.copy()
    for one in leaving[np.argsort(-loads.weight[leaving], kind="stable")][: max(0, spare)].tolist():
        _, place = find_place(one)
        if place >= 0:
            active[one] = place
            left[place] -= loads.weight[one]
    return active


def _cover_cheaply(weight: FloatArray, price: IntArray, need: float) -> IntArray:
    """Return indices (k,) of cheap items whose weights sum up to at least `need`; all of (n,) if their sum is less.

    Each step takes the item of least price per weight that is still needed. Then superfluous items go, the dearest first.
    """
    chosen: list[int] = []
    worth, rest = np.maximum(price, 0).astype(np.float64), need
    while rest > 0 and len(chosen) < len(weight):
        at = int(np.argmin(worth / np.maximum(np.minimum(weight, rest), 1e-12)))
        chosen.append(at)
        worth[at] = np.inf
        rest -= float(weight[at])
    for item in sorted(chosen, key=lambda at: (-int(price[at]), at)):
        if weight[item] <= -rest:
            chosen.remove(item)
            rest += float(weight[item])
    return np.array(sorted(chosen), dtype=np.int64)


def _keep(problem: Problem, column: IntArray, weight: FloatArray, room: FloatArray) -> BoolArray:
    """Return (n,) whether to keep each of the ordered columns (n,): the task lacks a standby, and the client has room (C,).

    `weight`: (n,) of a copy on each column.
    """
    left, free = [problem.standbys] * problem.T, room.tolist()
    is_kept = np.zeros(len(column), dtype=np.bool_)
    pairs = zip(problem.col_task[column].tolist(), problem.col_client[column].tolist(), weight.tolist(), strict=True)
    for at, (task, client, each) in enumerate(pairs):
        if left[task] and each <= free[client]:
            left[task] -= 1
            free[client] -= each
            is_kept[at] = True
    return is_kept


def _spare_for_idle(loads: LoadArrays, active: IntArray, lost: IntArray) -> IntArray:
    """Return the actives (T,), with tasks of least `lost` (T,) set to −1 while idle threads lack tasks to be dealt."""
    number = loads.count_actives(active)
    lacking = int(np.maximum(loads.least_number - number, 0).sum() - np.sum(active < 0))
    active = active.copy()
    for task in np.argsort(lost, kind="stable").tolist() if lacking > 0 else ():
        here = int(active[task])
        if lacking > 0 and here >= 0 and number[here] > loads.least_number[here] and not loads.is_oversized[task]:
            number[here] -= 1
            lacking -= 1
            active[task] = -1
    return active


def place_standbys(problem: Problem, loads: LoadArrays, active: IntArray, level: float) -> Placement:
    """Return the placement with these actives (T,) and the standbys of each logged task (R2, R4), on draining clients last.

    Standbys are where they cost least to restore, then where they were, then where clients carry least: weight up to `level`
    or, if standbys weigh nothing, copies.
    """
    C, n, task, client = problem.C, problem.standbys, problem.col_task, problem.col_client
    logged = np.flatnonzero(problem.logged)
    if not n or not len(logged):
        return make_placement(active, np.zeros(0, dtype=np.int64), C)
    if loads.standbys:
        room = loads.measure_room(level) - loads.sum_up(active)
    else:
        room, one, none = np.full(C, np.inf), problem.logged.astype(np.float64), np.zeros(problem.T, dtype=np.bool_)
        loads = replace(loads, weight=one, is_oversized=none, standby=one, standby_task=np.repeat(logged, n))
    weight = loads.standby[task]
    cost = np.where(problem.forced.mandatory, 0, problem.col_cost)
    may = problem.logged[task] & (loads.size[client] > 0) & (client != active[task]) & (cost < problem.pool_cost[task])
    column = np.flatnonzero(may)
    keys = (client, problem.col_lag, ~problem.col_standby, cost, task, -weight)
    column = column[np.lexsort(tuple(key[column] for key in keys))]
    kept = column[_keep(problem, column, weight[column], room)]
    placed = np.concatenate([active, np.full(len(logged) * n, -1, dtype=np.int64)])
    first = problem.T + (np.cumsum(problem.logged) - 1) * n
    placed[first[task[kept]] + rank_within(task[kept])] = client[kept]
    return loads.read(deal(loads, placed))


def choose_least_loaded(
    loads: LoadArrays, problem: Problem, shares: ShareFamilies, columns: BoolArray
) -> tuple[IntArray, None]:
    """Return the actives (T,), each on one of the task's `columns` (A,), dealt longest first, and no bound."""
    task, client = problem.col_task[columns], problem.col_client[columns]
    barred = np.ones((problem.T, problem.C), dtype=np.bool_)
    barred[task, client] = False
    is_single = np.bincount(task, minlength=problem.T)[task] == 1
    active = np.full(problem.T, -1, dtype=np.int64)
    active[task[is_single]] = client[is_single]
    return deal(loads.actives_alone, active, barred), None
