"""The copies on each client while the high-availability assignor works, and the least loaded client that may take a task."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from optassign.assignors.baselines.java_collections import JavaHeap, capacity_for, order_by_hash

Role = Literal["active", "standby"]


class AssignedCopies:
    """Actives and standbys (warm-ups among them) of all tasks, to be changed."""

    def __init__(self, tasks: int, threads: Sequence[int]) -> None:
        self.threads = list(threads)
        self.active: list[int] = [-1] * tasks
        """Client of each task's active copy, −1 for none."""
        self.standbys: list[set[int]] = [set() for _ in range(tasks)]
        """Clients of each task's standbys."""
        self.tasks: dict[Role, list[set[int]]] = {
            "active": [set() for _ in threads],
            "standby": [set() for _ in threads],
        }
        """Tasks of each client."""

    def number(self, client: int) -> int:
        """How many copies a client has, of both roles."""
        return len(self.tasks["active"][client]) + len(self.tasks["standby"][client])

    def load(self, client: int) -> float:
        """How many copies a client has per thread."""
        return self.number(client) / self.threads[client]

    def active_load(self, client: int) -> float:
        """How many active copies a client has per thread."""
        return len(self.tasks["active"][client]) / self.threads[client]

    def active_copies(self) -> set[tuple[int, int]]:
        """All active copies as pairs (task, client)."""
        return {(task, client) for task, client in enumerate(self.active) if client >= 0}

    def standby_copies(self) -> set[tuple[int, int]]:
        """All standbys as pairs (task, client)."""
        return {(task, client) for task, clients in enumerate(self.standbys) for client in clients}

    def has(self, task: int, client: int) -> bool:
        """Whether the client has a copy of the task."""
        return self.active[task] == client or client in self.standbys[task]

    def assign(self, role: Role, task: int, client: int) -> None:
        """Give a client a copy of a task that it does not hold."""
        if role == "active":
            self.active[task] = client
        else:
            self.standbys[task].add(client)
        self.tasks[role][client].add(task)

    def unassign(self, role: Role, task: int, client: int) -> None:
        """Take away a copy that the client has."""
        if role == "standby":
            self.standbys[task].remove(client)
        elif self.active[task] == client:
            self.active[task] = -1
        self.tasks[role][client].remove(task)


def balance_over_threads(copies: AssignedCopies, role: Role) -> None:
    """Move copies of one role from more to less loaded clients, pair by pair, until no single move evens out a pair.

    Pairs are taken in order, and of each pair the first tasks that the less loaded client has no copy of.
    """
    C = len(copies.threads)
    threads = np.array(copies.threads, dtype=np.float64)
    number = np.array([copies.number(client) for client in range(C)], dtype=np.float64)

    def next_destination(source: int, first: int) -> int:
        """The first client from `first` on to which a move from `source` is worth it; C for none."""
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
    """Whether a move makes the loads of two clients more equal, and not unequal the other way round; for arrays as well."""
    skew = number / threads - number_there / threads_there
    after = (number - 1) / threads - (number_there + 1) / threads_there
    return (skew > 0) & (after >= 0) & (after < skew)


Key = tuple[float, int]
"""The order of clients: load, number."""
_Event = int | tuple[Key, Key] | None
"""One event of the heap: clients were taken until this one came; two were put back, with these keys; it was emptied."""


class LeastLoaded:
    """All clients by load; at most one of them is taken out at a time."""

    def __init__(self, copies: AssignedCopies, hashes: Sequence[int]) -> None:
        """hashes: of the clients' ids; from them follows the order in which a HashSet has those to be put back."""
        self._copies = copies
        self._hashes = hashes
        self._keys: list[Key] = [(copies.load(client), client) for client in range(len(hashes))]
        self._disorder: list[tuple[Key, Key]] = []
        """The [a, b) as above, apart from each other; none: the heap is in order."""
        self._taken = False
        self._heap: _Heap | None = _Heap(self._keys, range(len(hashes)), hashes)
        """The heap as it was before `_later`; None: as it is when clients with `_filled_with` are put back by load."""
        self._filled_with = self._keys
        self._later: list[_Event] = []

    def take(self, candidates: Collection[int]) -> int | None:
        """The least loaded of the candidates (or whom a heap out of order names); None if there are none."""
        if not candidates:
            self._empty_and_fill()
            return None
        self._taken = True
        client = min(candidates, key=self._keys.__getitem__)
        unsure = self._disorder_around(self._keys[client])
        if unsure is not None and any(self._keys[client] < self._keys[other] < unsure[1] for other in candidates):
            heap = self._play_out()
            if heap.is_in_order():
                self._disorder.clear()
            return heap.take(candidates)
        self._later.append(client)
        return client

    def put_back(self, source: int, destination: int) -> None:
        """Put both back with the loads they have now: first `source`, just taken or not, then `destination`, which was not."""
        before = self._keys[destination]
        for client in (source, destination):
            self._keys[client] = (self._copies.load(client), client)
        if self._keys[destination] < before:
            self._note_disorder(source, destination, before)
        self._taken = False
        self._later.append((self._keys[source], self._keys[destination]))

    def _note_disorder(self, source: int, destination: int, before: Key) -> None:
        """Record the range of possible disorder, when the destination is lighter than `before`, its key in the heap."""
        put_back, after = self._keys[source], self._keys[destination]
        # A source that was taken is only put back: it may come to stand below the destination, though it is lighter than
        # what is above both. If it was taken out of the middle, the heap may have compared any client with the destination.
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
        """The range of keys with disorder that a key lies in; None where there is order."""
        return next(((start, stop) for start, stop in self._disorder if start <= key < stop), None)

    def _empty_and_fill(self) -> None:
        """All clients are taken, and put back in the order of a HashSet: within a bucket, as they came."""
        mask = capacity_for(len(self._keys)) - 1
        unsure = [
            [self._hashes[client] & mask for _, client in self._keys if start <= self._keys[client] < stop]
            for start, stop in self._disorder
        ]
        if all(len(set(buckets)) == len(buckets) for buckets in unsure):
            self._heap, self._filled_with = None, list(self._keys)
            self._later.clear()
        else:
            self._later.append(None)
        self._disorder.clear()

    def _play_out(self) -> _Heap:
        """The heap after all that has happened since it was last looked at."""
        if self._heap is None:
            by_load = sorted(range(len(self._keys)), key=self._filled_with.__getitem__)
            self._heap = _Heap(self._filled_with, order_by_hash(by_load, self._hashes), self._hashes)
        for event in self._later:
            self._heap.play(event)
        self._later.clear()
        return self._heap


class _Heap:
    """Kafka's queue of clients, played move by move."""

    def __init__(self, keys: Sequence[Key], clients: Iterable[int], hashes: Sequence[int]) -> None:
        self._keys = list(keys)
        self._hashes = hashes
        self._heap = JavaHeap(self._keys, clients)

    def take(self, candidates: Container[int]) -> int | None:
        """Take clients until one is a candidate, and put back the others; None if none is."""
        taken = self._heap.pop_until(candidates)
        found = taken.pop() if taken and taken[-1] in candidates else None
        for client in order_by_hash(taken, self._hashes):
            self._heap.add(client)
        return found

    def play(self, event: _Event) -> None:
        """Lets an event happen to the heap."""
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
        """Whether no client stands above a lesser one."""
        return self._heap.is_in_order()
