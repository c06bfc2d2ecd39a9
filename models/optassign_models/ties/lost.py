"""Tasks without any state on a client: they are down until it is restored, so a plan spreads them over clients
(docs/reference/rules.md, "Lost tasks").

Their planned places are all the same to every goal. So such a task exchanges places with another lost one of its subtopology,
or with a planned active that is not there yet either, but runs on another client until then: each count of each client and
every cost stay the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from optassign_models.policy.constants import LOST_CANDIDATES, LOST_LEAST_GAIN, LOST_TURNS, LOST_WORK, ROUNDS
from optassign_models.problem import BoolArray, IntArray, Placement, Problem

FloatArray = npt.NDArray[np.float64]


def spread_lost(problem: Problem, plan: Placement, rates: IntArray | None) -> Placement:
    """The plan with lost tasks where they are down for less time, long times above all; every goal is as it was.

    Args:
        rates: (C,) offsets per second that clients restore, where they are known.
    """
    C, T = problem.C, problem.T
    at = np.arange(T) * C + plan.active
    is_cold = problem.logged & (plan.active >= 0) & (problem.pool_rank > 0) & (problem.find(at) < 0)
    lost = is_cold & find_lost(problem)
    if not lost.any():
        return plan
    speed = np.ones(C) if rates is None else rates.astype(np.float64)
    number = np.bincount(plan.active[lost], minlength=C)
    if _are_alike(problem.end[lost], speed, number, has_others=bool((is_cold & ~lost).any())):
        return plan
    search = _Search(problem, plan, lost, np.flatnonzero(is_cold), speed)
    order = np.flatnonzero(lost)
    order = order[np.argsort(-problem.end[order], kind="stable")]
    turns = min(LOST_TURNS, LOST_WORK // int(number.max()))
    for _ in range(ROUNDS):
        some = order[:turns].tolist()
        turns -= len(some)
        if not sum(search.exchange(t) for t in some):
            break
    active = search.active
    return plan if np.array_equal(active, plan.active) else Placement(active, plan.standby_task, plan.standby_client)


def find_lost(problem: Problem) -> BoolArray:
    """(T,) logged tasks without an owner, on all clients equally far from being caught up."""
    best = np.full(problem.T, np.iinfo(np.int64).max)
    np.minimum.at(best, problem.col_task, problem.col_rank)
    return problem.logged & (problem.pool_rank > 0) & (best >= problem.pool_rank) & ~problem.has_owner


def _are_alike(sizes: IntArray, speed: FloatArray, number: IntArray, *, has_others: bool) -> bool:
    """Whether no exchange gains: lost tasks are of one size, and there are no others to exchange places with, or clients are of
    one speed and each has as many of them as any other or one more."""
    return bool(np.ptp(sizes) == 0 and (not has_others or (np.ptp(speed) == 0 and np.ptp(number) <= 1)))


class _Search:
    """Exchanges places, two tasks at a time, while that lessens the sum of the cubes of the times that lost tasks are down."""

    def __init__(self, problem: Problem, plan: Placement, lost: BoolArray, cold: IntArray, speed: FloatArray) -> None:
        self._problem, self._speed = problem, speed
        self._standbys = plan.standby_keys(problem.C)
        begins = np.searchsorted(problem.group[cold], np.arange(problem.G + 1))
        self._cold = [cold[begin:end] for begin, end in pairwise(begins.tolist())]
        """The tasks of each subtopology that may exchange places."""
        self.active = plan.active.copy()
        """(T,) where each task is planned."""
        self._size = np.where(lost, problem.end, 0).astype(np.float64)
        """(T,) offsets for which others on the disk have to wait; none for tasks that run elsewhere."""
        self._load = np.bincount(self.active[lost], weights=self._size[lost], minlength=problem.C)
        """(C,) of the lost tasks of each client."""
        self._sizes = _list_sizes(self.active[lost], self._size[lost], problem.C)
        """(C, n) of each, and at least one zero, for which nothing waits: there is room."""

    def exchange(self, t: int) -> bool:
        """Lost task t and that with which it best exchanges places do so; whether there is one."""
        here, size, speed = int(self.active[t]), self._size[t], self._speed
        others = self._cold[self._problem.group[t]]
        others = others[self._find_soonest(others, t)]
        others = others[self._may_exchange(t, others)]
        if not len(others):
            return False
        there = self.active[others]
        before = _sum_cubes(self._sizes[there], speed[there]) + _sum_cubes(self._sizes[[here]], speed[[here]])
        arrived = _sum_cubes(_replace(self._sizes[there], self._size[others], size), speed[there])
        same = np.full(len(others), here)
        left = _sum_cubes(_replace(self._sizes[same], np.full(len(others), size), self._size[others]), speed[same])
        gain = before - (arrived + left)
        best = int(np.argmax(gain))
        if gain[best] <= before[best] * LOST_LEAST_GAIN:
            return False
        self._apply(t, int(others[best]))
        return True

    def _find_soonest(self, others: IntArray, t: int) -> IntArray:
        """Which of the tasks are on other clients, and leave both clients soonest done if they exchange places with task t."""
        here, there = self.active[t], self.active[others]
        more = self._size[t] - self._size[others]
        ends = np.maximum((self._load[there] + more) / self._speed[there], (self._load[here] - more) / self._speed[here])
        ends[there == here] = np.inf
        if len(ends) <= LOST_CANDIDATES:
            return np.flatnonzero(ends < np.inf)
        last = np.partition(ends, LOST_CANDIDATES - 1)[LOST_CANDIDATES - 1]
        return np.flatnonzero((ends <= last) & (ends < np.inf))[:LOST_CANDIDATES]

    def _may_exchange(self, t: int, others: IntArray) -> BoolArray:
        """Whether each would begin with nothing in the other's place, like all of its pool, and no standby is in the way."""
        C = self._problem.C
        keys = np.concatenate([t * C + self.active[others], others * C + self.active[t]])
        # Sorted, so that looking all of them up takes no longer where there are many.
        at = np.minimum(np.searchsorted(self._standbys, keys), max(0, len(self._standbys) - 1))
        has_standby = self._standbys[at] == keys if len(self._standbys) else np.zeros(len(keys), dtype=np.bool_)
        is_free = (self._problem.find(keys) < 0) & ~has_standby
        return np.asarray(is_free.reshape(2, -1).all(axis=0))

    def _apply(self, t: int, other: int) -> None:
        here, there = int(self.active[t]), int(self.active[other])
        self.active[t], self.active[other] = there, here
        size, other_size = self._size[t], self._size[other]
        self._sizes[[there]] = _replace(self._sizes[[there]], np.array([other_size]), size)
        self._sizes[[here]] = _replace(self._sizes[[here]], np.array([size]), np.array([other_size]))
        self._load[[here, there]] = self._sizes[[here, there]].sum(axis=1)
        if self._sizes[there].all():
            self._sizes = np.pad(self._sizes, ((0, 0), (0, 4)))


def _list_sizes(client: IntArray, size: FloatArray, clients: int) -> FloatArray:
    """(C, n) the sizes of each client's tasks; there is room for one more."""
    number = np.bincount(client, minlength=clients)
    sizes = np.zeros((clients, 1 + int(number.max(initial=0))))
    order = np.argsort(client, kind="stable")
    first = np.cumsum(number) - number
    sizes[client[order], np.arange(len(order)) - first[client[order]]] = size[order]
    return sizes


def _replace(rows: FloatArray, old: FloatArray, new: FloatArray | float) -> FloatArray:
    """The (n, k) rows, changed: in each one that is old (n,) is new."""
    rows[np.arange(len(rows)), np.argmax(rows == old[:, None], axis=1)] = new
    return rows


def _sum_cubes(sizes: FloatArray, speed: FloatArray) -> FloatArray:
    """(n,) sums of the cubes of the times after which copies of (n, k) sizes are restored that share a disk's speed evenly."""
    sizes = np.sort(sizes, axis=1)
    still = np.arange(sizes.shape[1] - 1, -1, -1)
    seconds = (np.cumsum(sizes, axis=1) + still * sizes) / speed[:, None]
    return np.asarray(np.sum(seconds * seconds * seconds, axis=1))
