"""Standbys so that the tasks of a client that dies go on on many others, not all on one (docs/reference/rules.md, "Failover").

Clients that differ in no known way from a task's pool are the same to every goal as places of a standby. So two such standbys
of one subtopology exchange places: each count of each client stays as it is, and so does every cost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optassign_models.policy.constants import (
    FAILOVER_CANDIDATES,
    FAILOVER_LEAST_GAIN,
    FAILOVER_MOST_BYTES,
    FAILOVER_ROTATED,
    ROUNDS,
)
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement


def spread_failover(problem: Problem, placed: Placement) -> Placement:
    """The placement with standbys where the sum over pairs of clients (a, b) of n² ÷ size of b is less, n being the tasks that
    are active on a and have a standby on b; every goal is as it was."""
    C, task, client = problem.C, placed.standby_task, placed.standby_client.copy()
    if C < 3 or (problem.T + 8 * C) * C > FAILOVER_MOST_BYTES or np.any(placed.active < 0):
        return placed
    keys = task * C + client
    slots = np.flatnonzero(problem.find(keys) < 0)
    if len(slots) < 2:
        return placed
    moves = _Moves(problem, placed, client, slots)
    for _ in range(ROUNDS):
        if not moves.turn():
            break
    if np.array_equal(client, placed.standby_client):
        return placed
    return make_placement(placed.active, task * C + client, C)


class _Moves:
    """Exchanges of standbys, one after the other; `client` (S,) is changed in place."""

    def __init__(self, problem: Problem, placed: Placement, client: IntArray, slots: IntArray) -> None:
        C = problem.C
        self.task, self.client = placed.standby_task, client
        self.active = placed.active[self.task]
        self.closed: BoolArray = np.zeros((problem.T, C), dtype=np.bool_)
        """(T, C) clients that have a copy, or are known to differ from the pool."""
        self.closed[problem.col_task, problem.col_client] = True
        self.closed[np.arange(problem.T), placed.active] = True
        self.closed[self.task, client] = True
        self.count = np.zeros((C, C), dtype=np.int64)
        """(C, C) tasks active on the one with a standby on the other."""
        np.add.at(self.count, (self.active, client), 1)
        self.per_unit: npt.NDArray[np.float64] = problem.units.mean() / problem.units
        total = int(problem.units.sum())
        share = np.bincount(self.active, minlength=C) / np.maximum(1, total - problem.units)
        self.fair: npt.NDArray[np.float64] = np.maximum(1, share[:, None] * problem.units)
        """(C, C) what `count` need not be below."""
        group = problem.group[self.task[slots]]
        order = np.argsort(group, kind="stable")
        self.groups = np.split(slots[order], np.flatnonzero(np.diff(group[order])) + 1)

    def turn(self) -> bool:
        """Exchange each surplus standby of its pair of clients; tell whether any was."""
        moved, most = False, FAILOVER_CANDIDATES
        for slots in self.groups:
            for k, slot in enumerate(slots.tolist()):
                if self.count[self.active[slot], self.client[slot]] > self.fair[self.active[slot], self.client[slot]]:
                    near = slots if len(slots) <= most else np.take(slots, k + 1 + np.arange(most), mode="wrap")
                    moved |= self._exchange(slot, near) or self._rotate(slot, near[:FAILOVER_ROTATED])
        return moved

    def _exchange(self, slot: int, others: IntArray) -> bool:
        """Exchange places with the one with which it gains most."""
        a, b, t = self.active[slot], self.client[slot], self.task[slot]
        other_a, other_b = self.active[others], self.client[others]
        allowed = ~self.closed[t, other_b] & ~self.closed[self.task[others], b] & (other_a != a)
        rise = self._measure_rise(a, b, other_b) + self._measure_rise(other_a, other_b, b)
        best = int(np.argmin(np.where(allowed, rise, np.inf)))
        if not allowed[best] or rise[best] > -FAILOVER_LEAST_GAIN:
            return False
        self._move((slot, int(others[best])), (other_b[best], b))
        return True

    def _rotate(self, slot: int, others: IntArray) -> bool:
        """Let three change places in a circle: of three clients that are each other's, no two can."""
        a, b, t = self.active[slot], self.client[slot], self.task[slot]
        task, other_a, other_b = self.task[others], self.active[others], self.client[others]
        first = ~self.closed[t, other_b] & (other_a != a)
        last = ~self.closed[task, b] & (other_a != a) & (other_b != b)
        between = ~self.closed[task[:, None], other_b[None, :]] & (other_a[:, None] != other_a[None, :])
        allowed = first[:, None] & last[None, :] & between
        rise = (
            self._measure_rise(a, b, other_b)[:, None]
            + self._measure_rise(other_a[:, None], other_b[:, None], other_b[None, :])
            + self._measure_rise(other_a, other_b, b)[None, :]
        )
        best = int(np.argmin(np.where(allowed, rise, np.inf)))
        i, j = divmod(best, len(others))
        if not allowed[i, j] or rise[i, j] > -FAILOVER_LEAST_GAIN:
            return False
        self._move((slot, int(others[i]), int(others[j])), (other_b[i], other_b[j], b))
        return True

    def _measure_rise(
        self, active: IntArray | np.int64, old: IntArray | np.int64, new: IntArray | np.int64
    ) -> npt.NDArray[np.float64]:
        """By how much half of the sum rises if a standby goes from one client to another, of actives, old and new clients of
        shapes that go together; no two of an exchange are of the same pair, so rises add up."""
        up = self.per_unit[new] * (self.count[active, new] + 0.5)
        down = self.per_unit[old] * (self.count[active, old] - 0.5)
        return np.asarray(up - down)

    def _move(self, slots: tuple[int, ...], clients: tuple[int, ...]) -> None:
        for slot, new in zip(slots, clients, strict=True):
            active, old = self.active[slot], self.client[slot]
            self.count[active, old] -= 1
            self.count[active, new] += 1
            self.closed[self.task[slot], old] = False
            self.client[slot] = new
        self.closed[self.task[list(slots)], list(clients)] = True
