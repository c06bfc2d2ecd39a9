"""The baseline `gap-sticky`: KIP-429, part II, section "StreamsPartitionAssignor Logic Update".

A client's *gap* of a task is the number of offsets that it would have to replay. Before that KIP, Kafka considered only which
clients had a task before; the KIP also considers their lags. Its list has the new text (items 1 and 2, which break off within
a sentence) and the text to be replaced (items 3 to 5). Each is a variant here.

`gap`, by the text:
    1. Stateless tasks: each to its previous owner while that has capacity, otherwise to the client of largest remaining
       capacity. Capacity is the average number of stateless tasks per thread, times the client's threads.
    2. Stateful tasks, active copies, against an average of their own: each to the client of smallest gap while that has
       capacity. If no client had the task before, it goes to the client of largest remaining capacity.
Completion: if the client of smallest gap is full (2.2.3 breaks off), the next smallest gap with capacity decides, otherwise
    the largest remaining capacity. Standbys (2.3 breaks off) likewise, against the average number of
    copies of logged tasks per thread, actives included.

`previous-tasks`, by the text:
    3. One capacity for tasks of all kinds: the average per thread, times the client's threads.
    4. Each task to its previous owner while that has capacity, otherwise to a client with capacity that lists it as a standby.
    5. The remaining tasks, subtopology by subtopology, to the client of least load (tasks per thread). Ties go to the previous
       owner, then to a client that lists the task as a standby.
Completion: standbys by steps 3 to 5 once more, for copies of logged tasks as above.

Interpretation where the text is silent:
    - Averages are exact fractions. In `gap` a client has capacity while it is below the average, so it exceeds the average by
      less than one task. If clients had to stay below the average, 5 tasks balanced on 2 clients would change places. In
      `previous-tasks` a client has capacity if one more task does not exceed the average. Only then can an owner be among the
      least loaded in step 5, as in the text.
    - Tasks are taken in the order of their ids. Ties between gaps (a caught-up standby has 0, like the owner) go to the owner,
      then to the larger remaining capacity, then to the smaller id; likewise between clients that list a task as a standby.
      Ties between remaining capacities or loads go to the more preferred client, then to the smaller id.
    - `previous_active` stands for the sentinel −1 of a stateless task. A stateful task without changelog has only its owner's
      gap, 0, and no standbys.
    - The gap of a previous active is 0 (text), also with lag −2. A client had a task "before" if it lists the task or reports a
      lag short of the whole changelog. If a holder's lag is unknown (−3), its gap is the whole changelog: after all known gaps,
      before the clients that never had the task.

Every logged task has min(num_standby_replicas, clients − 1) standbys, never on the active's client. If asked again, `gap`
leaves its actives on their clients: no client has a whole task more than its capacity, and owners come first. `previous-tasks`
may not: in step 4 a client may take a task from its standbys before it keeps its own. There are no warm-ups and no follow-up,
which came with KIP-441: state is restored while the task does not run. The KIP knows neither relative capacities nor draining.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from optassign.assignors.baselines.baseline import Baseline, PartitionLoads, Placed
from optassign.formats.state import UNKNOWN_LAG, ApplicationState
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.problem import Problem, make_placement
from optassign_models.solving.situation import Situation

_Hosts = list[list[tuple[tuple[int, int], int]]]
"""Per task, the clients that had it before as (preference, client), the most preferred first."""


class GapStickyAssignor(Baseline):
    """The assignor of KIP-429, part II; see the module. ValueError for a variant that is not in `VARIANTS`."""

    name = "gap-sticky"
    VARIANTS: ClassVar[tuple[str, ...]] = ("gap", "previous-tasks")

    def __init__(self, time_limit: float = TIME_LIMIT, variant: str = "gap") -> None:
        super().__init__(time_limit)
        if variant not in self.VARIANTS:
            raise ValueError(f"found variant {variant!r} of {self.name!r}; allowed: {', '.join(self.VARIANTS)}")
        self.variant = variant

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Deal actives, then standbys, as the variant does."""
        problem = situation.problem
        by_gap = self.variant == "gap"
        unknown = 0
        if by_gap:
            hosts, unknown = _rank_hosts_by_gap(state, situation)
        else:
            hosts = _rank_hosts_by_role(state, situation)
        dealer = _Dealer(problem, hosts, by_gap=by_gap)

        of_one_average = [~problem.stateful, problem.stateful] if by_gap else [np.ones(problem.T, dtype=np.bool_)]
        for chosen in of_one_average:
            tasks = np.flatnonzero(chosen).tolist()
            dealer.deal(tasks, PartitionLoads(problem.threads, len(tasks)))
        active = np.array([clients[0] for clients in dealer.copies], dtype=np.int64)

        logged = np.flatnonzero(problem.logged)
        loads = PartitionLoads(problem.threads, len(logged) * (1 + problem.standbys))
        for client in active[logged].tolist():
            loads.give(client)
        dealer.deal(np.repeat(logged, problem.standbys).tolist(), loads)
        standbys = [t * problem.C + c for t, clients in enumerate(dealer.copies) for c in clients[1:]]

        notes = ["clients that drain are dealt tasks like any other"] if problem.draining.any() else []
        if unknown:
            notes.append(f"lags not known, taken for the whole changelog: {unknown}")
        return Placed(make_placement(active, np.array(standbys, dtype=np.int64), problem.C), notes=tuple(notes))


class _Dealer:
    """Deals copies one by one, as variant `gap` or `previous-tasks` does."""

    def __init__(self, problem: Problem, hosts: _Hosts, *, by_gap: bool) -> None:
        self._hosts = hosts
        self._by_gap = by_gap
        self.copies: list[list[int]] = [[] for _ in range(problem.T)]
        """Per task, its clients in the order of dealing: the active one first."""

    def deal(self, wanted: Iterable[int], loads: PartitionLoads) -> None:
        """Deal one more copy of each of the wanted tasks."""
        later = []
        for task in wanted:
            client = self._find_host_with_capacity(task, loads)
            if client is None and not self._by_gap:
                later.append(task)  # steps 4 and 5 are two loops, items 1 and 2 a single loop
                continue
            if client is None:
                client = loads.find_largest_remaining(self.copies[task], self._list_preferred(task))
            self._give(task, client, loads)
        for task in later:
            self._give(task, loads.find_least_loaded(self.copies[task], self._list_preferred(task)), loads)

    def _find_host_with_capacity(self, task: int, loads: PartitionLoads) -> int | None:
        """Return the most preferred host of the task with capacity and without a copy of it; None if there is none."""
        least = (
            1 if self._by_gap else loads.task
        )  # `gap`: below the average; `previous-tasks`: with one more task not above the average
        having = [
            (preference, -loads.remaining(client), client)
            for preference, client in self._hosts[task]
            if client not in self.copies[task] and loads.remaining(client) >= least
        ]
        return min(having)[-1] if having else None

    def _list_preferred(self, task: int) -> list[int]:
        return [client for _, client in self._hosts[task]]

    def _give(self, task: int, client: int, loads: PartitionLoads) -> None:
        self.copies[task].append(client)
        loads.give(client)


def _rank_hosts_by_gap(state: ApplicationState, situation: Situation) -> tuple[_Hosts, int]:
    """Return each task's hosts by gap, among equal gaps the owner first; and the number of unknown gaps."""
    problem = situation.problem
    hosts: _Hosts = [[] for _ in situation.inventory.tasks]
    unknown = 0
    had = np.flatnonzero(problem.col_state)
    columns = (problem.col_task, problem.col_client, problem.col_lag, problem.col_owner)
    for task, client, lag, owner in zip(*(column[had].tolist() for column in columns), strict=True):
        gap = 0 if owner else lag
        if not owner and state.clients[client].lags.get(situation.inventory.tasks[task]) == UNKNOWN_LAG:
            gap = int(problem.end[task])
            unknown += 1
        hosts[task].append(((gap, 0 if owner else 1), client))
    for of_task in hosts:
        of_task.sort()
    return hosts, unknown


def _rank_hosts_by_role(state: ApplicationState, situation: Situation) -> _Hosts:
    """Return each task's hosts: previous owners, then clients that list the task as a standby."""
    index = {task: t for t, task in enumerate(situation.inventory.tasks)}
    logged = situation.problem.logged
    hosts: _Hosts = [[] for _ in situation.inventory.tasks]
    for role in (0, 1):
        for c, client in enumerate(state.clients):
            for task in client.previous_standby if role else client.previous_active:
                if not role or logged[index[task]]:
                    hosts[index[task]].append(((role, 0), c))
    return hosts
