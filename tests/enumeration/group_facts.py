"""The facts of a tiny group that the rules derive from a snapshot: ranks, restore costs, owners, previous copies.

Source: docs/reference/rules.md, "Lags and ranks", "What was assigned before", R4. This folder reads snapshots as JSON and
shares no code with the package under test. All numbers are integers or fractions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

RUNNING, UNKNOWN = -2, -3
"""Special lags: the task runs on the client; the lag is unknown."""
EVERYTHING = 2**63 - 1
"""The acceptable recovery lag that makes every client count as caught up."""

Snapshot = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A task of the snapshot."""

    name: str
    subtopology: str
    stateful: bool
    logged: bool
    end: int | None
    weight: Fraction
    sources: tuple[frozenset[str], ...]
    """The racks with a replica of each source partition."""
    changelogs: tuple[frozenset[str], ...]
    """The racks with a replica of each changelog partition."""


@dataclass(frozen=True)
class Client:
    """A client of the snapshot."""

    name: str
    threads: int
    capacity: Fraction
    drains: bool
    tags: Mapping[str, str]
    rack: str | None
    names: frozenset[str]
    """The names by which options refer to this client: process id, client id and host."""
    previous_active: frozenset[str]
    previous_standby: frozenset[str]
    lags: Mapping[str, int]

    @property
    def unit(self) -> int:
        """Threads × capacity, in whole millionths."""
        return self.threads * round(self.capacity * 1_000_000)


@dataclass(frozen=True)
class Group:
    """A snapshot and the facts that the rules derive from it. Tasks and clients are indices into the sorted lists."""

    tasks: tuple[Task, ...]
    clients: tuple[Client, ...]
    configs: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def acceptable(self) -> int:
        """The acceptable recovery lag, in offsets."""
        return int(self.configs.get("acceptable_recovery_lag", 10_000))

    @property
    def standbys(self) -> int:
        """The number s of standbys of each logged task (R4)."""
        return min(int(self.configs.get("num_standby_replicas", 0)), len(self.clients) - 1)

    @property
    def preset(self) -> str:
        """The preset of the options."""
        return str(self.options.get("preset", "lexicographic"))

    @property
    def limits(self) -> list[dict[str, Any]]:
        """The limits of the options, as JSON."""
        return list(self.options.get("limits", []))

    @cached_property
    def owners(self) -> list[frozenset[int]]:
        """The owners of each task."""
        return [frozenset(c for c, client in enumerate(self.clients) if t.name in client.previous_active) for t in self.tasks]

    @cached_property
    def listed(self) -> list[frozenset[int]]:
        """The clients that list each task in `previous_standby`."""
        return [frozenset(c for c, client in enumerate(self.clients) if t.name in client.previous_standby) for t in self.tasks]

    def whole(self, t: int) -> int:
        """Return the whole changelog of a logged task, in offsets."""
        task = self.tasks[t]
        if task.end is not None:
            return task.end
        lags = [client.lags.get(task.name, 0) for client in self.clients]
        return min(1 + max(self.acceptable, *lags), EVERYTHING)

    @cached_property
    def offsets(self) -> list[list[int]]:
        """The offsets that each client has to replay of each task; 0 for tasks that are not logged."""
        return [
            [self._offsets(t, c) if task.logged else 0 for c in range(len(self.clients))] for t, task in enumerate(self.tasks)
        ]

    def _offsets(self, t: int, c: int) -> int:
        lag = self.clients[c].lags.get(self.tasks[t].name)
        if lag is None or (lag == UNKNOWN and not self._holds(t, c)):
            return self.whole(t)
        return max(lag, 0)

    def _holds(self, t: int, c: int) -> bool:
        return c in self.owners[t] or c in self.listed[t]

    @cached_property
    def ranks(self) -> list[list[int]]:
        """The rank of each client for each task."""
        return [[self._rank(t, c) if task.logged else 0 for c in range(len(self.clients))] for t, task in enumerate(self.tasks)]

    def _rank(self, t: int, c: int) -> int:
        lag = self.clients[c].lags.get(self.tasks[t].name)
        if self.acceptable == EVERYTHING or lag == RUNNING:
            return 0
        if lag == UNKNOWN:
            return 1 if self._holds(t, c) else 2
        return 0 if self.offsets[t][c] <= self.acceptable else self.offsets[t][c]

    def cost(self, t: int, c: int) -> int:
        """Return the restore cost of a copy, in offsets."""
        return 0 if self.ranks[t][c] == 0 else self.offsets[t][c]

    def is_new(self, t: int) -> bool:
        """Return whether the task has no holder; without memory, a task without a holder is new."""
        return not self.owners[t] and not self.listed[t]

    def leaders(self, t: int) -> set[int]:
        """Return the most caught-up clients of the task, on which R3 allows its active copy."""
        return {c for c, rank in enumerate(self.ranks[t]) if rank == min(self.ranks[t])}

    def previous(self, t: int) -> tuple[int, frozenset[int]] | None:
        """Return the previous active and standbys of the task, without memory, or None if they are not known."""
        owners = self.owners[t]
        if not owners:
            return None
        name = self.tasks[t].name
        running = {c for c in owners if self.clients[c].lags.get(name) == RUNNING}
        active = min(running or owners)
        if not self.tasks[t].logged:
            return active, frozenset()
        order = sorted(self.listed[t] - {active}, key=lambda c: (self.offsets[t][c], c))
        chosen = frozenset(order[: self.standbys])
        return (active, chosen) if len(chosen) == self.standbys else None

    @property
    def has_unknown_lag(self) -> bool:
        """Whether some lag of a logged task is unknown."""
        logged = {task.name for task in self.tasks if task.logged}
        return any(lag == UNKNOWN and name in logged for client in self.clients for name, lag in client.lags.items())

    @property
    def staying(self) -> list[int]:
        """The clients that do not drain, or all clients if all drain."""
        return [c for c, client in enumerate(self.clients) if not client.drains] or list(range(len(self.clients)))

    @property
    def has_equal_ranks_of_unequal_cost(self) -> bool:
        """Whether clients of one rank of a task differ in restore cost; the rules leave open whose copy counts first."""
        clients = range(len(self.clients))
        return any(
            len({(self.ranks[t][c], self.cost(t, c)) for c in clients}) > len({self.ranks[t][c] for c in clients})
            for t in range(len(self.tasks))
        )


def read_group(snapshot: Snapshot) -> Group:
    """Return the facts of a snapshot."""
    options = snapshot.get("options", {})
    tasks = sorted((_read_task(row, options) for row in snapshot["tasks"]), key=_order_tasks)
    clients = sorted((_read_client(row, options) for row in snapshot["clients"]), key=lambda client: client.name)
    return Group(tuple(tasks), tuple(clients), snapshot["configs"], options)


def exact(number: float) -> Fraction:
    """Return the decimal number that the JSON shows, not the binary fraction next to it."""
    return Fraction(repr(number))


def _order_tasks(task: Task) -> tuple[str, int, int]:
    topology, _, number = task.subtopology.rpartition("__")
    return topology, int(number), int(task.name.rpartition("_")[2])


def _read_task(row: Snapshot, options: Mapping[str, Any]) -> Task:
    name = row["id"]
    subtopology = name.rpartition("_")[0]
    weights = options.get("task_weights", {})
    weight = weights.get(name, weights.get(subtopology, row.get("weight", 1)))
    partitions = row.get("partitions", [])
    return Task(
        name=name,
        subtopology=subtopology,
        stateful=row["stateful"],
        logged=bool(row.get("logged", row["stateful"])),
        end=row.get("changelog_end_offset"),
        weight=exact(weight),
        sources=tuple(frozenset(p["racks"]) for p in partitions if p.get("source", not p.get("changelog", False))),
        changelogs=tuple(frozenset(p["racks"]) for p in partitions if p.get("changelog", False)),
    )


def _read_client(row: Snapshot, options: Mapping[str, Any]) -> Client:
    tags = row.get("tags", {})
    names = frozenset(name for name in (row["process_id"], row.get("client_id"), row.get("host")) if name is not None)
    return Client(
        name=row["process_id"],
        threads=row["threads"],
        capacity=exact(row.get("capacity", 1)),
        drains=row.get("draining", False) or tags.get("optassign.drain") == "true" or bool(names & {*options.get("drain", [])}),
        tags=tags,
        rack=row.get("rack"),
        names=names,
        previous_active=frozenset(row.get("previous_active", [])),
        previous_standby=frozenset(row.get("previous_standby", [])),
        lags=row.get("lags", {}),
    )
