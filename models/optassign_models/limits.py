"""Limits on the places of copies: check them, find conflicts among them, and repair a placement towards them.

The repair (`mend`) needs no solver: it moves few copies to allowed clients, the cheapest first. It may leave a limit broken
that another order of moves would keep, so the caller checks the result with `list_broken`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

import numpy as np

from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies

Item = TypeVar("Item")


class Kind(Enum):
    """The condition of a limit on its tasks and clients."""

    PIN = auto()
    """Each of the tasks is active on one of the clients."""
    FORBID = auto()
    """No copy of the tasks is on any of the clients."""
    MOST = auto()
    """The total weight of the copies on each of the clients is at most `most`."""


@dataclass(frozen=True, eq=False)
class PlacementLimit:
    """A limit on a plan, or on an answer that is its own plan."""

    name: str
    kind: Kind
    tasks: BoolArray
    """(T,) whether the limit concerns the task; for MOST, the weights decide."""
    clients: BoolArray
    """(C,) whether the limit concerns the client."""
    most: int
    """The greatest weight of MOST."""
    weight: IntArray
    """(T,) weight of a copy of each task, for MOST: 1 to limit the number of copies, offsets to limit state."""
    counts_warmups: bool = False
    """Whether warm-ups count in an answer, since they fill the disk like other copies. Only for MOST."""

    @property
    def can_bind(self) -> bool:
        """Whether some placement breaks the limit."""
        if self.kind is Kind.MOST:
            return bool(self.clients.any()) and sum(self.weight.tolist()) > self.most
        barred = ~self.clients if self.kind is Kind.PIN else self.clients
        return bool(self.tasks.any() and barred.any())

    def is_kept(self, placed: Placement) -> bool:
        """Return whether a placement of all tasks keeps the limit."""
        if self.kind is Kind.PIN:
            return bool(self.clients[placed.active[self.tasks]].all())
        if self.kind is Kind.FORBID:
            on_active = self.tasks & self.clients[placed.active]
            on_standby = self.tasks[placed.standby_task] & self.clients[placed.standby_client]
            return not (on_active.any() or on_standby.any())
        return bool(np.all(self.weigh(placed)[self.clients] <= self.most))

    def weigh(self, placed: Placement) -> IntArray:
        """Return (C,) the total weight of the copies on each client; sums beyond 2⁶² become the greatest int64."""
        client, exact = np.append(placed.active, placed.standby_client), np.zeros(len(self.clients), dtype=np.int64)
        weight = np.append(self.weight, self.weight[placed.standby_task])
        held = np.bincount(client, weight, len(exact))
        np.add.at(exact, client, weight)
        return np.where(held > float(1 << 62), np.iinfo(np.int64).max, exact)


def list_broken(limits: Sequence[PlacementLimit], placed: Placement) -> list[PlacementLimit]:
    """Return the limits that a placement does not keep, in their order."""
    return [limit for limit in limits if not limit.is_kept(placed)]


def choose_compatible(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool | None]) -> list[Item]:
    """Return items that can hold together: in order, each item is kept if `is_possible` with those kept before it."""
    if is_possible(items):
        return list(items)
    kept: list[Item] = []
    for item in items:
        if is_possible([*kept, item]):
            kept.append(item)
    return kept


def find_conflict(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool | None]) -> list[Item]:
    """Return a minimal conflicting subset of `items`: infeasible together, feasible without any one of them.

    A deletion filter drops each item, the last first, if the others still conflict. It calls `is_possible` once per item.
    """
    left = list(items)
    for item in reversed(items):
        without = [other for other in left if other is not item]
        if not is_possible(without):
            left = without
    return left


def mend(problem: Problem, shares: ShareFamilies, limits: Sequence[PlacementLimit], placed: Placement) -> Placement:
    """Return the placement after single moves towards the limits. R1, R2 and R4 hold as before; some limit may stay broken."""
    if not list_broken(limits, placed):
        return placed
    work = _Mending(problem, shares, limits, placed)
    for task in sorted(work.limits_of):
        work.replace_misplaced(task)
    for number, limit in enumerate(work.most):
        for client in np.flatnonzero(limit.clients).tolist():
            work.lighten(number, client)
    return work.placement


class _Mending:
    """A placement under repair, changed in place: the copies of each task, the active one first."""

    def __init__(self, problem: Problem, shares: ShareFamilies, limits: Sequence[PlacementLimit], placed: Placement) -> None:
        self._problem, self._shares = problem, shares
        self._copies = [[client] for client in placed.active.tolist()]
        for task, client in zip(placed.standby_task.tolist(), placed.standby_client.tolist(), strict=True):
            self._copies[task].append(client)
        self.limits_of: dict[int, list[PlacementLimit]] = {}
        """Task → the limits of PIN and FORBID that concern it."""
        for limit in limits:
            for task in np.flatnonzero(limit.tasks).tolist() if limit.kind is not Kind.MOST else ():
                self.limits_of.setdefault(task, []).append(limit)
        self.most = [limit for limit in limits if limit.kind is Kind.MOST]
        self._load = [limit.weigh(placed).astype(object) for limit in self.most]
        self._actives = np.bincount(placed.active, minlength=problem.C)
        self._number = self._actives + np.bincount(placed.standby_client, minlength=problem.C)

    @property
    def placement(self) -> Placement:
        """The present placement."""
        C = self._problem.C
        keys = [task * C + client for task, (_, *standbys) in enumerate(self._copies) for client in standbys]
        return make_placement(np.array([copies[0] for copies in self._copies]), np.array(keys, dtype=np.int64), C)

    def replace_misplaced(self, task: int) -> None:
        """Put the copies of a task on allowed clients. A holder that may lead is preferred as active; cheap copies stay.

        A copy for which no client is allowed stays, and the limit remains broken.
        """
        before, (may, leads) = self._copies[task], self._list_allowed(task)
        if leads[before[0]] and may[before].all():
            return
        self._count(task, -1)
        leader = next((client for client in before if leads[client]), self._choose(task, leads, [], lead=True))
        leader = before[0] if leader is None else leader
        cost = dict(zip(before, self._problem.cost_of(task * self._problem.C + np.array(before)).tolist(), strict=True))
        others = sorted((client for client in before if client != leader), key=lambda each: (not may[each], cost[each], each))
        after = [leader, *others[: len(before) - 1]]
        for place, client in enumerate(after):
            if place and not may[client]:
                found = self._choose(task, may, after, lead=False)
                after[place] = client if found is None else found
        self._copies[task] = after
        self._count(task, 1)

    def lighten(self, number: int, client: int) -> None:
        """Move copies off a client until it keeps limit `number` of MOST: standbys first, the heaviest of each role first."""
        limit = self.most[number]
        if self._load[number][client] <= limit.most:
            return
        on = [task for task, copies in enumerate(self._copies) if client in copies]
        held = [(self._copies[task][0] == client, -int(limit.weight[task]), task) for task in on]
        for _, _, task in sorted(held):
            if self._load[number][client] <= limit.most:
                return
            self._move(task, client)

    def _move(self, task: int, client: int) -> None:
        """Move a copy to a client with room. If no such client may lead, a standby takes over, and its place moves instead."""
        before, (may, leads) = self._copies[task], self._list_allowed(task)
        is_active = before[0] == client
        taking = self._choose(task, leads if is_active else may, before, lead=is_active, only_with_room=True)
        after = [taking if each == client else each for each in before]
        if taking is None and is_active:
            taking = self._choose(task, may, before, lead=False, only_with_room=True)
            leader = next((each for each in before[1:] if leads[each]), None)
            after = [leader, *(taking if each == leader else each for each in before[1:])]
        chosen = [each for each in after if each is not None]
        if len(chosen) == len(before):
            self._count(task, -1)
            self._copies[task] = chosen
            self._count(task, 1)

    def _list_allowed(self, task: int) -> tuple[BoolArray, BoolArray]:
        """Return (C,) clients that may have a copy of the task, and (C,) those on which it may be active."""
        may, leads = np.ones((2, self._problem.C), dtype=np.bool_)
        for limit in self.limits_of.get(task, ()):
            if limit.kind is Kind.PIN:
                leads &= limit.clients
            else:
                may &= ~limit.clients
        return may, leads & may

    def _choose(self, task: int, may: BoolArray, without: list[int], *, lead: bool, only_with_room: bool = False) -> int | None:
        """Return the best client for a copy of the task, or None if no client may have one.

        The criteria in order: room in the limits, not draining, room in the shares, restore cost, copies per unit, least id.
        """
        problem, may = self._problem, may.copy()
        may[without] = False
        room = np.ones(problem.C, dtype=np.bool_)
        for limit, load in zip(self.most, self._load, strict=True):
            room &= ~limit.clients | (load + int(limit.weight[task]) <= limit.most).astype(np.bool_)
        at = np.flatnonzero(may & room if only_with_room else may)
        if not len(at):
            return None
        over: IntArray = np.maximum(self._number + 1 - self._shares.copies.high, 0)
        if lead:
            over = over + np.maximum(self._actives + 1 - self._shares.active.high, 0)
        cost, held = problem.cost_of(task * problem.C + at), self._number[at] / problem.units[at]
        return int(at[np.lexsort((at, held, cost, over[at], problem.draining[at], ~room[at]))[0]])

    def _count(self, task: int, sign: int) -> None:
        self._actives[self._copies[task][0]] += sign
        for client in self._copies[task]:
            self._number[client] += sign
            for limit, load in zip(self.most, self._load, strict=True):
                load[client] += sign * int(limit.weight[task])
