"""The weight of copies on clients: copies as items, clients as bins of different sizes, oversized tasks set apart.

Loads are in *even spreads*, and an *oversized* task counts as one busy thread (docs/reference/rules.md, "Balanced under load").

`bound_greatest_load` is a lower bound of the greatest load of any client, for every way to deal: no model, no solver, and never
the planner's own value. A level L is impossible where any of these fails, for a threshold θ and the clients with a thread that
bears θ at L:

* the tasks of weight ≥ θ fit into the sizes of these clients, L × size in all;
* no client has more of them than ⌊L × size ÷ θ⌋ (pigeonhole);
* where all weights are whole multiples of one weight g, a client carries whole multiples of g only.

All three only get easier as L grows, so the greatest impossible level is found by bisection. The mean is the first of these
with θ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from optassign_models.policy.constants import BOUND_STEPS, ROUNDING, SPLITS, THRESHOLDS
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem, make_placement

LOAD_NAME = "load"
"""The name of the goal, by which a problem has its data."""
_GRAIN = 10**9


@dataclass(frozen=True, eq=False)
class TaskWeights:
    """The goal's data from a snapshot."""

    of_task: IntArray
    """(T,) load of each active copy, in whole units."""
    standby_share: float = 0.0
    """The part of that load that each standby puts on its client."""


@dataclass(frozen=True, eq=False)
class LoadArrays:
    """Weights and sizes of one problem, for all that deals, exchanges and bounds."""

    weight: FloatArray
    """(T,) in even spreads of one of the fastest threads; of an oversized task the capacity of the slowest of the threads that
    are fastest, one for each oversized task."""
    is_oversized: BoolArray
    """(T,) no client can balance it: it takes one thread for itself."""
    size: FloatArray
    """(C,) threads × capacity; 0 for a draining client, unless all drain."""
    capacity: FloatArray
    """(C,) of one thread, as a part of the greatest of all open clients'."""
    threads: IntArray
    """(C,) 0 for a draining client, unless all drain."""
    standby: FloatArray | None = None
    """(T,) what each standby weighs, in the same even spreads; None where standbys weigh nothing."""
    standbys: int = 0
    """The standbys of each task with such a weight, on clients that stay."""
    standby_task: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(S,) the task of each standby that weighs something. The copies (n,) are the active ones, task by task, then these."""

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
    def has_equal_threads(self) -> bool:
        """Whether all open clients' threads have one capacity, so that no task is too heavy for the threads of some."""
        return bool(np.ptp(self.capacity[self.open_clients]) == 0)

    @cached_property
    def least_number(self) -> IntArray:
        """(C,) tasks that a client must have before any other may have two on a thread; 0 where there are too few tasks."""
        return self.threads if int(self.threads.sum()) <= self.T else np.zeros_like(self.threads)

    def weigh_pairs(self, task: IntArray, client: IntArray) -> FloatArray:
        """Return (n,) what each pair of `task` (n,) and `client` (n,) adds to the client's sum, in even spreads.

        A task adds its weight; an oversized task adds a whole thread, at least its weight.
        """
        weight = self.weight[task]
        return np.where(self.is_oversized[task], np.maximum(weight, self.capacity[client]), weight)

    def sum_up(self, active: IntArray) -> FloatArray:
        """Return (C,) what the clients carry."""
        tasks = np.flatnonzero(active >= 0)
        carried = self.weigh_pairs(tasks, active[tasks])
        # If there is no task, bincount gives whole numbers.
        return np.bincount(active[tasks], weights=carried, minlength=self.C).astype(np.float64)

    @property
    def actives_alone(self) -> LoadArrays:
        """The same without the weights of standbys."""
        return replace(self, standby=None, standbys=0, standby_task=self.standby_task[:0])

    @cached_property
    def copy_task(self) -> IntArray:
        """(n,) task of each copy."""
        return np.concatenate([np.arange(self.T), self.standby_task])

    @cached_property
    def copy_weight(self) -> FloatArray:
        """(n,) of each copy, in even spreads."""
        return self.weight if self.standby is None else np.concatenate([self.weight, self.standby[self.standby_task]])

    @property
    def is_active(self) -> BoolArray:
        """(n,) whether a copy is an active one."""
        return np.arange(len(self.copy_task)) < self.T

    def locate(self, placed: Placement) -> IntArray:
        """Return (n,) the client of each copy in a placement."""
        return np.concatenate([placed.active, placed.standby_client])[: len(self.copy_task)]

    def read(self, client: IntArray) -> Placement:
        """Return the placement with copies on these clients (n,)."""
        return make_placement(client[: self.T], self.standby_task * self.C + client[self.T :], self.C)

    def sum_up_copies(self, client: IntArray) -> FloatArray:
        """Return (C,) the weight on each client, for copies on clients (n,), −1 for none; of standbys 0 on draining clients."""
        at = np.flatnonzero(client[self.T :] >= 0) + self.T
        weight = np.where(self.size[client[at]] > 0, self.copy_weight[at], 0.0)
        return self.sum_up(client[: self.T]) + np.bincount(client[at], weights=weight, minlength=self.C)

    def greatest_of(self, placed: Placement) -> float:
        """Return the greatest load of any client, standbys included; those on draining clients weigh nothing."""
        greatest = self.greatest(placed.active)
        if self.standby is None or not len(placed.standby_task):
            return greatest
        there, client = self.size > 0, placed.standby_client
        weight = np.where(there[client], self.standby[placed.standby_task], 0.0)
        sums = self.sum_up(placed.active) + np.bincount(client, weights=weight, minlength=self.C)
        alone, carried = weight / self.capacity[client], sums[there] / self.size[there]
        return max(greatest, float(alone.max(initial=0.0)), float(carried.max(initial=0.0)))

    def greatest(self, active: IntArray) -> float:
        """Return the greatest load of actives (T,) on any client, in even spreads; 0 without tasks.

        It is what they weigh ÷ the client's size or, if that is more, the heaviest ÷ a thread's capacity.
        """
        carried = self.sum_up(active)
        heaviest = np.zeros(self.C)
        tasks = np.flatnonzero(active >= 0)
        np.maximum.at(heaviest, active[tasks], self.weigh_pairs(tasks, active[tasks]))
        sizes = np.where(self.size > 0, self.size, 1.0)
        load = np.maximum(carried / sizes, heaviest / self.capacity)
        return float(np.where(self.size > 0, load, np.where(carried > 0, np.inf, 0.0)).max(initial=0.0))

    def measure_room(self, level: float) -> FloatArray:
        """Return (C,) the greatest weight of each client at this load; 0 if it drains, even if `level` is infinite."""
        room: FloatArray = np.multiply(self.size, level, out=np.zeros(self.C), where=self.size > 0)
        return room * (1 + ROUNDING)

    def fits_thread(self, task: IntArray, client: IntArray, level: float) -> BoolArray:
        """Return (n,) whether a single thread of each client (n,) bears each task (n,) at this load."""
        fits: BoolArray = self.weight[task] <= level * self.capacity[client] * (1 + ROUNDING)
        return fits

    def count_idle(self, active: IntArray) -> int:
        """Return the number of threads without a task of `active` (T,) while other threads have two."""
        number = np.bincount(active[active >= 0], minlength=self.C)
        without = int(np.sum(np.maximum(self.threads - number, 0)))
        return max(0, without - max(0, int(self.threads.sum()) - self.T))


def read_loads(problem: Problem) -> LoadArrays:
    """Return the loads of a problem; equal weights where it has none."""
    weights = problem.data_of(LOAD_NAME, TaskWeights)
    raw = np.ones(problem.T) if weights is None else weights.of_task.astype(np.float64)
    open_ = ~problem.draining | problem.draining.all()
    threads = np.where(open_, problem.threads, 0)
    of_thread = problem.units / problem.threads
    capacity = of_thread / of_thread[open_].max()  # relative, so that only ratios of capacities matter
    size = threads * capacity
    share = 0.0 if weights is None else weights.standby_share
    standbys = min(problem.standbys, max(0, int(open_.sum()) - 1)) if share else 0
    beside = np.where(problem.logged, share, 0.0)
    copies = raw * (1 + standbys * beside) if standbys else raw
    oversized, even, oversized_weight = _set_oversized_apart(raw, copies, threads[open_], capacity[open_])
    weight = np.where(oversized, oversized_weight, raw / even)
    if not standbys:
        return LoadArrays(weight, oversized, size, capacity, threads)
    standby_task = np.repeat(np.flatnonzero(problem.logged), problem.standbys)
    return LoadArrays(weight, oversized, size, capacity, threads, weight * beside, standbys, standby_task)


def _set_oversized_apart(
    weight: FloatArray, copies: FloatArray, threads: IntArray, capacity: FloatArray
) -> tuple[BoolArray, float, float]:
    """Return (T,) whether each task is oversized, the even spread of the others (weight per fastest thread), and the capacity
    of the slowest thread with an oversized task.

    `copies`: (T,) the weight of all copies of each task.
    """
    oversized = np.zeros(len(weight), dtype=np.bool_)
    order = np.argsort(-weight, kind="stable")
    left, size = float(copies.sum()), float((threads * capacity).sum())
    fastest = np.argsort(-capacity, kind="stable")
    ends = np.cumsum(threads[fastest])
    oversized_weight = 0.0
    for number, task in enumerate(order.tolist()):
        if number >= ends[-1]:
            break
        fast = float(capacity[fastest[np.searchsorted(ends, number, side="right")]])
        if weight[task] * size <= left * fast * (1 + ROUNDING):
            break
        oversized[task], oversized_weight = True, fast
        left -= float(copies[task])
        size -= fast
    if oversized.all():
        return oversized, 1.0, oversized_weight
    rest = float(copies[~oversized].sum())
    return oversized, rest / max(size, 1e-12), oversized_weight


def bound_greatest_load(loads: LoadArrays) -> float:
    """Return a load that some client reaches in every assignment, in even spreads; 0 without tasks."""
    if not loads.T:
        return 0.0
    weight = loads.weight  # of all copies that weigh something; each uses one thread
    if loads.standby is not None:
        weight = np.concatenate([weight, np.tile(loads.standby[loads.standby > 0], loads.standbys)])
    weight = np.sort(weight)[::-1]
    sums, grain = np.cumsum(weight), 0.0 if loads.is_oversized.any() else _find_grain(weight)
    of_clients = np.stack([loads.size, loads.capacity])[:, loads.open_clients]
    (size, capacity), number = np.unique(of_clients, axis=1, return_counts=True)
    # Some thresholds do. Of equal weights the last one has the greatest number at its threshold.
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
    """Return a weight that all weights (n,) are whole multiples of; 0 where none is to be seen."""
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
