"""The weight of copies on clients: copies as items, clients as bins of different sizes, oversized tasks alone.

Loads are in *even spreads*, and an *oversized* task counts as one busy thread (docs/reference/rules.md, "Balanced under load").

`bound_greatest_load` is a lower bound of the greatest load over all assignments. It needs no model and no solver. A level L is
impossible if any of these conditions fails, for a threshold θ and the clients with a thread that bears θ at L:

* the tasks of weight ≥ θ fit into the sizes of these clients, L × size in all;
* no client has more of them than ⌊L × size ÷ θ⌋ (pigeonhole);
* if all weights are whole multiples of one weight g, a client carries whole multiples of g only.

All three conditions weaken as L grows, so bisection finds the greatest impossible level. The first one with θ = 0 is the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optassign_models.policy.constants import BOUND_STEPS, ROUNDING, SPLITS, THRESHOLDS
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem, make_placement

LOAD_NAME = "load"
"""The name of the goal, and the key of its data in a problem."""
_GRAIN = 10**9


@dataclass(frozen=True, eq=False)
class TaskWeights:
    """The goal's data from a snapshot."""

    of_task: IntArray
    """(T,) load of each active copy, in whole units."""
    standby_share: float = 0.0
    """The load of a standby, as a share of the load of its active copy."""


@dataclass(frozen=True, eq=False)
class LoadArrays:
    """Weights and sizes of one problem. Its copies (n,) are the actives, task by task, then the standbys with weight.

    Methods take the clients of all copies (n,) or of the actives alone (T,).
    """

    weight: FloatArray
    """(T,) weight of each active copy, in even spreads of a fastest thread. Each of k oversized tasks weighs the capacity of
    the k-th fastest thread."""
    is_oversized: BoolArray
    """(T,) whether the task is too heavy to balance and takes one thread for itself."""
    size: FloatArray
    """(C,) threads × capacity; 0 for a draining client, unless all drain."""
    capacity: FloatArray
    """(C,) capacity of one thread, relative to the greatest of the open clients."""
    threads: IntArray
    """(C,) threads; 0 for a draining client, unless all drain."""
    standby: FloatArray
    """(T,) weight of each standby, in the unit of `weight`; 0 if standbys weigh nothing."""
    standbys: int
    """Standbys with weight of each logged task, at most one on each other client that stays; 0 if standbys weigh nothing."""
    standby_task: IntArray
    """(S,) the task of each standby; empty if standbys weigh nothing."""

    @property
    def T(self) -> int:  # noqa: N802 - the formulation's own letters
        """Number of tasks."""
        return len(self.weight)

    @property
    def C(self) -> int:  # noqa: N802
        """Number of clients."""
        return len(self.size)

    @cached_property
    def open_clients(self) -> IntArray:
        """(k,) the clients that may have tasks, ascending."""
        return np.flatnonzero(self.size > 0)

    @cached_property
    def least_number(self) -> IntArray:
        """(C,) tasks that a client must have before any other may have two on a thread; 0 if tasks are fewer than threads."""
        return self.threads if int(self.threads.sum()) <= self.T else np.zeros_like(self.threads)

    @cached_property
    def is_active(self) -> BoolArray:
        """(n,) whether a copy is active."""
        return np.arange(len(self.copy_task)) < self.T

    @property
    def actives_alone(self) -> LoadArrays:
        """The same loads without the weights of standbys."""
        return replace(self, standby=np.zeros(self.T), standbys=0, standby_task=self.standby_task[:0])

    @cached_property
    def copy_task(self) -> IntArray:
        """(n,) task of each copy."""
        return np.concatenate([np.arange(self.T), self.standby_task])

    @cached_property
    def copy_weight(self) -> FloatArray:
        """(n,) weight of each copy, in even spreads."""
        return np.concatenate([self.weight, self.standby[self.standby_task]])

    def locate(self, placed: Placement) -> IntArray:
        """Return (n,) the client of each copy in a placement, which has all standbys of each logged task."""
        return np.concatenate([placed.active, placed.standby_client])[: len(self.copy_task)]

    def read(self, client: IntArray) -> Placement:
        """Return the placement with copies on these clients (n,)."""
        return make_placement(client[: self.T], self.standby_task * self.C + client[self.T :], self.C)

    def weigh_actives(self, task: IntArray, client: IntArray) -> FloatArray:
        """Return (k,) the weight that active copies of tasks (k,) add to clients (k,), in even spreads.

        A task adds its weight; an oversized task adds a whole thread, at least its weight.
        """
        weight = self.weight[task]
        return np.where(self.is_oversized[task], np.maximum(weight, self.capacity[client]), weight)

    def weigh_standbys(self, task: IntArray, client: IntArray) -> FloatArray:
        """Return (k,) the weight that standbys of tasks (k,) add to clients (k,), in even spreads; 0 on draining clients."""
        return np.where(self.size[client] > 0, self.standby[task], 0.0)

    def weigh_copies(self, client: IntArray) -> FloatArray:
        """Return (n,) the weight that each copy adds to its client (n,); 0 for a copy without a client (−1)."""
        of_actives = self.weigh_actives(np.arange(self.T), client[: self.T])
        of_standbys = self.weigh_standbys(self.copy_task[self.T : len(client)], client[self.T :])
        return np.where(client >= 0, np.concatenate([of_actives, of_standbys]), 0.0)

    def sum_up(self, client: IntArray) -> FloatArray:
        """Return (C,) the weight on each client, for copies on clients (n,), −1 for none."""
        sums: FloatArray = np.zeros(self.C)
        np.add.at(sums, client, self.weigh_copies(client))
        return sums

    def greatest(self, client: IntArray) -> float:
        """Return the greatest load of any client, in even spreads, for copies on clients (n,), −1 for none; 0 without copies.

        The load is the weight of the client's copies ÷ its size or, if more, its heaviest copy ÷ a thread's capacity. It is
        infinite if a draining client has a task with weight.
        """
        carried, heaviest = self.sum_up(client), np.zeros(self.C)
        np.maximum.at(heaviest, client, self.weigh_copies(client))
        load = np.maximum(carried / np.where(self.size > 0, self.size, 1.0), heaviest / self.capacity)
        return float(np.where(self.size > 0, load, np.where(carried > 0, np.inf, 0.0)).max(initial=0.0))

    def measure_room(self, level: float) -> FloatArray:
        """Return (C,) the greatest weight of each client at this load; 0 if it drains, even if `level` is infinite."""
        room: FloatArray = np.multiply(self.size, level, out=np.zeros(self.C), where=self.size > 0)
        return room * (1 + ROUNDING)

    def fits(self, weight: FloatArray, client: IntArray, level: float) -> BoolArray:
        """Return (k,) whether copies of weights (k,) may be on clients (k,) at this load: a thread bears the weight."""
        return np.asarray((weight <= level * self.capacity[client] * (1 + ROUNDING)) & (self.size[client] > 0))

    def count_actives(self, client: IntArray) -> IntArray:
        """Return (C,) the number of active copies on each client, for copies on clients (n,), −1 for none."""
        active = client[: self.T]
        return np.bincount(active[active >= 0], minlength=self.C)

    def list_held(self, client: IntArray) -> BoolArray:
        """Return (T, C) whether a client has a copy of a task, for copies on clients (n,), −1 for none."""
        held, has = np.zeros((self.T, self.C), dtype=np.bool_), client >= 0
        held[self.copy_task[: len(client)][has], client[has]] = True
        return held

    def count_idle(self, active: IntArray) -> int:
        """Return the number of threads without a task of `active` (T,) while other threads have two."""
        without = int(np.sum(np.maximum(self.threads - self.count_actives(active), 0)))
        return max(0, without - max(0, int(self.threads.sum()) - self.T))


def read_loads(problem: Problem) -> LoadArrays:
    """Return the loads of a problem, with equal weights if it has none."""
    weights = problem.data_of(LOAD_NAME, TaskWeights)
    raw = np.ones(problem.T) if weights is None else weights.of_task.astype(np.float64)
    threads = np.where(problem.staying, problem.threads, 0)
    of_thread = problem.units / problem.threads
    capacity = of_thread / of_thread[problem.staying].max()  # relative, so that only ratios of capacities matter
    share = 0.0 if weights is None else weights.standby_share
    standbys = min(problem.standbys, max(0, int(problem.staying.sum()) - 1)) if share else 0
    of_standby = np.where(problem.logged, share, 0.0) if standbys else np.zeros(problem.T)
    is_oversized, even, oversized_weight = _set_oversized_apart(raw, raw * (1 + standbys * of_standby), threads, capacity)
    weight = np.where(is_oversized, oversized_weight, raw / even)
    standby_task = np.repeat(np.flatnonzero(problem.logged), problem.standbys if standbys else 0)
    size = threads * capacity
    return LoadArrays(weight, is_oversized, size, capacity, threads, weight * of_standby, standbys, standby_task)


def _set_oversized_apart(
    weight: FloatArray, copies: FloatArray, threads: IntArray, capacity: FloatArray
) -> tuple[BoolArray, float, float]:
    """Return (T,) whether each task is oversized, the even spread of the others (weight per fastest thread), and the capacity
    of the slowest thread with an oversized task.

    `copies`: (T,) the weight of all copies of each task.
    """
    by_capacity = np.argsort(-capacity, kind="stable")
    used = np.diff(np.minimum(np.cumsum(threads[by_capacity]), len(weight)), prepend=0)
    fast = np.repeat(capacity[by_capacity], used)  # of the fastest threads, at most one for each task
    order = np.argsort(-weight, kind="stable")[: len(fast)]
    left = np.cumsum(np.append(copies.sum(), -copies[order]))  # before each task in this order, and after the last one
    size = np.cumsum(np.append((threads * capacity).sum(), -fast))
    is_too_heavy = weight[order] * size[:-1] > left[:-1] * fast * (1 + ROUNDING)
    number = int(np.argmin(np.append(is_too_heavy, False)))
    oversized = np.isin(np.arange(len(weight)), order[:number])
    even = 1.0 if oversized.all() else float(copies[~oversized].sum()) / max(float(size[number]), 1e-12)
    return oversized, even, float(fast[number - 1]) if number else 0.0


def bound_greatest_load(loads: LoadArrays) -> float:
    """Return a load that some client reaches in every assignment, in even spreads; 0 without tasks."""
    if not loads.T:
        return 0.0
    of_standbys = np.tile(loads.standby[loads.standby > 0], loads.standbys)
    weight = np.sort(np.concatenate([loads.weight, of_standbys]))[::-1]  # each copy uses one thread
    sums, grain = np.cumsum(weight), 0.0 if loads.is_oversized.any() else _find_grain(weight)
    of_clients = np.stack([loads.size, loads.capacity])[:, loads.open_clients]
    (size, capacity), number = np.unique(of_clients, axis=1, return_counts=True)
    # A sample of thresholds suffices for a bound. Of equal weights the last has most tasks at its threshold.
    step = max(1, len(weight) * len(size) // THRESHOLDS)
    last = np.flatnonzero(np.append(weight[1:] < weight[:-1] * (1 - ROUNDING), True))[::step]
    threshold, rank = weight[last][:, None], last + 1

    def may_be(level: float) -> bool:
        """Return False only if no assignment has all loads at most `level`."""
        room = size * level * (1 + ROUNDING)
        if grain and float((number * np.floor(room / grain)).sum()) * grain < sums[-1] * (1 - ROUNDING):
            return False
        bears = capacity[None, :] * level * (1 + ROUNDING) >= threshold
        if np.any((bears * (number * room)).sum(axis=1) < sums[last] * (1 - ROUNDING)):
            return False
        most = np.where(bears, number * np.floor(room / threshold), 0.0)
        return bool(np.all(most.sum(axis=1) >= rank))

    low = max(float(weight.sum() / of_clients[0].sum()), float(weight[0] / capacity.max()))
    if may_be(low):
        return low
    high = 2 * low
    while not may_be(high):
        low, high = high, 2 * high
    for _ in range(BOUND_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if may_be(middle) else (middle, high)
    return low


def _find_grain(weight: FloatArray) -> float:
    """Return a weight that divides all weights (n,) into whole multiples; 0 if none is found."""
    least = float(weight.min())
    if least <= 0:
        return 0.0
    parts = weight / least
    for split in range(1, SPLITS + 1):
        multiples = parts * split
        whole = np.rint(multiples)
        if np.all(np.abs(multiples - whole) <= 1e-6) and whole.max() < _GRAIN:
            return least / split * float(np.gcd.reduce(whole.astype(np.int64)))
    return 0.0
