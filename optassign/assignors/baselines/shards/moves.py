"""The moves of one rebalance: off draining clients, then from the heaviest to the lightest client of a subtopology."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optassign.assignors.baselines.shards.routing import Routing
from optassign.assignors.baselines.shards.weights import FloatArray, ShardMove, Weights, exceeds
from optassign_models.problem import Problem

CONCURRENT_REBALANCE = 2
"""Elasticsearch's default of cluster.routing.allocation.cluster_concurrent_rebalance."""


class ShardMoves:
    """The moves of one rebalance. Begun moves that wait for their target count as moved when the next is chosen."""

    def __init__(self, problem: Problem, routing: Routing) -> None:
        self._problem, self._routing = problem, routing
        self._slots = min(CONCURRENT_REBALANCE, problem.max_warmups)
        self.warmups: set[int] = set()
        """Keys task × C + client of the warm-ups."""
        self.begun: list[ShardMove] = []
        """Moves that have not taken effect."""
        self.left = False
        """Moves off draining clients found no slot."""
        self._weights = Weights(problem, routing.shares)
        self._movable: dict[tuple[int, int], set[int]] = {}
        """Tasks by (subtopology, client)."""
        self._number = np.zeros((problem.G, problem.C), dtype=np.int64)
        """(G, C) how many they are."""
        self._targets: dict[int, set[int]] = {}
        """Targets of moves that were begun, by task."""
        for task in range(problem.T):
            for client in routing.clients_of(task):
                self._weights.add(task, client, 1)
                self._put(task, client)

    def drain(self) -> None:
        """Moves copies off draining clients to the lightest ones, task by task. Immediate moves come first, so that the targets
        of the others stay the same from rebalance to rebalance."""
        routing = self._routing
        for task in np.argsort(self._problem.logged, kind="stable").tolist():
            for source in routing.clients_of(task):
                if not routing.may_receive[source]:
                    weight = self._weights.weigh(int(self._problem.group[task])).copy()
                    weight[~routing.may_receive] = np.inf
                    weight[[*routing.clients_of(task), *self._targets.get(task, ())]] = np.inf
                    target = int(np.argmin(weight))
                    if weight[target] < np.inf:
                        self._make(ShardMove(task, source, target), forced=True)

    def rebalance(self) -> None:
        """Moves from the heaviest to the lightest, as long as there is a slot."""
        while (move := self.find_next()) is not None and self._make(move):
            pass

    def find_next(self) -> ShardMove | None:
        """The next move, or None: of the subtopology whose weights differ most, from the heaviest client to the lightest."""
        problem, routing = self._problem, self._routing
        if not problem.T:
            return None
        weight = self._weights.weigh_all()
        receives = routing.may_receive[None, :]
        heaviest = np.where((self._number > 0) & receives, weight, -np.inf).max(axis=1)
        difference = heaviest - np.where(receives, weight, np.inf).min(axis=1)
        for group in np.argsort(-difference, kind="stable").tolist():
            if not exceeds(difference[group]):
                break
            for source, target in self._list_pairs(group, weight[group]):
                for task in sorted(self._movable[group, source], reverse=True):
                    if target not in routing.clients_of(task) and target not in self._targets.get(task, ()):
                        return ShardMove(task, source, target)
        return None

    def _list_pairs(self, group: int, weight: FloatArray) -> Iterator[tuple[int, int]]:
        """Sources and targets, the heaviest source first, for each the lightest target first."""
        lightest_first = [c for c in np.argsort(weight, kind="stable").tolist() if self._routing.may_receive[c]]
        for source in np.argsort(-weight, kind="stable").tolist():
            if self._routing.may_receive[source] and self._number[group, source]:
                for target in lightest_first:
                    if not exceeds(weight[source] - weight[target]):
                        break
                    yield source, target

    def _make(self, move: ShardMove, *, forced: bool = False) -> bool:
        """Lets a move take effect, or begins it; False where it needs a slot and there is none."""
        key = move.task * self._problem.C + move.target
        in_sync = int(self._problem.rank_of(np.array([key]))[0]) == 0
        if not in_sync and len(self.warmups) == self._slots:
            self.left = self.left or forced
            return False
        self._take(move.task, move.source)
        self._weights.move(move)
        # Chosen as if what was begun were done already: it must be right as things are, too, or wait.
        if in_sync and (forced or not self.begun or self._routing.weights.improves(move)):
            self._routing.move(move)
            self._put(move.task, move.target)
            return True
        if not in_sync:
            self.warmups.add(key)
        self.begun.append(move)
        self._targets.setdefault(move.task, set()).add(move.target)
        return True

    def _put(self, task: int, client: int) -> None:
        """The client's copy of the task may be moved."""
        group = int(self._problem.group[task])
        self._movable.setdefault((group, client), set()).add(task)
        self._number[group, client] += 1

    def _take(self, task: int, client: int) -> None:
        """The client's copy of the task must not be moved again."""
        group = int(self._problem.group[task])
        self._movable[group, client].remove(task)
        self._number[group, client] -= 1
