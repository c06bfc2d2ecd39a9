"""An answer and its target, with the values that several goals and measures read, each computed once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import Counts, Share, ShareName, compute_shares, count_copies, measure_imbalance
from optassign.measuring.placement import TaskPlacement, clients_by_task, planned_placement, previous_assignment
from optassign.measuring.ranks import Ranks

Pair = tuple[str, str]
"""(task id, process id) of a copy."""


@dataclass(frozen=True)
class Facts:
    """One answer to one snapshot. An answer without a target (`plan`) is its own target."""

    state: ApplicationState
    answer: TaskAssignment

    @cached_property
    def now(self) -> TaskPlacement:
        """The placement of the answer."""
        return TaskPlacement.of(self.state, self.answer)

    @cached_property
    def plan(self) -> TaskPlacement:
        """The placement of the target."""
        return self.now if self.answer.plan is None else planned_placement(self.state, self.answer)

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """Task → the clients that list it as previously active."""
        return clients_by_task(self.state, ((client.process_id, client.previous_active) for client in self.state.clients))

    @cached_property
    def active_counts(self) -> Mapping[str, tuple[int, Share]]:
        """Client → (active tasks in the answer, their share)."""
        counted = self._counts.active
        return {client: (counted.get(client, 0), share) for client, share in compute_shares(self.state).active.items()}

    @cached_property
    def ranks(self) -> Ranks:
        """The distance of each client from each task's state."""
        return Ranks(self.state)

    @cached_property
    def cold(self) -> Mapping[Pair, int]:
        """The copies whose restore costs goal (b) sums: copies not caught up (rank > 0) → restore cost in offsets.

        These are the copies of the target. If the answer has more copies of a task on clients of one rank than the target,
        the surplus counts too: R3 to R5 force the number of copies per rank, not the clients. Copies that R10 confirms always
        count.
        """
        if self.plan is self.now:
            return self._not_caught_up_now
        only_now = self._not_caught_up_now.keys() - self.not_caught_up_on_target.keys()
        if not only_now:
            return self.not_caught_up_on_target
        confirmed = previous_assignment(self.state).in_transit_copies
        counted = dict(self.not_caught_up_on_target)
        only_in_plan = Counter(self._rank(pair) for pair in counted if pair not in self._not_caught_up_now)
        for pair in sorted(only_now):
            task, client = pair
            if client not in confirmed.get(task, ()) and only_in_plan[self._rank(pair)]:
                only_in_plan[self._rank(pair)] -= 1
            else:
                counted[pair] = self._not_caught_up_now[pair]
        return counted

    def _rank(self, pair: Pair) -> tuple[str, int]:
        return pair[0], self.ranks.of(*pair)

    @cached_property
    def not_caught_up_on_target(self) -> Mapping[Pair, int]:
        """The copies of the target that are not caught up → restore cost in offsets."""
        return self._not_caught_up_now if self.plan is self.now else find_not_caught_up(self.ranks, list_pairs(self.plan))

    @cached_property
    def not_caught_up_off_target(self) -> Mapping[Pair, int]:
        """The answer's copies not caught up that are on clients without a target copy of the task → restore cost in offsets."""
        plan = self.plan
        return {
            (task, client): cost for (task, client), cost in self._not_caught_up_now.items() if client not in plan.copies(task)
        }

    @cached_property
    def imbalance(self) -> Mapping[ShareName, int]:
        """The answer's imbalance of each share."""
        return measure_imbalance(self.state, self._counts)

    @cached_property
    def _counts(self) -> Counts:
        return count_copies(self.state, self.now)

    @cached_property
    def _not_caught_up_now(self) -> Mapping[Pair, int]:
        return find_not_caught_up(self.ranks, list_pairs(self.now))


def list_pairs(placement: TaskPlacement) -> Iterable[Pair]:
    """Yield every active and standby copy as (task id, process id), client by client."""
    held: dict[str, list[str]] = {}
    for role in (placement.active, placement.standby):
        for task, clients in role.items():
            for client in clients:
                held.setdefault(client, []).append(task)
    return ((task, client) for client, tasks in held.items() for task in tasks)


def count_actives_not_caught_up(cold: Iterable[Pair], placement: TaskPlacement) -> int:
    """Return the number of active copies among `cold`, the copies that are not caught up."""
    return sum(placement.active[task].count(client) for task, client in cold)


def find_not_caught_up(ranked: Ranks, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """Return the copies among `pairs` that are not caught up → restore cost in offsets."""
    return {pair: ranked.lag(*pair) for pair in pairs if ranked.of(*pair)}
