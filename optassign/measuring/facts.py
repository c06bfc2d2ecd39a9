"""An answer and its plan as the measures of goals read them, each value computed once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import Counts, Share, ShareName, compute_shares, counts, measure_imbalance
from optassign.measuring.placement import TaskPlacement, clients_by_task, planned_placement, previous_assignment
from optassign.measuring.ranks import Ranks

Pair = tuple[str, str]
"""(task id, process id) of a copy."""


@dataclass(frozen=True)
class Facts:
    """One answer to one snapshot. An answer without a plan is its own plan."""

    state: ApplicationState
    answer: TaskAssignment

    @cached_property
    def now(self) -> TaskPlacement:
        """The placement of this answer."""
        return TaskPlacement.of(self.state, self.answer)

    @cached_property
    def plan(self) -> TaskPlacement:
        """The placement of the plan."""
        return self.now if self.answer.plan is None else planned_placement(self.state, self.answer)

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """Task → the clients that list it as previously active."""
        return clients_by_task(self.state, ((client.process_id, client.previous_active) for client in self.state.clients))

    @cached_property
    def active_counts(self) -> Mapping[str, tuple[int, Share]]:
        """Client → active tasks that it has by this answer, and their share."""
        counted = self._counts.active
        return {client: (counted.get(client, 0), share) for client, share in compute_shares(self.state).active.items()}

    @cached_property
    def ranks(self) -> Ranks:
        """How far each client is from having each task's state."""
        return Ranks(self.state)

    @cached_property
    def cold(self) -> Mapping[Pair, int]:
        """The copies whose restore costs goal (b) sums: copies not caught up (rank > 0), with their restore costs in offsets.

        These are the copies of the plan, and more copies of this answer where it holds more of a task on clients of one rank
        than the plan: R3 to R5 force how many, and not which. The copies that R10 confirms count in any case.
        """
        if self.plan is self.now:
            return self._cold_now
        confirmed = previous_assignment(self.state).in_transit_copies
        counted = dict(self.cold_in_plan)
        only_in_plan = Counter(self._rank(pair) for pair in counted if pair not in self._cold_now)
        for pair, cost in sorted(self._cold_now.items()):
            task, client = pair
            if pair in counted:
                continue
            if client not in confirmed.get(task, ()) and only_in_plan[self._rank(pair)]:
                only_in_plan[self._rank(pair)] -= 1
            else:
                counted[pair] = cost
        return counted

    def _rank(self, pair: Pair) -> tuple[str, int]:
        """The task, and the client's rank for it."""
        return pair[0], self.ranks.of(*pair)

    @cached_property
    def cold_in_plan(self) -> Mapping[Pair, int]:
        """Copies not caught up that the plan wants, with their restore costs."""
        return self._cold_now if self.plan is self.now else find_cold(self.ranks, list_pairs(self.plan))

    @cached_property
    def not_caught_up_off_target(self) -> Mapping[Pair, int]:
        """Copies not caught up that this answer holds where the plan wants no copy of the task, with their restore costs."""
        plan = self.plan
        return {(task, client): cost for (task, client), cost in self._cold_now.items() if client not in plan.copies(task)}

    @cached_property
    def imbalance(self) -> Mapping[ShareName, int]:
        """Imbalance of each share of this answer."""
        return measure_imbalance(self.state, self._counts)

    @cached_property
    def _counts(self) -> Counts:
        return counts(self.state, self.now)

    @cached_property
    def _cold_now(self) -> Mapping[Pair, int]:
        return find_cold(self.ranks, list_pairs(self.now))


def list_pairs(placement: TaskPlacement) -> Iterable[Pair]:
    """Every active and standby copy as (task id, process id), client by client: its lags are at hand then."""
    held: dict[str, list[str]] = {}
    for role in (placement.active, placement.standby):
        for task, clients in role.items():
            for client in clients:
                held.setdefault(client, []).append(task)
    return ((task, client) for client, tasks in held.items() for task in tasks)


def count_actives_not_caught_up(cold: Iterable[Pair], placement: TaskPlacement) -> int:
    """Return the number of active copies among `cold`, the copies that are not caught up."""
    return sum(placement.active[task].count(client) for task, client in cold)


def find_cold(ranked: Ranks, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """The copies of rank > 0 among `pairs`, with their restore costs in offsets."""
    return {pair: ranked.restore_cost(*pair) for pair in pairs if ranked.of(*pair)}
