"""Zones: the clients that nothing in a model tells apart. Every subtopology has a pool in each zone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from optassign_models.goals import GoalModel
from optassign_models.pooling import deal_pool
from optassign_models.problem import IntArray, Problem


@dataclass(frozen=True, eq=False)
class Zones:
    """Z zones, numbered from 0."""

    of_client: IntArray
    """(C,) zone of each client."""
    number: int
    """Z"""

    @classmethod
    def one(cls, problem: Problem) -> Zones:
        """All clients are in one zone."""
        return cls(np.zeros(problem.C, dtype=np.int64), 1)

    def find_pools(self, groups: IntArray, clients: IntArray) -> IntArray:
        """(n,) subtopology × Z + zone: the pool of each pair of a subtopology and a client."""
        return groups * self.number + self.of_client[clients]

    def size_pools(self, problem: Problem) -> IntArray:
        """(T, Z) clients of each zone without a column of the task."""
        sizes = np.bincount(self.of_client, minlength=self.number)
        pairs = problem.col_task * self.number + self.of_client[problem.col_client]
        return sizes - np.bincount(pairs, minlength=problem.T * self.number).reshape(problem.T, self.number)

    def deal_pools(
        self,
        problem: Problem,
        task: IntArray,
        pool: IntArray,
        need: IntArray,
        places: IntArray,
        forbidden: dict[int, set[int]],
    ) -> tuple[IntArray, IntArray]:
        """The places (G, C) dealt: keys of the pairs, and the tasks of the subtopologies where that failed.

        Args:
            task, pool, need: (n,) so many copies of the task in this pool (`find_pools`).
            forbidden: clients that a task must not get, by task.
        """
        clients = np.arange(problem.C)
        keys: list[int] = []
        stuck: set[int] = set()
        for each in np.unique(pool[need > 0]).tolist():
            group, at = each // self.number, np.flatnonzero((pool == each) & (need > 0))
            is_in_pool = self.find_pools(np.full(problem.C, group), clients) == each
            found = deal_pool(task[at], need[at], np.where(is_in_pool, places[group], 0), forbidden, problem.C)
            if found is None:
                stuck.add(group)
            else:
                keys.extend(found)
        return np.array(keys, dtype=np.int64), np.flatnonzero(np.isin(problem.group, sorted(stuck)))


def find_zones(problem: Problem, goals: Iterable[GoalModel], labels: Sequence[IntArray] = ()) -> Zones:
    """The zones of clients that no goal tells apart, nor any of the further `labels`, (C,) each."""
    keys = [np.zeros(problem.C, dtype=np.int64), *labels]
    keys += [goal.tells_apart(problem) for goal in goals if goal.tells_apart is not None]
    of_client = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Zones(of_client, int(of_client.max(initial=0)) + 1)
