"""Kafka's public StickyTaskAssignor (KIP-924), as of Kafka 4.3.1.

Each task stays with its previous owner while the owner has fewer tasks than an even share per thread. Otherwise it goes to a
client below its share with the task on disk, and last to the least loaded. Lags are ignored. Standbys go to the owner or a
client with the task on disk, unless it has a task per thread and another client is less loaded. Then they go to the least
loaded client that has a task which no client of this task has.

The order of Java's hash tables decides which tasks an overloaded owner keeps, and ties between clients. The actives equal those
of Kafka's own class task by task (`kafka-sticky` runs it), with one exception that no snapshot records: Kafka iterates
over clients with ids in the same bucket in the order in which they joined; here, and in `kafka-sticky`, in the order of ids.

Kafka visits the tasks for standbys in an order that differs from run to run (a set of objects without hash codes); here it is
the order of ids. In any order, a logged task has min(num_standby_replicas, clients − 1) standbys, none next to its active; and
if a standby goes to a client without state of the task, the previous owner is no better choice: it has the active, another
standby, or at least one task per thread.

Rack strategies are not ported. Kafka's class fails from 46,342 to 65,536 tasks (an int overflows); this one does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.assignors.baselines.java_collections import (
    HashTable,
    capacity_for,
    capacity_of_copy,
    capacity_of_put_all,
    hash_subtopology,
    hash_task,
    order_by_bucket,
    order_by_hash,
    order_process_ids,
)
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign_models.problem import IntArray, make_placement
from optassign_models.solving.situation import Situation

_RACKS = "rack_aware_assignment_strategy is not looked at; kafka-sticky runs Kafka's own class, which does"


class StickyAssignor(Baseline):
    """KIP-924's assignor; its actives equal those of Kafka's StickyTaskAssignor if no rack strategy is configured."""

    name: ClassVar[str] = "sticky"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Assign actives, then standbys, as Kafka does."""
        order, hashes = order_process_ids(situation.inventory.clients)
        clients = [state.clients[i] for i in order]
        rebalance = _Rebalance(state, clients, hashes)
        rebalance.assign_actives()
        rebalance.assign_standbys()
        position = np.array(order, dtype=np.int64)
        pairs = np.array(rebalance.standbys, dtype=np.int64).reshape(-1, 2)
        return Placed(
            make_placement(position[rebalance.active], pairs[:, 0] * len(order) + position[pairs[:, 1]], len(order)),
            notes=() if state.configs.rack_aware_assignment_strategy == "none" else (_RACKS,),
        )


class _Rebalance:
    """One call of the assignor. Tasks and clients are numbers, in Kafka's order of ids."""

    def __init__(self, state: ApplicationState, clients: Sequence[KafkaStreamsState], hashes: Sequence[int]) -> None:
        self._state = state
        self._hashes = hashes
        self._threads = [client.threads for client in clients]
        self._iterated = order_by_hash(range(len(clients)), hashes)
        """Clients in the iteration order of the map of their states."""
        self._task_hashes = [hash_task(task.task_id) for task in state.tasks]
        number = {task.id: t for t, task in enumerate(state.tasks)}
        self._owners = HashTable(self._task_hashes)
        self._owner: dict[int, int] = {}
        had: list[list[int]] = [[] for _ in state.tasks]
        for c in self._iterated:
            for task in map(number.__getitem__, clients[c].previous_active):
                if task not in self._owner:
                    self._owners.put(task)
                self._owner[task] = c  # the last of several claims wins, as in Kafka
            for task in map(number.__getitem__, clients[c].previous_standby):
                had[task].append(c)
        self._had = [order_by_hash(holders, hashes) for holders in had]
        """Per task, the clients that list it in `previous_standby`, in the iteration order of their set."""

        self.active = np.full(len(state.tasks), -1, dtype=np.int64)
        """(T,) client of each task's active copy."""
        self.standbys: list[tuple[int, int]] = []
        """Pairs (task, client)."""
        self._on: list[list[int]] = [[] for _ in state.tasks]
        """Per task, the clients with a copy."""
        self._tasks = [0] * len(clients)
        """Per client, its tasks as bits of an integer."""
        self._load = np.zeros(len(clients))
        """(C,) copies per thread."""
        self._number = [0] * len(clients)
        """Copies of each client."""

    def assign_actives(self) -> None:
        """Assign every task to one client: owners with room first, then clients with the task on disk, then the best of all."""
        per_thread = len(self.active) // sum(self._threads)

        def has_room(client: int) -> bool:
            """Return whether the client has fewer tasks than its threads × the even share of a thread, rounded down."""
            return self._number[client] < self._threads[client] * per_thread

        unassigned = self._make_task_table()
        for task in self._owners:
            if has_room(self._owner[task]):
                self._assign_active(task, self._owner[task])
                unassigned.remove(task)
        for task in unassigned:
            client = next(filter(has_room, self._had[task]), None)
            if client is not None:
                self._assign_active(task, client)
        all_clients = np.array(order_by_hash(self._iterated, self._hashes), dtype=np.int64)
        for task in np.flatnonzero(self.active < 0).tolist():
            self._assign_active(task, self._choose_client(task, all_clients))

    def assign_standbys(self) -> None:
        """Assign the standbys of logged tasks, each to the best client without a copy."""
        wanted = self._state.configs.num_standby_replicas
        C = len(self._threads)
        iterated: dict[int, IntArray] = {}
        for task in (t for t, info in enumerate(self._state.tasks) if info.logged):
            for _ in range(min(wanted, C - 1)):
                capacity = capacity_for(C - len(self._on[task]))
                if capacity not in iterated:
                    iterated[capacity] = np.array(order_by_bucket(self._iterated, self._hashes, capacity), dtype=np.int64)
                candidates = iterated[capacity]
                client = self._choose_client(task, candidates[np.isin(candidates, self._on[task], invert=True)])
                self._assign(task, client)
                self.standbys.append((task, client))

    def _make_task_table(self) -> HashTable:
        """Return the set of all tasks as Kafka makes it, copied from map to map."""
        tasks: dict[tuple[str, int], list[int]] = {}
        for t, task in enumerate(self._state.tasks):
            tasks.setdefault(task.task_id.subtopology_key, []).append(t)
        groups = list(tasks)
        hashes = [hash_subtopology(group) for group in groups]
        by_group = order_by_hash(range(len(groups)), hashes, capacity_of_put_all(len(groups)))
        order = [task for g in order_by_hash(by_group, hashes) for task in tasks[groups[g]]]
        for _ in ("partitions of each task", "all tasks of the application"):
            order = list(HashTable.of(order, self._task_hashes))
        return HashTable.of(order, self._task_hashes, capacity_of_copy(len(order)))

    def _assign_active(self, task: int, client: int) -> None:
        self.active[task] = client
        self._assign(task, client)

    def _assign(self, task: int, client: int) -> None:
        self._on[task].append(client)
        self._tasks[client] |= 1 << task
        self._number[client] += 1
        self._load[client] = self._number[client] / self._threads[client]

    def _choose_client(self, task: int, candidates: IntArray) -> int:
        """Return the owner or a client with the task on disk, unless overloaded; otherwise the least loaded candidate."""
        if len(candidates) == 1:
            return int(candidates[0])
        had, on = self._had[task], self._on[task]
        holders = [client for client in order_by_hash(had, self._hashes, capacity_of_copy(len(had))) if client not in on]
        holder = self._find_least_loaded(task, np.array(holders, dtype=np.int64)) if holders else None
        owner = self._owner.get(task)
        for client in (holder if owner is None or owner in on else owner, holder):
            if client is not None and not self._is_overloaded(client):
                return client
        return self._find_least_loaded(task, candidates)

    def _is_overloaded(self, client: int) -> bool:
        """Return whether the client has at least one task per thread, and another client has a lower load."""
        return bool(1 <= self._load[client] > self._load.min())

    def _find_least_loaded(self, task: int, clients: IntArray) -> int:
        """Return the client that Kafka takes for the least loaded; of equals the first.

        That is a client without copies, otherwise the least loaded client that has a task which no client of this task has.
        Without such a client, it is the least loaded.
        """
        load = self._load[clients]
        first = int(load.argmin())
        if load[first] == 0:
            return int(clients[first])
        neighbours = 0
        for client in self._on[task]:
            neighbours |= self._tasks[client]
        least, found, at = np.inf, first, 0
        while (lighter := load[at:] < least).any():
            at += int(lighter.argmax())
            if self._tasks[int(clients[at])] & ~neighbours:
                least, found = load[at], at
            at += 1
        return int(clients[found])
