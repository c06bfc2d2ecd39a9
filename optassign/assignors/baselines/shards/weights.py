"""Weights of clients, as Elasticsearch weighs nodes: what a client has above its average, in all and of a subtopology."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optassign_models.policy.baselines import SHARD_TOLERANCE
from optassign_models.problem import LOGGED, Problem

SHARD_BALANCE, INDEX_BALANCE = 0.45, 0.55
"""Elasticsearch's defaults of cluster.routing.allocation.balance.shard and .index."""
THRESHOLD = 1.0
"""Its default of cluster.routing.allocation.balance.threshold."""

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShardMove:
    """One copy of a task, whatever its role, from a client to another; all are indices."""

    task: int
    source: int
    target: int


class Weights:
    """How many copies each client has, and what it weighs for each subtopology."""

    def __init__(self, problem: Problem, shares: FloatArray) -> None:
        """`shares`: (C,) of all copies, summing to 1."""
        self._group = problem.group
        sizes = np.bincount(problem.group, minlength=problem.G) * np.where(problem.kind == LOGGED, problem.standbys + 1, 1)
        self._copies = np.zeros(problem.C, dtype=np.int64)
        self._group_copies = np.zeros((problem.G, problem.C), dtype=np.int64)
        self._average = shares * int(sizes.sum())
        self._group_average = sizes[:, None] * shares[None, :]

    def add(self, task: int, client: int, number: int) -> None:
        """Adds `number` copies of the task to the client's count; a negative number removes."""
        self._copies[client] += number
        self._group_copies[self._group[task], client] += number

    def move(self, move: ShardMove) -> None:
        """Counts the copy on its target instead of its source."""
        self.add(move.task, move.source, -1)
        self.add(move.task, move.target, 1)

    def weigh(self, group: int) -> FloatArray:
        """(C,) weight of each client for a subtopology."""
        return self._combine(self._copies - self._average, self._group_copies[group] - self._group_average[group])

    def weigh_all(self) -> FloatArray:
        """(G, C) weight of each client for every subtopology."""
        return self._combine((self._copies - self._average)[None, :], self._group_copies - self._group_average)

    def improves(self, move: ShardMove) -> bool:
        """Whether source and target differ by more than the threshold."""
        weight = self.weigh(int(self._group[move.task]))
        return bool(exceeds(weight[move.source] - weight[move.target]))

    @staticmethod
    def _combine(shard: FloatArray, index: FloatArray) -> FloatArray:
        """Weights, from what clients have above the average in all and of a subtopology."""
        total: FloatArray = (SHARD_BALANCE * shard + INDEX_BALANCE * index) / (SHARD_BALANCE + INDEX_BALANCE)
        return total


def exceeds(difference: float) -> bool:
    """Whether two weights differ by more than the threshold, beyond rounding."""
    return difference > THRESHOLD + SHARD_TOLERANCE
