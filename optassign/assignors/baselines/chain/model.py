"""The draft that `goal-chain`'s goals change: an assignment that moves change step by step (Cruise Control's cluster model).

Counts are kept per client, and per client and subtopology, in the five families of `optassign_models/shares.py`; a move
touches two cells of each. Plain lists and integers: single cells are read far more often than whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optassign_models.problem import STATELESS, Placement, Problem, make_placement
from optassign_models.shares import count_copies

ACTIVE, STATEFUL, COPIES, GROUP_ACTIVE, GROUP_COPIES = range(5)
"""Families of shares, as in `ShareFamilies.in_order`."""
_OF_ALL_TASKS = 1 << ACTIVE | 1 << GROUP_ACTIVE
_OF_LOGGED_COPIES = 1 << COPIES | 1 << GROUP_COPIES


@dataclass(frozen=True, slots=True)
class DraftMove:
    """A copy from a client to another (Cruise Control's inter-broker replica movement), or with `leadership` the active role
    from a client to a standby of the task, which becomes a standby itself (leadership movement)."""

    task: int
    source: int
    target: int
    leadership: bool = False


Action = tuple[DraftMove, ...]
"""One move, or a swap: two moves of different tasks."""


class Draft:
    """An assignment in the making. Tasks, clients and keys (task × C + client) are indices."""

    def __init__(self, problem: Problem, start: Placement) -> None:
        self.problem = problem
        self.C = problem.C
        self.actions = 0
        """How many have been applied, healing included."""
        self.group: list[int] = problem.group.tolist()
        self.logged: list[bool] = problem.logged.tolist()
        self._families = self._find_families_of_actives()
        self.task_columns: list[list[int]] = [[] for _ in range(problem.T)]
        """Clients that differ from the pool, for each task."""
        self.client_columns: list[list[int]] = [[] for _ in range(problem.C)]
        """Tasks for which a client differs from the pool, for each client."""
        for task, client in zip(problem.col_task.tolist(), problem.col_client.tolist(), strict=True):
            self.task_columns[task].append(client)
            self.client_columns[client].append(task)
        self.open_pool: list[bool] = [True] * problem.T
        """Tasks whose copies may go to clients without state of them."""
        self.load(start)

    def load(self, start: Placement) -> None:
        """Starts from an assignment, in which actives (−1) and standbys may be missing."""
        problem = self.problem
        self.active: list[int] = start.active.tolist()
        self.standbys: list[frozenset[int]] = [frozenset()] * problem.T
        self.actives_on: list[set[int]] = [set() for _ in range(problem.C)]
        """Tasks active on each client."""
        self.standbys_on: list[set[int]] = [set() for _ in range(problem.C)]
        for task, client in enumerate(self.active):
            if client >= 0:
                self.actives_on[client].add(task)
        for task, client in zip(start.standby_task.tolist(), start.standby_client.tolist(), strict=True):
            self.standbys[task] |= {client}
            self.standbys_on[client].add(task)
        counted = count_copies(problem, start)
        self.counts: list[list[int]] = [family.ravel().tolist() for family in counted.in_order()]
        """Family → cell → count; cells of the last two are subtopology × C + client."""

    def placement(self) -> Placement:
        """The assignment as arrays."""
        keys = [task * self.C + client for task, clients in enumerate(self.standbys) for client in clients]
        return make_placement(np.array(self.active, dtype=np.int64), np.array(keys, dtype=np.int64), self.C)

    def holds(self, task: int, client: int) -> bool:
        """Whether the client has a copy of the task."""
        return self.active[task] == client or client in self.standbys[task]

    def copies_on(self, client: int) -> Iterator[int]:
        """List tasks with a copy on the client, active ones first, each group in order."""
        yield from sorted(self.actives_on[client])
        yield from sorted(self.standbys_on[client])

    def cell(self, family: int, task: int, client: int) -> int:
        """Return the cell that counts a copy of the task on the client."""
        return self.group[task] * self.C + client if family >= GROUP_ACTIVE else client

    def is_counted(self, family: int, move: DraftMove) -> bool:
        """Whether a move changes the counts of a family."""
        return bool(self._find_changed_families(move) >> family & 1)

    def is_counted_in(self, family: int, task: int, cell: int) -> bool:
        """Whether an active copy of the task is counted in the family, and on some client in this very cell."""
        return bool(self._families[task] >> family & 1) and self.cell(family, task, cell % self.C) == cell

    def copies_after(self, move: DraftMove) -> tuple[int, frozenset[int]]:
        """Active client and standbys of the task after a move."""
        active, standbys = self.active[move.task], self.standbys[move.task]
        if move.leadership:
            return move.target, standbys - {move.target} | {move.source}
        if active == move.source:
            return move.target, standbys
        return active, standbys - {move.source} | {move.target}

    def apply(self, action: Action) -> None:
        """Makes the moves of an action."""
        self.actions += 1
        for move in action:
            changed = self._find_changed_families(move)
            for family, counts in enumerate(self.counts):
                if changed >> family & 1:
                    counts[self.cell(family, move.task, move.source)] -= 1
                    counts[self.cell(family, move.task, move.target)] += 1
            self._set(move.task, *self.copies_after(move))

    def add(self, task: int, client: int, *, active: bool) -> None:
        """Adds a copy that was missing; an active one perhaps on a client that was the task's standby."""
        self.actions += 1
        families = self._families[task] if active else _OF_LOGGED_COPIES
        if client in self.standbys[task]:
            families &= ~_OF_LOGGED_COPIES
        for family, counts in enumerate(self.counts):
            if families >> family & 1:
                counts[self.cell(family, task, client)] += 1
        if active:
            self._set(task, client, self.standbys[task] - {client})
        else:
            self._set(task, self.active[task], self.standbys[task] | {client})

    def _set(self, task: int, active: int, standbys: frozenset[int]) -> None:
        """Puts the copies of a task on these clients, counts left as they are."""
        if self.active[task] >= 0:
            self.actives_on[self.active[task]].discard(task)
        for client in self.standbys[task]:
            self.standbys_on[client].discard(task)
        self.active[task], self.standbys[task] = active, standbys
        self.actives_on[active].add(task)
        for client in standbys:
            self.standbys_on[client].add(task)

    def _find_changed_families(self, move: DraftMove) -> int:
        """The families a move changes, as bits."""
        if self.active[move.task] != move.source:
            return _OF_LOGGED_COPIES
        return self._families[move.task] & ~_OF_LOGGED_COPIES if move.leadership else self._families[move.task]

    def _find_families_of_actives(self) -> list[int]:
        """For each task the families in which its active copy is counted, as bits."""
        stateful = self.problem.kind[self.problem.group] != STATELESS
        bits = _OF_ALL_TASKS | stateful.astype(np.int64) << STATEFUL | np.where(self.problem.logged, _OF_LOGGED_COPIES, 0)
        families: list[int] = bits.tolist()
        return families
