"""Limits on where copies are, as arrays: whether a placement keeps them, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeVar

import numpy as np

from optassign_models.offload import OffloadOptions
from optassign_models.problem import BoolArray, IntArray, Placement


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
        """Whether a placement of all tasks keeps it."""
        if self.kind is Kind.PIN:
            return bool(self.clients[placed.active[self.tasks]].all())
        if self.kind is Kind.FORBID:
            on_active = self.tasks & self.clients[placed.active]
            on_standby = self.tasks[placed.standby_task] & self.clients[placed.standby_client]
            return not (on_active.any() or on_standby.any())
        return bool(np.all(self.weigh(placed)[self.clients] <= self.most))

    def weigh(self, placed: Placement) -> IntArray:
        """(C,) what the copies on each client weigh in all; of MOST. A sum beyond int64 counts as the most there is."""
        assert self.weight is not None
        held = np.zeros(len(self.clients))
        exact = np.zeros(len(self.clients), dtype=np.int64)
        pairs = ((np.arange(len(placed.active)), placed.active), (placed.standby_task, placed.standby_client))
        for task, client in pairs:
            np.add.at(held, client, self.weight[task].astype(np.float64))
            np.add.at(exact, client, self.weight[task])
        return np.where(held > float(1 << 62), np.iinfo(np.int64).max, exact)


def list_broken(limits: Sequence[PlacementLimit], placed: Placement) -> list[PlacementLimit]:
    """The limits that a placement does not keep, in their order."""
    return [limit for limit in limits if not limit.is_kept(placed)]


def restrict_offload(options: OffloadOptions, limits: Sequence[PlacementLimit]) -> OffloadOptions:
    """The options without places where a limit does not want the task.

    Logged tasks change roles, so only pins speak of them. A stateless task that a limit speaks of stays where it is, as the
    flow does not count copies by limit.
    """
    problem = options.problem
    columns, pools = options.columns.copy(), options.pools.copy()
    stays = problem.col_client == options.start[problem.col_task]
    for limit in limits:
        if limit.kind is Kind.PIN:
            barred = limit.tasks[problem.col_task] & ~limit.clients[problem.col_client]
            tasks = limit.tasks
        else:
            tasks = limit.tasks if limit.weight is None or limit.kind is Kind.FORBID else limit.weight > 0
            barred = tasks[problem.col_task] & options.pools[problem.col_task]
        columns &= ~barred | stays
        pools &= ~tasks
    return replace(options, columns=columns, pools=pools)


Item = TypeVar("Item")


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
