"""The assignor `weighted-shards`: Elasticsearch's allocation and rebalancing (KIP-441, "Related Work", "Elasticsearch").

Elasticsearch, with its defaults:

* The weight of a node for an index: theta0 × (shards on the node − average) + theta1 × (shards of the index on the node −
  average of the index), thetas being shardBalance 0.45 and indexBalance 0.55, normalised.
* Allocation of missing copies: an in-sync replica is promoted if the primary's node is gone. Then each copy goes to the node
  of least weight without a copy, by index and shard: first all primaries, then one replica of each shard, and so on.
* Rebalancing, when every copy is assigned and in sync: from the heaviest to the lightest node of an index while the weights
  differ by more than the threshold 1, at most two moves at a time (cluster.routing.allocation.cluster_concurrent_rebalance).
  The source copy works until its target is in sync. Primaries and replicas are balanced together.
* A node to be emptied (allocation filtering) gets no shards and gives its shards away.

Translated:

* Node = client, index = subtopology, shard = task, primary = active, replica = standby, master's routing table = remembered
  answer, without it the clients' own lists. A node to be emptied = a draining client.
* "Average" is a client's share in proportion to threads × capacity: Elasticsearch's nodes are all alike.
* For promotion, every standby counts as in sync, and a copy on disk counts if there is no standby. Otherwise, in sync means
  caught up.
* A move to a client that is not caught up is a warm-up there; once that is caught up, the copy moves. A move to a caught-up
  client, or of a task without changelog, takes effect at once and does not count towards the two at a time.
* The limit of two moves at a time, and max_warmup_replicas, hold for moves off draining clients as well.
* Elasticsearch starts the next move when a move is done; here a follow-up is requested while moves are left.

Rebalancing terminates: a move changes θ0 Σ (n − average)² + θ1 Σ (n of a subtopology − average)² by 2 − 2 × the difference of
weights, so each move above the threshold of 1 reduces this sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from optassign.assignors.baselines.baseline import Baseline, Placed, find_surviving
from optassign.formats.state import ApplicationState
from optassign_models.problem import LOGGED, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.solving.situation import Situation

SHARD_TOLERANCE = 0.001
"""Excess over Elasticsearch's threshold that counts as rounding."""


SHARD_BALANCE, INDEX_BALANCE = 0.45, 0.55
"""Elasticsearch's defaults of cluster.routing.allocation.balance.shard and .index."""
THRESHOLD = 1.0
"""Elasticsearch's default of cluster.routing.allocation.balance.threshold."""

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShardMove:
    """One copy of a task, of any role, moves from a client to another; all are indices."""

    task: int
    source: int
    target: int


class ShardWeights:
    """The copies of each client, and its weight for each subtopology."""

    def __init__(self, problem: Problem, shares: FloatArray) -> None:
        """Begin without copies. `shares`: (C,) the share of each client in all copies, summing to 1."""
        self._group = problem.group
        sizes = np.bincount(problem.group, minlength=problem.G) * np.where(problem.kind == LOGGED, problem.standbys + 1, 1)
        self._copies = np.zeros(problem.C, dtype=np.int64)
        self._group_copies = np.zeros((problem.G, problem.C), dtype=np.int64)
        self._average = shares * int(sizes.sum())
        self._group_average = sizes[:, None] * shares[None, :]

    def add(self, task: int, client: int, number: int) -> None:
        """Add `number` copies of the task to the client's count; a negative number removes."""
        self._copies[client] += number
        self._group_copies[self._group[task], client] += number

    def move(self, move: ShardMove) -> None:
        """Count the copy on its target instead of its source."""
        self.add(move.task, move.source, -1)
        self.add(move.task, move.target, 1)

    def weigh(self, group: int) -> FloatArray:
        """Return (C,) the weight of each client for a subtopology."""
        return self._combine(self._copies - self._average, self._group_copies[group] - self._group_average[group])

    def weigh_all(self) -> FloatArray:
        """Return (G, C) the weight of each client for every subtopology."""
        return self._combine((self._copies - self._average)[None, :], self._group_copies - self._group_average)

    def improves(self, move: ShardMove) -> bool:
        """Return whether the source outweighs the target by more than the threshold."""
        weight = self.weigh(int(self._group[move.task]))
        return bool(exceeds(weight[move.source] - weight[move.target]))

    @staticmethod
    def _combine(shard: FloatArray, index: FloatArray) -> FloatArray:
        """Return weights from the excess over the average of all copies (`shard`) and of a subtopology (`index`)."""
        total: FloatArray = (SHARD_BALANCE * shard + INDEX_BALANCE * index) / (SHARD_BALANCE + INDEX_BALANCE)
        return total


def exceeds(difference: float) -> bool:
    """Return whether a difference of weights exceeds the threshold by more than rounding."""
    return difference > THRESHOLD + SHARD_TOLERANCE


def promote_replicas(problem: Problem, before: Placement) -> Placement:
    """Give each task without an active copy one on a replica's client, otherwise on a client with state; least lag first."""
    active = before.active.copy()
    keys = before.standby_keys(problem.C)
    replica = np.isin(problem.col_keys, keys)
    at = np.flatnonzero((active[problem.col_task] < 0) & (replica | problem.col_state))
    at = at[np.lexsort((problem.col_client[at], problem.col_lag[at], ~replica[at], problem.col_task[at]))[::-1]]
    active[problem.col_task[at]] = problem.col_client[at]  # reversed, so that the best wins
    return make_placement(active, keys[active[keys // problem.C] != keys % problem.C], problem.C)


class Routing:
    """The mutable places of copies in this rebalance (Elasticsearch's routing table)."""

    def __init__(self, problem: Problem, before: Placement) -> None:
        self._problem = problem
        self.active: list[int] = before.active.tolist()
        self.standbys: list[set[int]] = [set() for _ in range(problem.T)]
        for task, client in zip(before.standby_task.tolist(), before.standby_client.tolist(), strict=True):
            self.standbys[task].add(client)
        self.may_receive: BoolArray = ~problem.draining if not problem.draining.all() else ~np.zeros(problem.C, dtype=np.bool_)
        units = np.where(self.may_receive, problem.units, 0)
        self.shares: FloatArray = units / units.sum()
        self.weights = ShardWeights(problem, self.shares)
        for task in range(problem.T):
            for client in self.clients_of(task):
                self.weights.add(task, client, 1)

    def clients_of(self, task: int) -> list[int]:
        """Return the clients with a copy of the task, the active one first."""
        active = [self.active[task]] if self.active[task] >= 0 else []
        return active + sorted(self.standbys[task])

    def allocate(self) -> None:
        """Assign missing copies to the client of least weight, then of least id."""
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
        """Return the client without a copy of the task that has the least weight, then the least index.

        Draining clients come only if no other client is free.
        """
        free = np.ones(self._problem.C, dtype=np.bool_)
        free[self.clients_of(task)] = False
        if (free & self.may_receive).any():
            free &= self.may_receive  # unless R4 needs draining clients
        weight = self.weights.weigh(int(self._problem.group[task]))
        return int(np.argmin(np.where(free, weight, np.inf)))

    def move(self, move: ShardMove) -> None:
        """Apply a move now."""
        if self.active[move.task] == move.source:
            self.active[move.task] = move.target
        else:
            self.standbys[move.task].remove(move.source)
            self.standbys[move.task].add(move.target)
        self.weights.move(move)

    def placement(self) -> Placement:
        """Return the copies in arrays."""
        keys = [task * self._problem.C + client for task, clients in enumerate(self.standbys) for client in clients]
        return make_placement(np.array(self.active, dtype=np.int64), np.array(keys, dtype=np.int64), self._problem.C)

    def all_in_sync(self) -> bool:
        """Return whether no copy is being restored (cluster.routing.allocation.allow_rebalance: indices_all_active)."""
        answer, C = self.placement(), self._problem.C
        keys: IntArray = np.concatenate([np.arange(self._problem.T) * C + answer.active, answer.standby_keys(C)])
        return not np.any(self._problem.rank_of(keys) > 0)


CONCURRENT_REBALANCE = 2
"""Elasticsearch's default of cluster.routing.allocation.cluster_concurrent_rebalance."""


class ShardMoves:
    """The moves of one rebalance. The next move is chosen as if begun moves, which wait for their targets, were done."""

    def __init__(self, problem: Problem, routing: Routing) -> None:
        self._problem, self._routing = problem, routing
        self._slots = min(CONCURRENT_REBALANCE, problem.max_warmups)
        self.warmups: set[int] = set()
        """Keys task × C + client of the warm-ups."""
        self.begun: list[ShardMove] = []
        """Moves that have not taken effect."""
        self.left = False
        """Whether a move off a draining client found no slot."""
        self._weights = ShardWeights(problem, routing.shares)
        self._movable: dict[tuple[int, int], set[int]] = {}
        """Tasks by (subtopology, client)."""
        self._number = np.zeros((problem.G, problem.C), dtype=np.int64)
        """(G, C) the number of movable tasks."""
        self._targets: dict[int, set[int]] = {}
        """Targets of begun moves, by task."""
        for task in range(problem.T):
            for client in routing.clients_of(task):
                self._weights.add(task, client, 1)
                self._mark_movable(task, client)

    def drain(self) -> None:
        """Move copies off draining clients to the lightest ones, task by task.

        Tasks without a changelog move at once, so they come first: the targets of the others then stay the same in later calls.
        """
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
        """Move copies from the heaviest to the lightest clients while slots are left."""
        while (move := self.find_next()) is not None and self._make(move):
            pass

    def find_next(self) -> ShardMove | None:
        """Return the next move, from the heaviest client to the lightest in the subtopology with the greatest difference; None
        if no possible move exceeds the threshold.
        """
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
        """Yield (source, target), the heaviest source first, for each the lightest target first."""
        lightest_first = [c for c in np.argsort(weight, kind="stable").tolist() if self._routing.may_receive[c]]
        for source in np.argsort(-weight, kind="stable").tolist():
            if self._routing.may_receive[source] and self._number[group, source]:
                for target in lightest_first:
                    if not exceeds(weight[source] - weight[target]):
                        break
                    yield source, target

    def _make(self, move: ShardMove, *, forced: bool = False) -> bool:
        """Apply or begin a move; return False if it needs a warm-up slot and all slots are taken."""
        key = move.task * self._problem.C + move.target
        in_sync = int(self._problem.rank_of(np.array([key]))[0]) == 0
        if not in_sync and len(self.warmups) == self._slots:
            self.left = self.left or forced
            return False
        self._mark_moved(move.task, move.source)
        self._weights.move(move)
        # The move was chosen as if begun moves were done. If it does not improve the present state too, it waits.
        if in_sync and (forced or not self.begun or self._routing.weights.improves(move)):
            self._routing.move(move)
            self._mark_movable(move.task, move.target)
            return True
        if not in_sync:
            self.warmups.add(key)
        self.begun.append(move)
        self._targets.setdefault(move.task, set()).add(move.target)
        return True

    def _mark_movable(self, task: int, client: int) -> None:
        """Mark the client's copy of the task as movable."""
        group = int(self._problem.group[task])
        self._movable.setdefault((group, client), set()).add(task)
        self._number[group, client] += 1

    def _mark_moved(self, task: int, client: int) -> None:
        """Mark the client's copy of the task as moved."""
        group = int(self._problem.group[task])
        self._movable[group, client].remove(task)
        self._number[group, client] -= 1


class WeightedShardsAssignor(Baseline):
    """KIP-924 TaskAssignor that treats copies as Elasticsearch treats shards."""

    name: ClassVar[str] = "weighted-shards"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Promote and allocate missing copies, empty draining clients, then rebalance."""
        problem = situation.problem
        routing = Routing(problem, promote_replicas(problem, find_surviving(situation)))
        routing.allocate()
        moves = ShardMoves(problem, routing)
        moves.drain()
        if routing.all_in_sync():
            moves.rebalance()
        waits = bool(moves.begun) or moves.left or moves.find_next() is not None
        return Placed(routing.placement(), np.array(sorted(moves.warmups), dtype=np.int64), waits)
