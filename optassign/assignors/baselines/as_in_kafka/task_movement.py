"""Second half of the high-availability assignor: from the balanced placement to one on caught-up clients.

Each copy on a client that is not caught up, while another one lags less, is moved there; where a warm-up is left, it stays
where it was as one. Kafka takes the tasks with fewest caught-up clients first (TaskMovement).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from optassign.assignors.baselines.as_in_kafka.assigned_copies import AssignedCopies
from optassign.assignors.baselines.as_in_kafka.java_heap import JavaHeap
from optassign.assignors.baselines.as_in_kafka.least_loaded import LeastLoaded
from optassign.assignors.baselines.as_in_kafka.reported_lags import ReportedLags

_Copy = tuple[int, int]
"""(task, client)."""


@dataclass(eq=False)
class WarmingCopies:
    """Copies that stay behind to catch up."""

    left: int
    """How many more may."""
    of_actives: set[_Copy] = field(default_factory=set)
    of_standbys: set[_Copy] = field(default_factory=set)

    def take_one(self) -> bool:
        """Whether one is left; then there is one less."""
        self.left -= 1
        return self.left >= 0


def move_actives(copies: AssignedCopies, lags: ReportedLags, warmups: WarmingCopies, hashes: Sequence[int]) -> int:
    """Move active copies to caught-up clients, or to the one that lags least; the number of copies not at their place.

    A caught-up standby changes places with the active; otherwise the active moves to the least loaded caught-up client.
    """
    movements = _list_movements(copies.active_copies(), lags)
    queue = LeastLoaded(copies, hashes)
    for task, destination in movements:
        source = queue.take([c for c in lags.list_caught_up(task) if c in copies.standbys[task]])
        if source is None:
            source = queue.take(lags.list_caught_up(task))
        if source is None:
            source = next(lags.order_by_lag(task))
        copies.unassign("active", task, destination)
        if source in copies.standbys[task]:
            copies.unassign("standby", task, source)
            copies.assign("standby", task, destination)
        elif warmups.take_one():
            copies.assign("standby", task, destination)
            warmups.of_actives.add((task, destination))
        copies.assign("active", task, source)
        queue.put_back(source, destination)
    return len(movements)


def move_standbys(copies: AssignedCopies, lags: ReportedLags, warmups: WarmingCopies, hashes: Sequence[int]) -> int:
    """Move standbys likewise to clients without a copy of the task; return the number of moved standbys."""
    movements = _list_movements(copies.standby_copies() - warmups.of_actives, lags)
    queue = LeastLoaded(copies, hashes)
    moved = 0
    for task, destination in movements:
        source = queue.take([c for c in lags.list_caught_up(task) if not copies.has(task, c)])
        if source is None:
            source = _find_least_lag_before(copies, lags, task, destination)
        if source is None:
            continue
        copies.assign("standby", task, source)
        if warmups.take_one():
            warmups.of_standbys.add((task, destination))
        else:
            copies.unassign("standby", task, destination)
        queue.put_back(source, destination)
        moved += 1
    return moved


def _list_movements(found: Iterable[_Copy], lags: ReportedLags) -> list[_Copy]:
    """The copies to move, in Kafka's order: fewest caught-up clients, then task.

    Several standbys of one task come as Kafka's heap gives out what is equal to it.
    """
    by_client = sorted((client, task) for task, client in found if lags.should_move(task, client))
    keys = [(len(lags.list_caught_up(task)), task) for _, task in by_client]
    order = JavaHeap(keys, range(len(keys))).pop_until(())
    return [(by_client[i][1], by_client[i][0]) for i in order]


def _find_least_lag_before(copies: AssignedCopies, lags: ReportedLags, task: int, client: int) -> int | None:
    """Find the client without a copy of the task and with the least lag, if it precedes `client` in that order."""
    for other in lags.order_by_lag(task):
        if other == client:
            return None
        if not copies.has(task, other):
            return other
    return None
