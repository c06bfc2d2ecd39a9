"""Limits on where copies are: which of them a placement keeps, which contradict, and a placement brought to keep them.

No solver is needed to bring a placement to keep them: copies go where they may be, few of them, cheap ones first. A limit may
stay broken that another order of moves had kept; the caller asks `list_broken`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

import numpy as np

from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies, count_copies

Item = TypeVar("Item")


class Kind(Enum):
    """A limit's statement on its tasks and clients."""

    PIN = auto()
    """The tasks are active on one of the clients."""
    FORBID = auto()
    """No copy of the tasks is on any of the clients."""
    MOST = auto()
    """The copies on each of the clients weigh at most so much in all."""


@dataclass(frozen=True, eq=False)
class PlacementLimit:
    """A limit that a plan keeps, or an answer that is its own plan."""

    name: str
    kind: Kind
    tasks: BoolArray
    """(T,) the tasks that it is about."""
    clients: BoolArray
    """(C,) the clients that it is about."""
    most: int = 0
    """Of MOST."""
    weight: IntArray | None = None
    """(T,) of MOST: what a copy of each task weighs; 1 for a number of copies, offsets for state."""
    counts_warmups: bool = False
    """For MOST in an answer: they fill the disk like other copies."""

    @property
    def can_bind(self) -> bool:
        """Whether some placement does not keep it."""
        if self.kind is Kind.PIN:
            return bool(self.tasks.any() and not self.clients.all())
        if self.kind is Kind.FORBID:
            return bool(self.tasks.any() and self.clients.any())
        assert self.weight is not None
        return bool(self.clients.any()) and sum(self.weight.tolist()) > self.most

    def is_kept(self, placed: Placement) -> bool:
        """Return whether a placement of all tasks keeps it."""
        if self.kind is Kind.PIN:
            return bool(self.clients[placed.active[self.tasks]].all())
        if self.kind is Kind.FORBID:
            on_active = self.tasks & self.clients[placed.active]
            on_standby = self.tasks[placed.standby_task] & self.clients[placed.standby_client]
            return not (on_active.any() or on_standby.any())
        return bool(np.all(self.weigh(placed)[self.clients] <= self.most))

    def weigh(self, placed: Placement) -> IntArray:
        """Return (C,) what the copies on each client weigh in all; of MOST. A sum beyond int64 counts as the most there is."""
        assert self.weight is not None
        held = np.zeros(len(self.clients))
        exact = np.zeros(len(self.clients), dtype=np.int64)
        pairs = ((np.arange(len(placed.active)), placed.active), (placed.standby_task, placed.standby_client))
        for task, client in pairs:
            np.add.at(held, client, self.weight[task].astype(np.float64))
            np.add.at(exact, client, self.weight[task])
        return np.where(held > float(1 << 62), np.iinfo(np.int64).max, exact)


def list_broken(limits: Sequence[PlacementLimit], placed: Placement) -> list[PlacementLimit]:
    """Return the limits that a placement does not keep, in their order."""
    return [limit for limit in limits if not limit.is_kept(placed)]


def choose_compatible(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """The items that can hold together, each in its turn where those before it leave room: the last named give way first."""
    if is_possible(items):
        return list(items)
    kept: list[Item] = []
    for item in items:
        if is_possible([*kept, item]):
            kept.append(item)
    return kept


def find_conflict(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """Find among items that cannot hold together some that cannot either, though they could without any one of them.

    Each item is left out for good where the others still contradict. As many questions as items.
    """
    left = list(items)
    for item in reversed(items):
        without = [other for other in left if other is not item]
        if not is_possible(without):
            left = without
    return left


def mend(problem: Problem, shares: ShareFamilies, limits: Sequence[PlacementLimit], placed: Placement) -> Placement:
    """Change the placement by single moves until it keeps the limits, if they suffice. R1, R2 and R4 stay as they are."""
    if all(limit.is_kept(placed) for limit in limits):
        return placed
    work = _Mending(problem, shares, limits, placed)
    for task in work.list_misplaced():
        work.replace_task(task)
    for limit in work.most:
        for client in np.flatnonzero(limit.clients).tolist():
            work.lighten(limit, client)
    return make_placement(work.active, np.array(work.list_standby_keys(), dtype=np.int64), problem.C)


class _Mending:
    """The placement as it changes."""

    def __init__(self, problem: Problem, shares: ShareFamilies, limits: Sequence[PlacementLimit], placed: Placement) -> None:
        self.problem = problem
        self.active = placed.active.copy()
        self.standby: list[list[int]] = [[] for _ in range(problem.T)]
        for task, client in zip(placed.standby_task.tolist(), placed.standby_client.tolist(), strict=True):
            self.standby[task].append(client)
        self.pins = [limit for limit in limits if limit.kind is Kind.PIN]
        self.forbids = [limit for limit in limits if limit.kind is Kind.FORBID]
        self.most = [limit for limit in limits if limit.kind is Kind.MOST]
        self.load = [limit.weigh(placed).astype(object) for limit in self.most]
        counts = count_copies(problem, placed)
        self.actives, self.copies = (
            counts.active.copy(),
            counts.active + np.bincount(placed.standby_client, minlength=problem.C),
        )
        self.most_actives = shares.active.high
        self.most_copies = shares.copies.high
        self.clients = np.arange(problem.C)

    def list_misplaced(self) -> list[int]:
        """Return tasks with a copy where it may not be, or active where it is not pinned."""
        wrong = np.zeros(self.problem.T, dtype=np.bool_)
        for limit in self.pins:
            wrong |= limit.tasks & ~limit.clients[self.active]
        for limit in self.forbids:
            wrong |= limit.tasks & limit.clients[self.active]
            for task in np.flatnonzero(limit.tasks).tolist():
                wrong[task] |= any(limit.clients[client] for client in self.standby[task])
        return np.flatnonzero(wrong).tolist()

    def replace_task(self, task: int) -> None:
        """Put the task's copies on allowed clients: an active that may lead stays, otherwise a standby that may takes over."""
        may, leads = self._may_hold(task), self._may_lead(task)
        before = [int(self.active[task]), *self.standby[task]]
        kept = [client for client in before if may[client]]
        self._drop(task)
        leader = next((client for client in kept if leads[client]), None)
        if leader is None:
            leader = self._choose(task, leads, [], lead=True)
        if leader is None:  # nowhere: it stays, and the limit is not kept
            leader = before[0]
        chosen = [client for client in kept if client != leader]
        chosen = sorted(chosen, key=lambda client: (self._cost(task, client), client))[: len(before) - 1]
        while len(chosen) < len(before) - 1:
            found = self._choose(task, may, [leader, *chosen], lead=False)
            if found is None:
                found = next((client for client in before if client not in (leader, *chosen)), None)
            if found is None:
                found = next(client for client in self.clients.tolist() if client not in (leader, *chosen))
            chosen.append(found)
        self._put(task, leader, chosen)

    def lighten(self, limit: PlacementLimit, client: int) -> None:
        """Move copies off a client that has too much: standbys first, and of these the ones that a few moves suffice with."""
        number = self.most.index(limit)
        assert limit.weight is not None
        weight = limit.weight.tolist()
        if self.load[number][client] <= limit.most:
            return
        standbys = [task for task in range(self.problem.T) if client in self.standby[task]]
        actives = np.flatnonzero(self.active == client).tolist()
        for role, tasks in (("standby", standbys), ("active", actives)):
            for task in sorted(tasks, key=lambda task: (-weight[task], task)):
                if self.load[number][client] <= limit.most:
                    return
                if role == "standby":
                    self._move_standby(task, client)
                else:
                    self._move_active(task)

    def _move_standby(self, task: int, client: int) -> None:
        """Give a standby to a client that has room, if there is one."""
        active, standby = int(self.active[task]), list(self.standby[task])
        found = self._choose(task, self._may_hold(task), [active, *standby], lead=False, only_with_room=True)
        if found is not None:
            self._drop(task)
            standby[standby.index(client)] = found
            self._put(task, active, standby)

    def _move_active(self, task: int) -> None:
        """Give an active to a client with room, or to one of its standbys, whose place another client takes."""
        active, standby = int(self.active[task]), list(self.standby[task])
        leads = self._may_lead(task)
        found = self._choose(task, leads, [active, *standby], lead=True, only_with_room=True)
        if found is None:
            found = next((client for client in standby if leads[client]), None)
            taking = self._choose(task, self._may_hold(task), [active, *standby], lead=False, only_with_room=True)
            if found is None or taking is None:
                return
            standby[standby.index(found)] = taking
        self._drop(task)
        self._put(task, found, standby)

    def list_standby_keys(self) -> list[int]:
        """Return keys of all standbys."""
        return [task * self.problem.C + client for task, clients in enumerate(self.standby) for client in clients]

    def _may_hold(self, task: int) -> BoolArray:
        may = np.ones(self.problem.C, dtype=np.bool_)
        for limit in self.forbids:
            if limit.tasks[task]:
                may &= ~limit.clients
        return may

    def _may_lead(self, task: int) -> BoolArray:
        may = self._may_hold(task)
        for limit in self.pins:
            if limit.tasks[task]:
                may &= limit.clients
        return may

    def _has_room(self, task: int) -> BoolArray:
        room = np.ones(self.problem.C, dtype=np.bool_)
        for limit, load in zip(self.most, self.load, strict=True):
            assert limit.weight is not None
            room &= ~limit.clients | (load + int(limit.weight[task]) <= limit.most).astype(np.bool_)
        return room

    def _choose(self, task: int, may: BoolArray, without: list[int], *, lead: bool, only_with_room: bool = False) -> int | None:
        """The client that suits best: with room in limits, then in shares, cheap, with few copies. None where none may."""
        may = may.copy()
        may[without] = False
        room = self._has_room(task)
        if only_with_room:
            may &= room
        at = np.flatnonzero(may)
        if not len(at):
            return None
        over: IntArray = np.maximum(self.copies + 1 - self.most_copies, 0)
        if lead:
            over = over + np.maximum(self.actives + 1 - self.most_actives, 0)
        cost = self.problem.cost_of(task * self.problem.C + at)
        held = self.copies[at] / self.problem.units[at]
        return int(at[np.lexsort((at, held, cost, over[at], self.problem.draining[at], ~room[at]))[0]])

    def _cost(self, task: int, client: int) -> int:
        return int(self.problem.cost_of(np.array([task * self.problem.C + client]))[0])

    def _drop(self, task: int) -> None:
        self._count(task, -1)

    def _put(self, task: int, active: int, standby: list[int]) -> None:
        self.active[task], self.standby[task] = active, standby
        self._count(task, 1)

    def _count(self, task: int, sign: int) -> None:
        self.actives[self.active[task]] += sign
        for client in (int(self.active[task]), *self.standby[task]):
            self.copies[client] += sign
            for limit, load in zip(self.most, self.load, strict=True):
                assert limit.weight is not None
                load[client] += sign * int(limit.weight[task])
