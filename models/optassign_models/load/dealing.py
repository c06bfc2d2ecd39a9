"""Tasks dealt longest first (Graham 1969), then traded until the greatest load falls no more.

1. The heaviest task left goes where its client ends up with the least load.
2. The most loaded client trades at most two tasks (of few: three) for as many of another, until nothing is won. For two clients
   the transfer that would make their loads equal is known; sorting the sums of that many tasks of each side finds the pair that
   comes nearest to it. Partners are the least loaded, then some at random, by a fixed seed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.policy.constants import (
    CLIENTS_FOR_THREE,
    EVEN_STEPS,
    FEW_TASKS,
    LEAST_GAIN,
    MOST_PARTNERS,
    PAIRED_TASKS,
    PARTNERS,
    SEED,
)
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement


def deal_longest_first(loads: LoadArrays, tasks: IntArray, active: IntArray) -> IntArray:
    """(T,) the actives with these tasks dealt onto what the others carry; all other tasks stay where they are.

    An oversized task goes to a thread that is fast enough for it; among equals everything goes to the client of least index.
    Clients that would be left without a task for each thread get the lightest of the tasks dealt.
    """
    active = active.copy()
    active[tasks] = -1
    carried = loads.sum_up(active)
    number = np.bincount(active[active >= 0], minlength=loads.C)
    size, capacity = loads.size[loads.open_clients], loads.capacity[loads.open_clients]
    sums = carried[loads.open_clients]
    missing = np.maximum(loads.least_number[loads.open_clients] - number[loads.open_clients], 0)
    lacking = int(missing.sum())
    order = tasks[np.lexsort((tasks, -loads.weight[tasks], ~loads.is_oversized[tasks]))]
    for place, task in enumerate(order.tolist()):
        weight = loads.weight[task]
        added = np.maximum(weight, capacity) if loads.is_oversized[task] else weight
        ends = (sums + added) / size
        if not loads.has_equal_threads:
            ends = np.maximum(ends, weight / capacity)
        if lacking and len(order) - place <= lacking:
            ends = np.where(missing > 0, ends, np.inf)  # the remaining ones are needed for threads without any
        at = int(np.argmin(ends))
        sums[at] += added[at] if loads.is_oversized[task] else weight
        if missing[at]:
            missing[at] -= 1
            lacking -= 1
        active[task] = loads.open_clients[at]
    return active


def deal_all(loads: LoadArrays) -> IntArray:
    """(T,) all tasks dealt."""
    return deal_longest_first(loads, np.arange(loads.T), np.full(loads.T, -1, dtype=np.int64))


def deal_copies(problem: Problem, loads: LoadArrays) -> Placement:
    """All copies dealt by what they weigh, where standbys weigh something, each to a client without another one of its task."""
    assert loads.standby is not None
    C, T = loads.C, loads.T
    logged = np.flatnonzero(problem.logged)
    task = np.concatenate([np.arange(T), np.repeat(logged, problem.standbys)])
    is_active = np.arange(len(task)) < T
    weight = np.where(is_active, loads.weight[task], loads.standby[task])
    sums = np.zeros(C)
    size = np.where(loads.size > 0, loads.size, 1e-9)  # draining clients come last, and get no actives
    missing = loads.least_number.copy()
    lacking, left = int(missing.sum()), T
    active = np.full(T, -1, dtype=np.int64)
    holders: list[list[int]] = [[] for _ in range(T)]
    keys: list[int] = []
    for item in np.lexsort((task, ~is_active, -weight, ~(is_active & loads.is_oversized[task]))).tolist():
        at, own = int(task[item]), float(weight[item])
        added = np.maximum(own, loads.capacity) if is_active[item] and loads.is_oversized[at] else np.full(C, own)
        ends = np.maximum((sums + added) / size, own / loads.capacity)
        ends[holders[at]] = np.inf
        if is_active[item]:
            ends = np.where(loads.size > 0, ends, np.inf)
            if lacking and left <= lacking and np.any((missing > 0) & np.isfinite(ends)):
                ends = np.where(missing > 0, ends, np.inf)  # the remaining ones are needed for threads without any
            left -= 1
        client = int(np.argmin(ends))
        sums[client] += added[client]
        holders[at].append(client)
        if is_active[item]:
            active[at] = client
            lacking -= bool(missing[client])
            missing[client] = max(0, missing[client] - 1)
        else:
            keys.append(at * C + client)
    return make_placement(active, np.array(keys, dtype=np.int64), C)


def even_out(loads: LoadArrays, active: IntArray, movable: BoolArray, stop_at: float) -> IntArray:
    """(T,) the actives after trades of movable tasks (T,); the greatest load never rises.

    Args:
        stop_at: load at which it ends.
        EVEN_STEPS: trades and tries; a limit that does not depend on the machine (R9).
    """
    return _Exchange(loads, active, movable).run(stop_at, EVEN_STEPS)


def even_out_all(loads: LoadArrays, active: IntArray, stop_at: float) -> IntArray:
    """Trade tasks of `active` (T,) until nothing is won; (T,) the actives after it."""
    return even_out(loads, active, np.ones(loads.T, dtype=np.bool_), stop_at)


class _Exchange:
    """Actives, changed in place, with the sums of each client's small subsets."""

    def __init__(self, loads: LoadArrays, active: IntArray, movable: BoolArray) -> None:
        self._loads, self._active = loads, active.copy()
        self._sums = loads.sum_up(active)
        self._size = np.where(loads.size > 0, loads.size, 1.0)
        movable = movable & ~loads.is_oversized & (active >= 0)
        tasks = np.flatnonzero(movable)
        order = tasks[np.argsort(active[tasks], kind="stable")]
        ends = np.cumsum(np.bincount(active[tasks], minlength=loads.C))
        self._tasks = [part.tolist() for part in np.split(order, ends[:-1])]
        self._number = np.bincount(active[active >= 0], minlength=loads.C)
        self._subsets: dict[int, tuple[FloatArray, IntArray]] = {}
        self._random = np.random.default_rng(SEED)

    def run(self, stop_at: float, EVEN_STEPS: int) -> IntArray:
        """Trade until the greatest load is at most `stop_at`, or the most loaded client finds no partner."""
        loads, open_ = self._loads, self._loads.open_clients
        if len(open_) < 2:
            return self._active
        load = np.full(loads.C, -np.inf)
        load[open_] = self._sums[open_] / self._size[open_]
        best, least = self._active.copy(), float(load.max())
        left = np.zeros(loads.C, dtype=np.bool_)
        left[open_] = True
        for _ in range(EVEN_STEPS):
            giver = int(np.argmax(load))
            if load[giver] <= stop_at:
                break
            others = np.flatnonzero(left)
            partner = self._trade(giver, self._choose_partners(load, others[others != giver]))
            if partner < 0:
                partner = self._trade(giver, self._choose_many(others[others != giver]))
            if partner < 0:
                if load[giver] < least:
                    best, least = self._active.copy(), float(load[giver])
                partner = self._hand_over(giver, load, left)
            if partner < 0:
                break
            for client in (giver, partner):
                load[client] = self._sums[client] / self._size[client]
        return self._active if load.max() < least else best

    def _choose_partners(self, load: FloatArray, others: IntArray) -> IntArray:
        if len(others) <= 2 * PARTNERS:
            return others
        least = others[np.argpartition(load[others], PARTNERS)[:PARTNERS]]
        return np.union1d(least, self._random.choice(others, PARTNERS, replace=False))

    def _choose_many(self, others: IntArray) -> IntArray:
        return others if len(others) <= MOST_PARTNERS else np.sort(self._random.choice(others, MOST_PARTNERS, replace=False))

    def _hand_over(self, giver: int, load: FloatArray, left: BoolArray) -> int:
        """The giver's lightest task goes to the least loaded client, which trades on with others; the giver takes part no more.

        So what is too much for any single partner is spread over many. Returns the partner, or −1 where there is none.
        """
        loads = self._loads
        if not left[giver] or not self._tasks[giver] or self._number[giver] <= loads.least_number[giver]:
            return -1
        task = min(self._tasks[giver], key=lambda t: (loads.weight[t], t))
        left[giver] = False
        able = np.flatnonzero(left & (loads.weight[task] <= load[giver] * loads.capacity))
        able = able[[len(self._tasks[client]) > 2 for client in able.tolist()]]
        if not len(able):
            return -1
        partner = int(able[np.argmin(load[able])])
        self._swap(giver, np.array([task]), partner, np.zeros(0, dtype=np.int64))
        return partner

    def _trade(self, giver: int, partners: IntArray) -> int:
        """Make the trade after which the more loaded of the two has least; the partner, or −1 where none helps."""
        if not len(partners) or not self._tasks[giver]:
            return -1
        sums, pairs = self._list_subsets(giver)
        theirs = [self._list_subsets(int(partner)) for partner in partners]
        lengths = np.array([len(found[0]) for found in theirs])
        their_sums = np.concatenate([found[0] for found in theirs])
        their_pairs = np.concatenate([found[1] for found in theirs])
        who = np.repeat(partners, lengths)
        a, b = self._sums[giver], self._sums[partners]
        size_a, size_b = self._size[giver], self._size[partners]
        ideal = (a * size_b - b * size_a) / (size_a + size_b)
        wanted = their_sums + np.repeat(ideal, lengths)
        above = np.searchsorted(sums, wanted)
        best, trade = a / size_a * (1 - LEAST_GAIN), (-1, -1)
        mine, their_number = _count(pairs), _count(their_pairs)
        for at in (np.minimum(above, len(sums) - 1), np.maximum(above - 1, 0)):
            moved = sums[at] - their_sums
            more = np.maximum((a - moved) / size_a, (self._sums[who] + moved) / self._size[who])
            kept = self._number[giver] - mine[at] + their_number
            given = self._number[who] + mine[at] - their_number
            allowed = (kept >= min(self._loads.least_number[giver], self._number[giver])) & (
                given >= np.minimum(self._loads.least_number[who], self._number[who])
            )
            if not self._loads.has_equal_threads:
                allowed &= self._fit_threads(pairs[at], who, best)
                allowed &= self._fit_threads(their_pairs, np.full(len(who), giver), best)
            more = np.where(allowed, more, np.inf)
            k = int(np.argmin(more))
            if more[k] < best:
                best, trade = float(more[k]), (int(at[k]), k)
        if trade[0] < 0:
            return -1
        mine_at, at = trade
        partner = int(who[at])
        self._swap(giver, pairs[mine_at], partner, their_pairs[at])
        return partner

    def _fit_threads(self, pairs: IntArray, client: IntArray, level: float) -> BoolArray:
        """Whether single threads of the clients bear each of the two tasks."""
        weight = np.append(self._loads.weight, 0.0)  # −1 is no task
        heavier = weight[pairs].max(axis=1)
        fits: BoolArray = heavier <= level * self._loads.capacity[client]
        return fits

    def _list_subsets(self, client: int) -> tuple[FloatArray, IntArray]:
        """Sums of up to two (of few: three) of the client's movable tasks, ascending, and which these are (−1: none)."""
        found = self._subsets.get(client)
        if found is None:
            tasks = np.array(self._tasks[client], dtype=np.int64)
            if len(tasks) > PAIRED_TASKS:
                by_weight = tasks[np.argsort(self._loads.weight[tasks], kind="stable")]
                tasks = by_weight[np.linspace(0, len(tasks) - 1, PAIRED_TASKS).astype(np.int64)]
            slots = np.concatenate([tasks, [-1]])
            first, second = np.triu_indices(len(slots), k=1)
            pairs = np.concatenate([np.stack([slots[first], slots[second]], axis=1), [[-1, -1]]])
            pairs = np.concatenate([pairs, np.full((len(pairs), 1), -1)], axis=1)
            if 3 <= len(tasks) <= FEW_TASKS and self._loads.C <= CLIENTS_FOR_THREE:
                pairs = np.concatenate([pairs, np.array(list(combinations(tasks.tolist(), 3)), dtype=np.int64)])
            weight = np.append(self._loads.weight, 0.0)
            sums = weight[pairs].sum(axis=1)
            order = np.argsort(sums, kind="stable")
            found = self._subsets[client] = (sums[order], pairs[order])
        return found

    def _swap(self, giver: int, given: IntArray, partner: int, taken: IntArray) -> None:
        for here, there, tasks in ((giver, partner, given), (partner, giver, taken)):
            for task in tasks.tolist():
                if task >= 0:
                    self._active[task] = there
                    self._tasks[here].remove(task)
                    self._tasks[there].append(task)
                    self._number[here] -= 1
                    self._number[there] += 1
                    self._sums[here] -= self._loads.weight[task]
                    self._sums[there] += self._loads.weight[task]
        self._subsets.pop(giver, None)
        self._subsets.pop(partner, None)


def _count(pairs: IntArray) -> IntArray:
    return np.sum(pairs >= 0, axis=1)
