"""Copies under a greatest load: kept where that saves restore work and there is room; the others are dealt and traded.

1. *Keep*: each task is on its best client. Clients that carry too much shed tasks, which go to their next best client with
   room (`_shed`).
2. *Deal*: the other tasks are dealt longest first (Graham 1969). The heaviest copy left goes to the client that ends up with
   the least load.
3. *Even out*: dealt tasks are traded for an even load. If loads exceed the level, all tasks are traded at any restore cost. The
   most loaded client trades up to two copies (three if it has few) for up to as many of a little loaded client, until no trade
   helps. The transfer that makes the loads of two clients equal is known, and sorted sums of both sides show the pair of sets
   nearest to it.

Standbys are kept and dealt in the same way around the actives. If the load of copies that are all dealt is beyond the tolerance
of a bound, it is the target (`LoadTarget`). Shares do not bind then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from optassign_models.goals.goal import PairCosts, price_active_migrations
from optassign_models.load.loads import LOAD_NAME, LoadArrays, bound_greatest_load, read_loads
from optassign_models.policy import constants as policy
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem, make_placement, rank_within
from optassign_models.shares import ShareFamilies

_MOST_COST = 1 << 40
"""Greater costs are counted in greater units, so that sums over some hundred tasks stay exact."""


def deal(loads: LoadArrays, client: IntArray, barred: BoolArray | None = None) -> IntArray:
    """Return (n,) the clients after copies without one (−1) were dealt, each to a client without another copy of its task.

    An oversized task goes to a thread that is fast enough. Among equals a copy goes to the client of least index. Clients that
    would be left without a task for each thread get the lightest of the active copies dealt. Draining clients come last.

    barred: (T, C) clients that a task may not go to; None bars none.
    """
    client, task, weights, is_active = client.copy(), loads.copy_task, loads.copy_weight, loads.is_active
    sums, is_oversized = loads.sum_up(client), loads.is_oversized[task] & is_active
    drains, size = loads.size <= 0, np.where(loads.size > 0, loads.size, 1.0)
    missing = np.maximum(loads.least_number - loads.count_actives(client), 0)
    left = int(np.sum(client[: loads.T] < 0))
    held = loads.list_held(client) if barred is None else loads.list_held(client) | barred
    waiting = np.flatnonzero(client < 0)
    order = np.lexsort((task[waiting], ~is_active[waiting], -weights[waiting], ~is_oversized[waiting]))
    for at in waiting[order].tolist():
        weight = float(weights[at])
        added = np.maximum(weight, loads.capacity) if is_oversized[at] else np.full(loads.C, weight)
        ends = (sums + added) / size
        ends = np.maximum(ends, weight / loads.capacity) + policy.ROUNDING * ends  # a task uses one thread
        ends[held[task[at]]] = np.inf
        if is_active[at]:
            if left <= missing.sum() and np.isfinite(ends[missing > 0]).any():
                ends[missing == 0] = np.inf  # idle threads need all remaining tasks
            left -= 1
        if drains.any() and np.isfinite(ends[~drains]).any():
            ends[drains] = np.inf
        there = int(np.argmin(ends))
        client[at] = there
        sums[there] += added[there]
        held[task[at], there] = True
        missing[there] = max(0, missing[there] - is_active[at])
    return client


def even_out(loads: LoadArrays, client: IntArray, movable: BoolArray, stop_at: float) -> IntArray:
    """Return (n,) the clients after trades of movable copies (n,), until no load is above `stop_at` or no trade helps.

    `client`: (n,) clients to begin with. The greatest load never rises.
    """
    return _Trades(loads, client, movable).run(stop_at)


class _Trades:
    """A local search by trades of copies, changed in place, with the cached sums of each client's small subsets."""

    def __init__(self, loads: LoadArrays, client: IntArray, movable: BoolArray) -> None:
        is_oversized = loads.is_oversized[loads.copy_task] & loads.is_active
        self._loads, self._client, self._held = loads, client.copy(), loads.list_held(client)
        self._movable = movable & ~is_oversized & (client >= 0) & (loads.size[client] > 0)
        self._sums, self._number = loads.sum_up(client), loads.count_actives(client)
        self._size = np.where(loads.size > 0, loads.size, 1.0)
        self._weight = np.append(loads.copy_weight, 0.0)  # −1 is no copy
        self._subsets: dict[int, tuple[FloatArray, IntArray, IntArray, FloatArray]] = {}

    def run(self, stop_at: float) -> IntArray:
        """Trade until the greatest load is at most `stop_at`, or the most loaded client finds no partner."""
        best, least, trading = self._client.copy(), np.inf, self._loads.size > 0
        for _ in range(policy.EVEN_STEPS):
            load = np.where(self._loads.size > 0, self._sums / self._size, -np.inf)
            giver = int(np.argmax(load))
            if load[giver] <= stop_at:
                return self._client
            others = np.flatnonzero(trading & (np.arange(len(load)) != giver))
            trade = self._find_trade(giver, others[np.argsort(load[others], kind="stable")[: 2 * policy.PARTNERS]])
            if trade is None:
                if load[giver] < least:
                    best, least = self._client.copy(), float(load[giver])
                trade, trading[giver] = self._find_handover(giver, load, trading), False
            if trade is None:
                return best
            self._make(giver, *trade)
        return self._client if load.max() < least else best

    def _find_handover(self, giver: int, load: FloatArray, trading: BoolArray) -> tuple[IntArray, int, IntArray] | None:
        """Return a trade that hands the giver's lightest copy to the least loaded client; None if no client can take it.

        The giver takes part in no further trade. Many clients together can absorb a copy that no single client can.
        """
        on = np.flatnonzero(self._movable & (self._client == giver))
        if not trading[giver] or not len(on) or self._number[giver] <= self._loads.least_number[giver]:
            return None
        lightest = on[[np.argmin(self._weight[on])]]
        able = trading & (self._weight[lightest] <= load[giver] * self._loads.capacity)
        able &= np.bincount(self._client[self._movable], minlength=self._loads.C) > 2
        able &= ~self._held[self._loads.copy_task[lightest[0]]]
        able[giver] = False
        if not able.any():
            return None
        return lightest, int(np.argmin(np.where(able, load, np.inf))), lightest[:0]

    def _find_trade(self, giver: int, partners: IntArray) -> tuple[IntArray, int, IntArray] | None:
        """Return the trade after which the greater load of both clients is least; None if no trade helps.

        A trade is the copies given (k,), the partner, and the copies taken (k,), each padded with −1.
        """
        if not len(partners):
            return None
        loads, capacity = self._loads, self._loads.capacity
        sums, sets, actives, heaviest = self._list_subsets(giver)
        theirs = [self._list_subsets(int(partner)) for partner in partners]
        their_sums, their_sets, their_actives, their_heaviest = map(np.concatenate, zip(*theirs, strict=True))
        partner = np.repeat(partners, [len(part[0]) for part in theirs])
        a, b, size_a, size_b = self._sums[giver], self._sums[partner], self._size[giver], self._size[partner]
        above = np.searchsorted(sums, their_sums + (a * size_b - b * size_a) / (size_a + size_b))
        least, best, trade = np.minimum(loads.least_number, self._number), a / size_a * (1 - policy.LEAST_GAIN), None
        for at in (np.minimum(above, len(sums) - 1), np.maximum(above - 1, 0)):
            moved = sums[at] - their_sums
            gained = their_actives - actives[at]
            allowed = (self._number[giver] + gained >= least[giver]) & (self._number[partner] - gained >= least[partner])
            allowed &= (capacity[partner] >= capacity[giver]) | (heaviest[at] <= best * capacity[partner])
            allowed &= (capacity[giver] >= capacity[partner]) | (their_heaviest <= best * capacity[giver])
            more = np.where(allowed, np.maximum((a - moved) / size_a, (b + moved) / size_b), np.inf)
            for _ in range(policy.TRADE_TRIES):
                k = int(np.argmin(more))
                if more[k] >= best:
                    break
                if self._may_move(sets[at[k]], giver, their_sets[k], int(partner[k])):
                    best, trade = float(more[k]), (sets[at[k]], int(partner[k]), their_sets[k])
                    break
                more[k] = np.inf
        return trade

    def _may_move(self, given: IntArray, giver: int, taken: IntArray, partner: int) -> bool:
        """Return whether a trade leaves each task with at most one copy on both clients."""
        for moving, leaving, there in ((given, taken, partner), (taken, given, giver)):
            tasks, gone = (self._loads.copy_task[each[each >= 0]].tolist() for each in (moving, leaving))
            if len({*tasks}) < len(tasks) or any(self._held[task, there] and task not in gone for task in tasks):
                return False
        return True

    def _list_subsets(self, client: int) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
        """Return ascending sums (k,) of sets of movable copies of a client, and the copies (k, 3) of each set, padded with −1.

        The third value has the number of active copies (k,), the fourth the weight of the heaviest copy (k,). Sets have up to
        two copies, three for few copies and few clients (`FEW_TASKS`, `CLIENTS_FOR_THREE`), and include the empty set. At most
        `PAIRED_TASKS` copies are combined, evenly spaced by weight if there are more.
        """
        if client not in self._subsets:
            on = np.flatnonzero(self._movable & (self._client == client))
            if len(on) > policy.PAIRED_TASKS:
                by_weight = on[np.argsort(self._weight[on], kind="stable")]
                on = by_weight[np.linspace(0, len(on) - 1, policy.PAIRED_TASKS).astype(np.int64)]
            most = 3 if len(on) <= policy.FEW_TASKS and self._loads.C <= policy.CLIENTS_FOR_THREE else 2
            listed = [chosen + (-1,) * (3 - size) for size in range(most + 1) for chosen in combinations(on.tolist(), size)]
            sets = np.array(listed, dtype=np.int64)
            sets = sets[np.argsort(self._weight[sets].sum(axis=1), kind="stable")]
            weight, actives = self._weight[sets], np.sum((sets >= 0) & (sets < self._loads.T), axis=1)
            self._subsets[client] = weight.sum(axis=1), sets, actives, weight.max(axis=1)
        return self._subsets[client]

    def _make(self, giver: int, given: IntArray, partner: int, taken: IntArray) -> None:
        """Apply a trade as `_find_trade` returns it."""
        moves = [(each[each >= 0], here, there) for each, here, there in ((given, giver, partner), (taken, partner, giver))]
        for copies, here, _ in moves:
            self._held[self._loads.copy_task[copies], here] = False
        for copies, here, there in moves:
            self._client[copies] = there
            self._held[self._loads.copy_task[copies], there] = True
            moved, number = self._weight[copies].sum(), int(np.sum(copies < self._loads.T))
            self._sums[[here, there]] += -moved, moved
            self._number[[here, there]] += -number, number
            self._subsets.pop(here, None)


@dataclass(frozen=True, eq=False)
class LoadTarget:
    """The greatest load and the idle threads that count as balanced, and a placement that keeps both."""

    loads: LoadArrays
    least: float
    """A lower bound of the greatest load of any assignment, in even spreads."""
    most: float
    """The greatest load that counts as balanced, in even spreads."""
    idle: int
    """Threads that may be idle while others have two tasks: 0, unless dealing leaves some."""
    dealt: Placement
    """A placement of the copies that keeps `most` and `idle` at any restore cost; without standbys if these weigh nothing."""

    @classmethod
    def of(cls, problem: Problem, tolerance: float) -> LoadTarget:
        """Return the target of loads within the tolerance of the bound, or no greater than dealing reaches."""
        loads = read_loads(problem)
        least, number = bound_greatest_load(loads), len(loads.copy_task)
        every, most = np.ones(number, dtype=np.bool_), least * (1 + tolerance)
        client = deal(loads, np.full(number, -1, dtype=np.int64))
        for stop_at in (most, least):
            client = even_out(loads, client, every, stop_at)
            greatest, idle = loads.greatest(client), loads.count_idle(client)
            if greatest <= most * (1 + policy.ROUNDING) and not idle:
                break
        return cls(loads, least, max(most, greatest), idle, loads.read(client))

    @property
    def most_of_actives(self) -> float:
        """The part of `most` for active copies alone, which leaves room for standbys if these have weight."""
        loads = self.loads
        if not loads.standbys:
            return self.most
        active = float(loads.weight.sum())
        share = active / max(active + loads.standbys * float(loads.standby.sum()), 1e-12)
        return max(self.most * share, bound_greatest_load(loads.actives_alone))

    def bound_measures(self, problem: Problem, placed: Placement) -> Mapping[str, float]:
        """Return goal → bound in the units of its measure, rounded down as the measure is rounded.

        Draining clients that limits leave copies on (in `placed`) carry load too, but their standbys weigh nothing.
        """
        least, size = self.least, problem.threads * self.loads.capacity
        if not problem.staying[self.loads.locate(placed)].all():
            least = bound_greatest_load(replace(self.loads.actives_alone, size=size))
        return {LOAD_NAME: math.floor(least * 1e6) / 1e6}

    def holds(self, placed: Placement) -> bool:
        """Return whether the load is balanced."""
        greatest, idle = self.measure(placed)
        return greatest <= self.most * (1 + policy.ROUNDING) and idle <= self.idle

    def measure(self, placed: Placement) -> tuple[float, int]:
        """Return the greatest load of a placement and its number of idle threads."""
        return self.loads.greatest(self.loads.locate(placed)), self.loads.count_idle(placed.active)

    def widen_to(self, placed: Placement) -> LoadTarget:
        """Return a target that the placement keeps."""
        greatest, idle = self.measure(placed)
        return replace(self, most=max(self.most, greatest), idle=max(self.idle, idle))


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
    sums = loads.sum_up(active)
    over = np.flatnonzero(sums > loads.measure_room(level))
    for giver in over[np.argsort(-sums[over] / loads.size[over], kind="stable")].tolist():
        active = _shed(problem, loads, level, saved, active, giver)
    if loads.greatest(active) > level * (1 + policy.ROUNDING):
        active = even_out(alone, active, np.ones(problem.T, dtype=np.bool_), level)
    saves_nothing = problem.look_up(np.arange(problem.T) * problem.C + active, saved, 0) <= 0
    return even_out(alone, active, saves_nothing, policy.EVEN_LOAD)


def _shed(problem: Problem, loads: LoadArrays, level: float, saved: IntArray, active: IntArray, giver: int) -> IntArray:
    """Return the actives (T,) after the giver shed its load beyond the level, with tasks that cost little to move.

    Each goes to the client with room that saves most, of equals to the fullest; tasks without such a client stay.
    """
    room, sums = loads.measure_room(level), loads.sum_up(active)
    left = np.minimum(room - sums, loads.capacity * level * (1 + policy.ROUNDING))
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
