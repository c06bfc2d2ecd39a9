"""The copies on each client while the high-availability assignor works, and its queue of least loaded clients."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from optassign.assignors.baselines.java_collections import JavaHeap, capacity_for, order_by_hash

Role = Literal["active", "standby"]


class AssignedCopies:
    """The mutable actives and standbys (warm-ups included) of all tasks; tasks and clients are indices."""

    def __init__(self, tasks: int, threads: Sequence[int]) -> None:
        self.threads = list(threads)
        self.active: list[int] = [-1] * tasks
        """Client of each task's active copy, −1 if missing."""
        self.standbys: list[set[int]] = [set() for _ in range(tasks)]
        """Clients of each task's standbys."""
        self.tasks: dict[Role, list[set[int]]] = {
            "active": [set() for _ in threads],
            "standby": [set() for _ in threads],
        }
        """Tasks of each client."""

    def number(self, client: int) -> int:
        """Return the number of copies of a client, of both roles."""
        return len(self.tasks["active"][client]) + len(self.tasks["standby"][client])

    def load(self, client: int) -> float:
        """Return the copies per thread of a client."""
        return self.number(client) / self.threads[client]

    def active_load(self, client: int) -> float:
        """Return the active copies per thread of a client."""
        return len(self.tasks["active"][client]) / self.threads[client]

    def active_copies(self) -> set[tuple[int, int]]:
        """Return all active copies as pairs (task, client)."""
        return {(task, client) for task, client in enumerate(self.active) if client >= 0}

    def standby_copies(self) -> set[tuple[int, int]]:
        """Return all standbys as pairs (task, client)."""
        return {(task, client) for task, clients in enumerate(self.standbys) for client in clients}

    def has(self, task: int, client: int) -> bool:
        """Return whether the client has a copy of the task."""
        return self.active[task] == client or client in self.standbys[task]

    def assign(self, role: Role, task: int, client: int) -> None:
        """Give a copy of the task to a client without one."""
        if role == "active":
            self.active[task] = client
        else:
            self.standbys[task].add(client)
        self.tasks[role][client].add(task)

    def unassign(self, role: Role, task: int, client: int) -> None:
        """Remove a copy from the client."""
        if role == "standby":
            self.standbys[task].remove(client)
        elif self.active[task] == client:
            self.active[task] = -1
        self.tasks[role][client].remove(task)


def balance_over_threads(copies: AssignedCopies, role: Role) -> None:
    """Move copies of one role from more to less loaded clients until no single move evens out a pair.

    Pairs are visited in order, and tasks in order: the first task without a copy on the less loaded client moves.
    """
    C = len(copies.threads)
    threads = np.array(copies.threads, dtype=np.float64)
    number = np.array([copies.number(client) for client in range(C)], dtype=np.float64)

    def next_destination(source: int, first: int) -> int:
        """Return the first client from `first` on with which a move from `source` evens out loads; C if there is none."""
        worth = _evens_out(number[source], threads[source], number[first:], threads[first:])
        return first + int(worth.argmax()) if worth.any() else C

    moving = True
    while moving:
        moving = False
        for source in range(C):
            destination = next_destination(source, 0)
            while destination < C:
                for task in sorted(copies.tasks[role][source]):
                    if copies.has(task, destination):
                        continue
                    copies.unassign(role, task, source)
                    copies.assign(role, task, destination)
                    number[source] -= 1
                    number[destination] += 1
                    moving = True
                    if not _evens_out(number[source], threads[source], number[destination], threads[destination]):
                        break
                destination = next_destination(source, destination + 1)


def _evens_out(number: Any, threads: Any, number_there: Any, threads_there: Any) -> Any:
    """Return whether a move reduces the difference of two loads without reversing it; arrays give arrays."""
    skew = number / threads - number_there / threads_there
    after = (number - 1) / threads - (number_there + 1) / threads_there
    return (skew > 0) & (after >= 0) & (after < skew)


Key = tuple[float, int]
"""Sort key of a client: (load, number)."""
_Event = int | tuple[Key, Key] | None
"""An event of the heap. An int: clients were taken up to this client. Two keys: their clients were put back. None: the heap was
emptied and refilled."""


class LeastLoaded:
    """Clients by load, in the order of Kafka's queue; at most one is taken out at a time.

    Kafka's PriorityQueue does not notice that loads of its items change, so its order may be broken. The queue is replayed item
    by item only if that can change the result.
    """

    def __init__(self, copies: AssignedCopies, hashes: Sequence[int]) -> None:
        """Put in all clients. hashes: of the clients' ids; they determine the order in which a HashSet puts clients back."""
        self._copies = copies
        self._hashes = hashes
        self._keys: list[Key] = [(copies.load(client), client) for client in range(len(hashes))]
        self._disorder: list[tuple[Key, Key]] = []
        """Disjoint ranges [a, b) of keys in which the heap's order may be broken; empty if it is in order."""
        self._taken = False
        self._heap: _Heap | None = _Heap(self._keys, range(len(hashes)), hashes)
        """The heap before the events in `_pending`; None if it is to be refilled with the clients of `_filled_with` by load."""
        self._filled_with = self._keys
        self._pending: list[_Event] = []

    def take(self, candidates: Collection[int]) -> int | None:
        """Take the first candidate of Kafka's queue, the least loaded if it is in order; None without candidates."""
        if not candidates:
            self._empty_and_fill()
            return None
        self._taken = True
        client = min(candidates, key=self._keys.__getitem__)
        unsure = self._disorder_around(self._keys[client])
        if unsure is not None and any(self._keys[client] < self._keys[other] < unsure[1] for other in candidates):
            heap = self._replay()
            if heap.is_in_order():
                self._disorder.clear()
            return heap.take(candidates)
        self._pending.append(client)
        return client

    def put_back(self, source: int, destination: int) -> None:
        """Put both clients back by their present loads: first `source`, then `destination`, which was not taken."""
        before = self._keys[destination]
        for client in (source, destination):
            self._keys[client] = (self._copies.load(client), client)
        if self._keys[destination] < before:
            self._note_disorder(source, destination, before)
        self._taken = False
        self._pending.append((self._keys[source], self._keys[destination]))

    def _note_disorder(self, source: int, destination: int, before: Key) -> None:
        """Record the range of possible disorder if the destination is lighter than `before`, its key in the heap."""
        put_back, after = self._keys[source], self._keys[destination]
        # A taken source is put back. It may come to lie below the destination, though it is lighter than
        # the item above both. A source inside the heap may have been compared with any client.
        if self._taken and not after < put_back < before:
            return
        least, end = put_back if self._taken else after, before
        if self._disorder_around(before) is None and not any(least < key < before for key in self._keys):
            return
        apart = []
        for start, stop in self._disorder:
            if start <= end and least <= stop:
                least, end = min(least, start), max(end, stop)
            else:
                apart.append((start, stop))
        self._disorder = [*apart, (least, end)]

    def _disorder_around(self, key: Key) -> tuple[Key, Key] | None:
        """Return the range of possible disorder that contains the key; None if there is none."""
        return next(((start, stop) for start, stop in self._disorder if start <= key < stop), None)

    def _empty_and_fill(self) -> None:
        """Take all clients and put them back in a HashSet's order: by bucket, then as taken."""
        mask = capacity_for(len(self._keys)) - 1
        unsure = [
            [self._hashes[client] & mask for _, client in self._keys if start <= self._keys[client] < stop]
            for start, stop in self._disorder
        ]
        if all(len(set(buckets)) == len(buckets) for buckets in unsure):
            self._heap, self._filled_with = None, list(self._keys)
            self._pending.clear()
        else:
            self._pending.append(None)
        self._disorder.clear()

    def _replay(self) -> _Heap:
        """Return the heap after all pending events."""
        if self._heap is None:
            by_load = sorted(range(len(self._keys)), key=self._filled_with.__getitem__)
            self._heap = _Heap(self._filled_with, order_by_hash(by_load, self._hashes), self._hashes)
        for event in self._pending:
            self._heap.play(event)
        self._pending.clear()
        return self._heap


class _Heap:
    """Kafka's queue of clients, replayed event by event."""

    def __init__(self, keys: Sequence[Key], clients: Iterable[int], hashes: Sequence[int]) -> None:
        self._keys = list(keys)
        self._hashes = hashes
        self._heap = JavaHeap(self._keys, clients)

    def take(self, candidates: Container[int]) -> int | None:
        """Take clients until one is a candidate, and put the others back; return it, or None if no client is a candidate."""
        taken = self._heap.pop_until(candidates)
        found = taken.pop() if taken and taken[-1] in candidates else None
        for client in order_by_hash(taken, self._hashes):
            self._heap.add(client)
        return found

    def play(self, event: _Event) -> None:
        """Apply an event to the heap."""
        if event is None:
            self.take(())
        elif isinstance(event, int):
            self.take((event,))
        else:
            for key in event:
                self._keys[key[1]] = key
            for _, client in event:
                if client in self._heap:
                    self._heap.remove(client)
                self._heap.add(client)

    def is_in_order(self) -> bool:
        """Return whether no client has a client of greater key above it."""
        return self._heap.is_in_order()
