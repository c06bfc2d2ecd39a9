"""Copies dealt longest first (Graham 1969), then traded until the greatest load falls no more.

1. The heaviest copy left goes to the client that ends up with the least load.
2. The most loaded client trades at most two copies (of few: three) for as many of another client, until nothing is won. For
   two clients the transfer that would make their loads equal is known. Sorting the sums of both sides finds the pair of sets
   that comes nearest to it. Partners are the least loaded clients, then clients at random, by a fixed seed.

The load that this reaches, if it is beyond the tolerance of a bound, is the target (`LoadTarget`). Shares demand nothing then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from optassign_models.load.loads import LOAD_NAME, LoadArrays, bound_greatest_load, read_loads
from optassign_models.policy.constants import (
    CLIENTS_FOR_THREE,
    EVEN_STEPS,
    FEW_TASKS,
    LEAST_GAIN,
    PAIRED_TASKS,
    PARTNERS,
    ROUNDING,
    SEED,
    TRADE_TRIES,
)
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem


def deal(loads: LoadArrays, client: IntArray) -> IntArray:
    """Return (n,) the clients after copies without one (−1) were dealt, each to a client without another copy of its task.

    An oversized task goes to a thread that is fast enough. Among equals a copy goes to the client of least index. Clients that
    would be left without a task for each thread get the lightest of the active copies dealt.
    """
    client, task, weights, is_active = client.copy(), loads.copy_task, loads.copy_weight, loads.is_active
    sums, is_oversized = loads.sum_up_copies(client), loads.is_oversized[task] & is_active
    open_, size = loads.size > 0, np.where(loads.size > 0, loads.size, 1e-9)  # draining clients come last
    missing = np.maximum(loads.least_number - np.bincount(client[: loads.T][client[: loads.T] >= 0], minlength=loads.C), 0)
    lacking, left = int(missing.sum()), int(np.sum(client[: loads.T] < 0))
    holders: dict[int, list[int]] = {}
    if len(client) > loads.T:
        for at in np.flatnonzero(client >= 0).tolist():
            holders.setdefault(int(task[at]), []).append(int(client[at]))
    waiting = np.flatnonzero(client < 0)
    order = np.lexsort((task[waiting], ~is_active[waiting], -weights[waiting], ~is_oversized[waiting]))
    for at in waiting[order].tolist():
        weight = float(weights[at])
        added = np.maximum(weight, loads.capacity) if is_oversized[at] else np.full(loads.C, weight)
        ends = (sums + added) / size
        if not loads.has_equal_threads:
            ends = np.maximum(ends, weight / loads.capacity) + ROUNDING * ends
        ends[holders.get(int(task[at]), [])] = np.inf
        if is_active[at]:
            ends[~open_] = np.inf
            if lacking and left <= lacking and np.any((missing > 0) & np.isfinite(ends)):
                ends = np.where(missing > 0, ends, np.inf)  # the remaining ones are needed for threads without any
            left -= 1
        there = int(np.argmin(ends))
        client[at] = there
        sums[there] += added[there]
        if len(client) > loads.T:
            holders.setdefault(int(task[at]), []).append(there)
        if is_active[at] and missing[there]:
            missing[there] -= 1
            lacking -= 1
    return client


def even_out(loads: LoadArrays, client: IntArray, movable: BoolArray, stop_at: float) -> IntArray:
    """Return (n,) the clients after trades of movable copies (n,), from `client` (n,), until the greatest load is `stop_at`.

    The greatest load never rises.
    """
    return _Trades(loads, client, movable).run(stop_at)


class _Trades:
    """Copies on clients, changed in place, with the sums of each client's small subsets."""

    def __init__(self, loads: LoadArrays, client: IntArray, movable: BoolArray) -> None:
        self._loads, self._client, self._task = loads, client.copy(), loads.copy_task
        self._sums = loads.sum_up_copies(client)
        self._size = np.where(loads.size > 0, loads.size, 1.0)
        movable = movable & ~(loads.is_oversized[self._task] & loads.is_active) & (client >= 0)
        movable &= loads.size[client] > 0
        on = np.flatnonzero(movable)
        order = on[np.argsort(client[on], kind="stable")]
        ends = np.cumsum(np.bincount(client[on], minlength=loads.C))
        self._on = [part.tolist() for part in np.split(order, ends[:-1])]
        self._number = np.bincount(client[: loads.T][client[: loads.T] >= 0], minlength=loads.C)
        self._weight = np.append(loads.copy_weight, 0.0)  # −1 is no copy
        self._is_active = np.append(loads.is_active, False)
        has_standbys = len(client) > loads.T
        self._held = {*zip(self._task.tolist(), client.tolist(), strict=True)} if has_standbys else set()
        self._subsets: dict[int, tuple[FloatArray, IntArray]] = {}
        self._random = np.random.default_rng(SEED)

    def run(self, stop_at: float) -> IntArray:
        """Trade until the greatest load is at most `stop_at`, or the most loaded client finds no partner."""
        loads, open_ = self._loads, self._loads.open_clients
        if len(open_) < 2:
            return self._client
        load = np.full(loads.C, -np.inf)
        load[open_] = self._sums[open_] / self._size[open_]
        best, least = self._client.copy(), float(load.max())
        left = np.zeros(loads.C, dtype=np.bool_)
        left[open_] = True
        for _ in range(EVEN_STEPS):
            giver = int(np.argmax(load))
            if load[giver] <= stop_at:
                break
            others = np.flatnonzero(left)
            others = others[others != giver]
            if len(others) > 2 * PARTNERS:
                lightest = others[np.argpartition(load[others], PARTNERS)[:PARTNERS]]
                others = np.union1d(lightest, self._random.choice(others, PARTNERS, replace=False))
            partner = self._trade(giver, others)
            if partner < 0:
                if load[giver] < least:
                    best, least = self._client.copy(), float(load[giver])
                partner = self._hand_over(giver, load, left)
            if partner < 0:
                break
            for client in (giver, partner):
                load[client] = self._sums[client] / self._size[client]
        return self._client if load.max() < least else best

    def _hand_over(self, giver: int, load: FloatArray, left: BoolArray) -> int:
        """Hand the giver's lightest copy to the least loaded client. Return that client, or −1 if there is none.

        The giver takes part in no further trade. Many clients together can take what one cannot.
        """
        loads = self._loads
        if not left[giver] or not self._on[giver] or self._number[giver] <= loads.least_number[giver]:
            return -1
        at = min(self._on[giver], key=lambda one: (self._weight[one], one))
        left[giver] = False
        able = np.flatnonzero(left & (self._weight[at] <= load[giver] * loads.capacity))
        able = able[[len(self._on[client]) > 2 and self._may_move((at,), (), client) for client in able.tolist()]]
        if not len(able):
            return -1
        partner = int(able[np.argmin(load[able])])
        self._swap(giver, (at,), partner, ())
        return partner

    def _trade(self, giver: int, partners: IntArray) -> int:
        """Make the trade after which the more loaded of the two has least; return the partner, or −1 if no trade helps."""
        if not len(partners) or not self._on[giver]:
            return -1
        sums, sets = self._list_subsets(giver)
        theirs = [self._list_subsets(int(partner)) for partner in partners]
        lengths = np.array([len(found[0]) for found in theirs])
        their_sums = np.concatenate([found[0] for found in theirs])
        their_sets = np.concatenate([found[1] for found in theirs])
        who = np.repeat(partners, lengths)
        a, b = self._sums[giver], self._sums[partners]
        size_a, size_b = self._size[giver], self._size[partners]
        ideal = (a * size_b - b * size_a) / (size_a + size_b)
        above = np.searchsorted(sums, their_sums + np.repeat(ideal, lengths))
        best = a / size_a * (1 - LEAST_GAIN)
        trade: tuple[IntArray, int, IntArray] | None = None
        mine, their_number = (self._is_active[each].sum(axis=1) for each in (sets, their_sets))
        least = np.minimum(self._loads.least_number, self._number)
        for at in (np.minimum(above, len(sums) - 1), np.maximum(above - 1, 0)):
            moved = sums[at] - their_sums
            more = np.maximum((a - moved) / size_a, (self._sums[who] + moved) / self._size[who])
            allowed = self._number[giver] - mine[at] + their_number >= least[giver]
            allowed &= self._number[who] + mine[at] - their_number >= least[who]
            if not self._loads.has_equal_threads:
                allowed &= self._weight[sets[at]].max(axis=1) <= best * self._loads.capacity[who]
                allowed &= self._weight[their_sets].max(axis=1) <= best * self._loads.capacity[giver]
            more = np.where(allowed, more, np.inf)
            for _ in range(TRADE_TRIES if self._held else 1):
                k = int(np.argmin(more))
                if more[k] >= best:
                    break
                given, partner, taken = sets[at[k]], int(who[k]), their_sets[k]
                if self._may_move(given, taken, partner) and self._may_move(taken, given, giver):
                    best, trade = float(more[k]), (given, partner, taken)
                    break
                more[k] = np.inf
        if trade is None:
            return -1
        self._swap(giver, *trade)
        return trade[1]

    def _may_move(self, moving: IntArray | tuple[int, ...], leaving: IntArray | tuple[int, ...], there: int) -> bool:
        """Return whether a client may get copies, once others have left it."""
        if not self._held:
            return True
        tasks = [int(self._task[at]) for at in moving if at >= 0]
        gone = {int(self._task[at]) for at in leaving if at >= 0}
        return len({*tasks}) == len(tasks) and all((task, there) not in self._held or task in gone for task in tasks)

    def _list_subsets(self, client: int) -> tuple[FloatArray, IntArray]:
        """Return ascending sums (k,) of up to two (of few: three) movable copies of a client, and the copies (k, 3) or −1.

        At most `PAIRED_TASKS` copies are combined, evenly spaced by weight if there are more. Threes are for few copies and few
        clients (`FEW_TASKS`, `CLIENTS_FOR_THREE`). The empty set is included.
        """
        found = self._subsets.get(client)
        if found is None:
            on = np.array(self._on[client], dtype=np.int64)
            if len(on) > PAIRED_TASKS:
                by_weight = on[np.argsort(self._weight[on], kind="stable")]
                on = by_weight[np.linspace(0, len(on) - 1, PAIRED_TASKS).astype(np.int64)]
            slots = np.concatenate([on, [-1]])
            first, second = np.triu_indices(len(slots), k=1)
            sets = np.concatenate([np.stack([slots[first], slots[second]], axis=1), [[-1, -1]]])
            sets = np.concatenate([sets, np.full((len(sets), 1), -1)], axis=1)
            if 3 <= len(on) <= FEW_TASKS and self._loads.C <= CLIENTS_FOR_THREE:
                sets = np.concatenate([sets, np.array(list(combinations(on.tolist(), 3)), dtype=np.int64)])
            sums = self._weight[sets].sum(axis=1)
            order = np.argsort(sums, kind="stable")
            found = self._subsets[client] = (sums[order], sets[order])
        return found

    def _swap(self, giver: int, given: IntArray | tuple[int, ...], partner: int, taken: IntArray | tuple[int, ...]) -> None:
        for here, there, moving in ((giver, partner, given), (partner, giver, taken)):
            for at in (int(one) for one in moving if one >= 0):
                self._client[at] = there
                self._on[here].remove(at)
                self._on[there].append(at)
                self._number[here] -= self._is_active[at]
                self._number[there] += self._is_active[at]
                self._sums[here] -= self._weight[at]
                self._sums[there] += self._weight[at]
        if self._held:
            moves = [(given, giver, partner), (taken, partner, giver)]
            self._held -= {(int(self._task[at]), here) for moving, here, _ in moves for at in moving if at >= 0}
            self._held |= {(int(self._task[at]), there) for moving, _, there in moves for at in moving if at >= 0}
        self._subsets.pop(giver, None)
        self._subsets.pop(partner, None)


@dataclass(frozen=True, eq=False)
class LoadTarget:
    """The greatest load to allow, and a placement that keeps it. No thread may be idle while another has two tasks."""

    loads: LoadArrays
    least: float
    """A bound of the greatest load, in even spreads."""
    most: float
    """The greatest load that is balanced."""
    idle: int
    """Threads that may be idle while others have two tasks: 0, unless loads are not balanced otherwise."""
    dealt: Placement
    """A placement of the copies with that load, whatever it restores; without standbys where these weigh nothing."""

    @classmethod
    def of(cls, problem: Problem, tolerance: float) -> LoadTarget:
        """Return the demand that loads are within the tolerance of the bound, or no greater than dealing reaches."""
        loads = read_loads(problem)
        least, number = bound_greatest_load(loads), len(loads.copy_task)
        every, most = np.ones(number, dtype=np.bool_), least * (1 + tolerance)
        client = deal(loads, np.full(number, -1, dtype=np.int64))
        for stop_at in (most, least):
            client = even_out(loads, client, every, stop_at)
            dealt = loads.read(client)
            greatest, idle = loads.greatest_of(dealt), loads.count_idle(dealt.active)
            if greatest <= most * (1 + ROUNDING) and not idle:
                break
        return cls(loads, least, max(most, greatest), idle, dealt)

    @property
    def most_of_actives(self) -> float:
        """The same as `most` of active copies alone, so that their standbys have room where these weigh something."""
        loads = self.loads
        if loads.standby is None:
            return self.most
        active = float(loads.weight.sum())
        share = active / max(active + loads.standbys * float(loads.standby.sum()), 1e-12)
        return max(self.most * share, bound_greatest_load(loads.actives_alone))

    @property
    def bounds(self) -> Mapping[str, float]:
        """Goal → bound in the units of its measure, rounded down as the measure is rounded."""
        return {LOAD_NAME: math.floor(self.least * 1e6) / 1e6}

    def holds(self, placed: Placement) -> bool:
        """Return whether the load is balanced."""
        greatest, idle = self.measure(placed)
        return greatest <= self.most * (1 + ROUNDING) and idle <= self.idle

    def measure(self, placed: Placement) -> tuple[float, int]:
        """Return the greatest load of a placement and its number of idle threads."""
        return self.loads.greatest_of(placed), self.loads.count_idle(placed.active)

    def widen_to(self, placed: Placement) -> LoadTarget:
        """Return a demand that the placement meets."""
        greatest, idle = self.measure(placed)
        return replace(self, most=max(self.most, greatest), idle=max(self.idle, idle))
