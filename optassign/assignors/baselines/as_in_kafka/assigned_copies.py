"""The copies on each client while the high-availability assignor works, and each client's load.

Tasks and clients are numbers, in Kafka's order. A client's load is its number of copies per thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

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
