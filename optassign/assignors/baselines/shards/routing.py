"""The copies of this rebalance, and allocation: a copy without a place goes to the lightest client."""

from __future__ import annotations

import numpy as np

from optassign.assignors.baselines.shards.weights import FloatArray, ShardMove, Weights
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement


def promote_replicas(problem: Problem, before: Placement) -> Placement:
    """Give each task without an active copy one on a replica's client, otherwise on a client with state; least lag first."""
    active = before.active.copy()
    keys = before.standby_keys(problem.C)
    replica = np.isin(problem.col_keys, keys)
    at = np.flatnonzero((active[problem.col_task] < 0) & (replica | problem.col_state))
    at = at[np.lexsort((problem.col_client[at], problem.col_lag[at], ~replica[at], problem.col_task[at]))[::-1]]
    active[problem.col_task[at]] = problem.col_client[at]  # the last written is the best
    return make_placement(active, keys[active[keys // problem.C] != keys % problem.C], problem.C)


class Routing:
    """Which copy is where in this rebalance (Elasticsearch's routing table), to be changed."""

    def __init__(self, problem: Problem, before: Placement) -> None:
        self._problem = problem
        self.active: list[int] = before.active.tolist()
        self.standbys: list[set[int]] = [set() for _ in range(problem.T)]
        for task, client in zip(before.standby_task.tolist(), before.standby_client.tolist(), strict=True):
            self.standbys[task].add(client)
        self.may_receive: BoolArray = ~problem.draining if not problem.draining.all() else ~np.zeros(problem.C, dtype=np.bool_)
        units = np.where(self.may_receive, problem.units, 0)
        self.shares: FloatArray = units / units.sum()
        self.weights = Weights(problem, self.shares)
        for task in range(problem.T):
            for client in self.clients_of(task):
                self.weights.add(task, client, 1)

    def clients_of(self, task: int) -> list[int]:
        """Clients with a copy of the task, the active one first."""
        active = [self.active[task]] if self.active[task] >= 0 else []
        return active + sorted(self.standbys[task])

    def allocate(self) -> None:
        """Gives what is nowhere to the client of least weight, then of least id."""
        problem = self._problem
        for task in range(problem.T):
            if self.active[task] < 0:
                self.active[task] = self._find_lightest(task)
                self.weights.add(task, self.active[task], 1)
        for number in range(1, problem.standbys + 1):
            for task in np.flatnonzero(problem.logged).tolist():
                if len(self.standbys[task]) < number:
                    client = self._find_lightest(task)
                    self.standbys[task].add(client)
                    self.weights.add(task, client, 1)

    def _find_lightest(self, task: int) -> int:
        """The client of least weight, then of least index, without a copy of the task."""
        free = np.ones(self._problem.C, dtype=np.bool_)
        free[self.clients_of(task)] = False
        if (free & self.may_receive).any():
            free &= self.may_receive  # R4 comes first: a draining client takes tasks that no other client can take
        weight = self.weights.weigh(int(self._problem.group[task]))
        return int(np.argmin(np.where(free, weight, np.inf)))

    def move(self, move: ShardMove) -> None:
        """Lets a move take effect now."""
        if self.active[move.task] == move.source:
            self.active[move.task] = move.target
        else:
            self.standbys[move.task].remove(move.source)
            self.standbys[move.task].add(move.target)
        self.weights.move(move)

    def placement(self) -> Placement:
        """The copies as arrays."""
        keys = [task * self._problem.C + client for task, clients in enumerate(self.standbys) for client in clients]
        return make_placement(np.array(self.active, dtype=np.int64), np.array(keys, dtype=np.int64), self._problem.C)

    def all_in_sync(self) -> bool:
        """Whether no copy is being restored (cluster.routing.allocation.allow_rebalance: indices_all_active)."""
        answer, C = self.placement(), self._problem.C
        keys: IntArray = np.concatenate([np.arange(self._problem.T) * C + answer.active, answer.standby_keys(C)])
        return not np.any(self._problem.rank_of(keys) > 0)
