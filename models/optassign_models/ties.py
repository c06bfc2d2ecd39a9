"""Exchanges of copies that leave every goal as it is: for less downtime of lost tasks, and for even load after a failover.

Lost tasks exchange places with each other, or with a planned active that is not restored yet (docs/reference/rules.md,
"Lost tasks"). To every goal, clients of a task's pool are equal places for its standby, so two such standbys of one
subtopology exchange places ("Failover").

All counts of each client and all costs stay the same.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from optassign_models.policy import constants as policy
from optassign_models.problem import (
    BoolArray,
    FloatArray,
    IntArray,
    Placement,
    Problem,
    find_sorted,
    make_placement,
    rank_within,
)


def spread_lost(problem: Problem, plan: Placement, rates: IntArray | None) -> Placement:
    """Return the plan with places of lost tasks exchanged to reduce Σ downtime³; every goal keeps its value.

    `rates`: (C,) offsets per second that clients restore; None if unknown.
    """
    C, T = problem.C, problem.T
    at = np.arange(T) * C + plan.active
    is_cold = problem.logged & (plan.active >= 0) & (problem.pool_rank > 0) & (problem.find(at) < 0)
    lost = is_cold & find_lost(problem)
    if not lost.any():
        return plan
    speed = np.ones(C) if rates is None else rates.astype(np.float64)
    search = _LostTrades(problem, plan, lost, np.flatnonzero(is_cold), speed)
    order = np.flatnonzero(lost)
    order = order[np.argsort(-problem.end[order], kind="stable")]
    turns = min(policy.LOST_TURNS, policy.LOST_WORK // int(np.bincount(plan.active[lost]).max()))
    for _ in range(policy.ROUNDS):
        some = order[:turns].tolist()
        turns -= len(some)
        if not sum(search.exchange(t) for t in some):
            break
    return replace(plan, active=search.active)


def find_lost(problem: Problem) -> BoolArray:
    """Return (T,) whether a task is lost: logged, without an owner, and no client ranks better than its pool."""
    better = np.bincount(problem.col_task[problem.col_rank < problem.pool_rank[problem.col_task]], minlength=problem.T)
    return problem.logged & (problem.pool_rank > 0) & (better == 0) & ~problem.has_owner


class _LostTrades:
    """A local search that exchanges places of two tasks while the sum of the cubed downtimes of lost tasks falls."""

    def __init__(self, problem: Problem, plan: Placement, lost: BoolArray, cold: IntArray, speed: FloatArray) -> None:
        self._problem, self._speed = problem, speed
        self._standbys = plan.standby_keys(problem.C)
        begins = np.searchsorted(problem.group[cold], np.arange(problem.G + 1))
        self._cold = [cold[begin:end] for begin, end in pairwise(begins.tolist())]
        """The tasks of each subtopology that may exchange places."""
        self.active = plan.active.copy()
        """(T,) client of each planned active."""
        self._size = np.where(lost, problem.end, 0).astype(np.float64)
        """(T,) offsets to restore; 0 for a task that is not lost, which runs elsewhere until then."""
        self._load = np.bincount(self.active[lost], weights=self._size[lost], minlength=problem.C)
        """(C,) offsets of the lost tasks of each client."""
        client = self.active[lost]
        self._sizes = np.zeros((problem.C, 1 + int(np.bincount(client).max(initial=0))))
        """(C, n) `_size` of each lost task on a client, padded with at least one 0 as room for another task."""
        self._sizes[client, rank_within(client)] = self._size[lost]

    def exchange(self, t: int) -> bool:
        """Swap lost task t with the task that saves most. Return whether a swap was made."""
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
        if gain[best] <= before[best] * policy.LOST_LEAST_GAIN:
            return False
        other, away, other_size = int(others[best]), int(there[best]), self._size[others[best]]
        self.active[t], self.active[other] = away, here
        self._sizes[[away]] = _replace(self._sizes[[away]], np.array([other_size]), size)
        self._sizes[[here]] = _replace(self._sizes[[here]], np.array([size]), np.array([other_size]))
        self._load[[here, away]] = self._sizes[[here, away]].sum(axis=1)
        if self._sizes[away].all():
            self._sizes = np.pad(self._sizes, ((0, 0), (0, 4)))
        return True

    def _find_soonest(self, others: IntArray, t: int) -> IntArray:
        """Return positions in `others` of the `LOST_CANDIDATES` tasks whose swap with t leaves both clients done soonest."""
        here, there = self.active[t], self.active[others]
        more = self._size[t] - self._size[others]
        ends = np.maximum((self._load[there] + more) / self._speed[there], (self._load[here] - more) / self._speed[here])
        ends[there == here] = np.inf
        at = min(len(ends), policy.LOST_CANDIDATES) - 1
        last = np.partition(ends, at)[at]
        return np.flatnonzero((ends <= last) & (ends < np.inf))[: policy.LOST_CANDIDATES]

    def _may_exchange(self, t: int, others: IntArray) -> BoolArray:
        """Return (n,) whether t and each of `others` have neither a column nor a standby on each other's client."""
        C = self._problem.C
        keys = np.concatenate([t * C + self.active[others], others * C + self.active[t]])
        is_free = (self._problem.find(keys) < 0) & (find_sorted(self._standbys, keys) < 0)
        return np.asarray(is_free.reshape(2, -1).all(axis=0))


def _replace(rows: FloatArray, old: FloatArray, new: FloatArray | float) -> FloatArray:
    """Return `rows` (n, k), changed in place: in row i the first value `old[i]` becomes `new[i]`."""
    rows[np.arange(len(rows)), np.argmax(rows == old[:, None], axis=1)] = new
    return rows


def _sum_cubes(sizes: FloatArray, speed: FloatArray) -> FloatArray:
    """Return (n,) Σ seconds³ until the copies of each row are restored; copies of `sizes` (n, k) share `speed` (n,) evenly."""
    sizes = np.sort(sizes, axis=1)
    still = np.arange(sizes.shape[1] - 1, -1, -1)
    seconds = (np.cumsum(sizes, axis=1) + still * sizes) / speed[:, None]
    return np.asarray(np.sum(seconds * seconds * seconds, axis=1))


def spread_failover(problem: Problem, placed: Placement) -> Placement:
    """Return the placement with standbys spread for failover. Every goal keeps its value.

    The sum over pairs of clients (a, b) of n² ÷ size of b falls; n is the number of tasks active on a with a standby on b.
    """
    C = problem.C
    slots = np.flatnonzero(problem.find(placed.standby_keys(C)) < 0)
    if C < 3 or len(slots) < 2 or (problem.T + 8 * C) * C > policy.FAILOVER_MOST_BYTES or np.any(placed.active < 0):
        return placed
    trades = _StandbyTrades(problem, placed, slots)
    for _ in range(policy.ROUNDS):
        if not trades.turn():
            break
    return make_placement(placed.active, trades.task * C + trades.client, C)


class _StandbyTrades:
    """A local search that exchanges clients of the standbys `slots` (n,); `client` (S,) has the standbys of `task` (S,)."""

    def __init__(self, problem: Problem, placed: Placement, slots: IntArray) -> None:
        C = problem.C
        self.task, self.client = placed.standby_task, placed.standby_client.copy()
        self.active = placed.active[self.task]
        self.is_barred: BoolArray = np.zeros((problem.T, C), dtype=np.bool_)
        """(T, C) whether the client has a copy of the task, or is outside its pool."""
        self.is_barred[problem.col_task, problem.col_client] = True
        self.is_barred[np.arange(problem.T), placed.active] = True
        self.is_barred[self.task, self.client] = True
        self.count = np.zeros((C, C), dtype=np.int64)
        """(C, C) number of tasks active on the first client with a standby on the second."""
        np.add.at(self.count, (self.active, self.client), 1)
        self.per_unit: FloatArray = problem.units.mean() / problem.units
        total = int(problem.units.sum())
        share = np.bincount(self.active, minlength=C) / np.maximum(1, total - problem.units)
        self.fair: FloatArray = np.maximum(1, share[:, None] * problem.units)
        """(C, C) the even share of each count, at least 1; a count above it is a surplus."""
        group = problem.group[self.task[slots]]
        order = np.argsort(group, kind="stable")
        self.groups = np.split(slots[order], np.flatnonzero(np.diff(group[order])) + 1)

    def turn(self) -> bool:
        """Try to exchange each standby of a pair of clients with a surplus. Return whether any was exchanged."""
        moved, most = False, policy.FAILOVER_CANDIDATES
        for slots in self.groups:
            for k, slot in enumerate(slots.tolist()):
                if self.count[self.active[slot], self.client[slot]] > self.fair[self.active[slot], self.client[slot]]:
                    near = slots if len(slots) <= most else np.take(slots, k + 1 + np.arange(most), mode="wrap")
                    moved |= self._exchange(slot, near) or self._rotate(slot, near[: policy.FAILOVER_ROTATED])
        return moved

    def _exchange(self, slot: int, others: IntArray) -> bool:
        """Swap a standby with the one of `others` that gains most. Return whether a swap was made."""
        a, b, t = self.active[slot], self.client[slot], self.task[slot]
        other_a, other_b = self.active[others], self.client[others]
        allowed = ~self.is_barred[t, other_b] & ~self.is_barred[self.task[others], b] & (other_a != a)
        rise = self._measure_rise(a, b, other_b) + self._measure_rise(other_a, other_b, b)
        best = int(np.argmin(np.where(allowed, rise, np.inf)))
        if not allowed[best] or rise[best] > -policy.FAILOVER_LEAST_GAIN:
            return False
        self._move((slot, int(others[best])), (other_b[best], b))
        return True

    def _rotate(self, slot: int, others: IntArray) -> bool:
        """Rotate a standby and two of `others` along the cycle that gains most. Return whether a rotation was made."""
        a, b, t = self.active[slot], self.client[slot], self.task[slot]
        task, other_a, other_b = self.task[others], self.active[others], self.client[others]
        first = ~self.is_barred[t, other_b] & (other_a != a)
        last = ~self.is_barred[task, b] & (other_a != a) & (other_b != b)
        between = ~self.is_barred[task[:, None], other_b[None, :]] & (other_a[:, None] != other_a[None, :])
        allowed = first[:, None] & last[None, :] & between
        rise = (
            self._measure_rise(a, b, other_b)[:, None]
            + self._measure_rise(other_a[:, None], other_b[:, None], other_b[None, :])
            + self._measure_rise(other_a, other_b, b)[None, :]
        )
        best = int(np.argmin(np.where(allowed, rise, np.inf)))
        i, j = divmod(best, len(others))
        if not allowed[i, j] or rise[i, j] > -policy.FAILOVER_LEAST_GAIN:
            return False
        self._move((slot, int(others[i]), int(others[j])), (other_b[i], other_b[j], b))
        return True

    def _measure_rise(self, active: IntArray | np.int64, old: IntArray | np.int64, new: IntArray | np.int64) -> FloatArray:
        """Return the rise of half the sum of `spread_failover` if a standby moves from `old` to `new`. The shapes broadcast.

        No two standbys of an exchange belong to the same pair of clients, so rises add up.
        """
        up = self.per_unit[new] * (self.count[active, new] + 0.5)
        down = self.per_unit[old] * (self.count[active, old] - 0.5)
        return np.asarray(up - down)

    def _move(self, slots: tuple[int, ...], clients: tuple[int, ...]) -> None:
        for slot, new in zip(slots, clients, strict=True):
            active, old = self.active[slot], self.client[slot]
            self.count[active, old] -= 1
            self.count[active, new] += 1
            self.is_barred[self.task[slot], old] = False
            self.client[slot] = new
        self.is_barred[self.task[list(slots)], list(clients)] = True
