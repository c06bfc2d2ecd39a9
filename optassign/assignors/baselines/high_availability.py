"""Kafka's default: the high-availability assignor of KIP-441, as in Kafka 4.3.1.

It first places by load alone: it deals logged tasks in turn and balances them, and gives standbys to the least loaded. Then
copies move from clients that are not caught up to clients that are, and leave warm-ups behind while slots are left. Tasks
without a changelog come last. It requests a follow-up if any copy had to move. The answer equals that of Kafka's own class copy
by copy, including the order of its heaps and hash tables (`kafka-high-availability` runs that class).

Kafka calls warm-ups standbys. Here a warm-up is a copy that stays behind while its active or standby role moves to a caught-up
client.

Not ported: client tags and rack strategies, for which Kafka has other code; settings unknown to KIP-924 (draining, weights,
capacities); Kafka's fallback to another assignor if end offsets are unavailable.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import ClassVar

import numpy as np

from optassign.assignors.baselines.assigned_copies import AssignedCopies, LeastLoaded, balance_over_threads
from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.assignors.baselines.java_collections import JavaHeap, order_process_ids
from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState
from optassign_models.problem import IntArray, make_placement
from optassign_models.solving.situation import Situation


class ReportedLags:
    """The lags of the logged tasks on each client."""

    def __init__(self, state: ApplicationState, clients: Sequence[KafkaStreamsState]) -> None:
        """Read the lags. clients: in the order of their numbers."""
        self._clients = len(clients)
        self._acceptable = state.configs.acceptable_recovery_lag
        self._full = [state.full_lags.get(task.id, 0) for task in state.tasks]
        number = {task.id: t for t, task in enumerate(state.tasks)}
        self._reported: list[dict[int, int]] = [{} for _ in state.tasks]
        for c, client in enumerate(clients):
            for task_id, lag in client.lags.items():
                task = number[task_id]
                if lag != self._full[task]:
                    self._reported[task][c] = lag
        self._caught_up = [self._find_caught_up(task) for task in range(len(state.tasks))]

    def of(self, task: int, client: int) -> int:
        """Return the client's lag in offsets, the whole changelog if unreported; −2 if the task runs there, −3 if unknown."""
        return self._reported[task].get(client, self._full[task])

    def list_caught_up(self, task: int) -> Sequence[int]:
        """Return the clients that run the task or whose lag is acceptable, ascending."""
        return self._caught_up[task]

    def is_caught_up(self, task: int, client: int) -> bool:
        """Return whether the client runs the task or its lag is acceptable."""
        return self._is_near_enough(self.of(task, client))

    def order_by_lag(self, task: int) -> Iterator[int]:
        """Yield all clients, the least lag first, then the least number."""
        full, reported = self._full[task], self._reported[task]
        by_lag = sorted(reported, key=lambda client: (reported[client], client))
        yield from (client for client in by_lag if reported[client] < full)
        yield from (client for client in range(self._clients) if client not in reported)
        yield from (client for client in by_lag if reported[client] > full)

    def should_move(self, task: int, client: int) -> bool:
        """Return whether the client is not caught up while another one lags less."""
        lag = self.of(task, client)
        return not self._is_near_enough(lag) and self.of(task, next(self.order_by_lag(task))) < lag

    def _find_caught_up(self, task: int) -> Sequence[int]:
        reported = self._reported[task]
        if not self._is_near_enough(self._full[task]):
            return [client for client, lag in reported.items() if self._is_near_enough(lag)]
        near = range(self._clients)
        if all(map(self._is_near_enough, reported.values())):
            return near
        return [client for client in near if self.is_caught_up(task, client)]

    def _is_near_enough(self, lag: int) -> bool:
        """Return whether a client with that lag counts as caught up."""
        # If any lag is acceptable, Kafka also accepts an unknown one; but then nothing has to move.
        return lag == RUNNING or 0 <= lag <= self._acceptable


_Copy = tuple[int, int]
"""(task, client)."""


@dataclass(eq=False)
class WarmingCopies:
    """The warm-ups: copies that stay behind on clients that are not caught up, and the slots left for them."""

    left: int
    """Remaining warm-up slots."""
    of_actives: set[_Copy] = field(default_factory=set)
    of_standbys: set[_Copy] = field(default_factory=set)

    def take_slot(self) -> bool:
        """Take a slot; return False if no slot is left."""
        self.left -= 1
        return self.left >= 0


def move_actives(copies: AssignedCopies, lags: ReportedLags, warmups: WarmingCopies, hashes: Sequence[int]) -> int:
    """Move misplaced active copies to caught-up clients, otherwise to the least lag; return the number of these copies.

    A caught-up standby swaps with the active; otherwise the active moves to the least loaded caught-up client.
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
        elif warmups.take_slot():
            copies.assign("standby", task, destination)
            warmups.of_actives.add((task, destination))
        copies.assign("active", task, source)
        queue.put_back(source, destination)
    return len(movements)


def move_standbys(copies: AssignedCopies, lags: ReportedLags, warmups: WarmingCopies, hashes: Sequence[int]) -> int:
    """Move misplaced standbys likewise, to clients without a copy of the task; return the number of moved standbys."""
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
        if warmups.take_slot():
            warmups.of_standbys.add((task, destination))
        else:
            copies.unassign("standby", task, destination)
        queue.put_back(source, destination)
        moved += 1
    return moved


def _list_movements(found: Iterable[_Copy], lags: ReportedLags) -> list[_Copy]:
    """Return the copies to move, in Kafka's order: fewest caught-up clients, then task.

    Standbys of one task come in the order in which Kafka's heap pops equal items.
    """
    by_client = sorted((client, task) for task, client in found if lags.should_move(task, client))
    keys = [(len(lags.list_caught_up(task)), task) for _, task in by_client]
    order = JavaHeap(keys, range(len(keys))).pop_until(())
    return [(by_client[i][1], by_client[i][0]) for i in order]


def _find_least_lag_before(copies: AssignedCopies, lags: ReportedLags, task: int, client: int) -> int | None:
    """Return the client without a copy that lags least, if `order_by_lag` has it before `client`; otherwise None."""
    for other in lags.order_by_lag(task):
        if other == client:
            return None
        if not copies.has(task, other):
            return other
    return None


_TAGS = "rack_aware_assignment_tags are not looked at; kafka-high-availability runs Kafka's own class, which does"
_RACKS = "rack_aware_assignment_strategy is not looked at; kafka-high-availability runs Kafka's own class, which does"


class HighAvailabilityAssignor(Baseline):
    """KIP-441's assignor, equal to Kafka's HighAvailabilityTaskAssignor if neither tags nor racks are configured."""

    name: ClassVar[str] = "high-availability"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place copies by load, move them to caught-up clients, then add tasks without a changelog."""
        order, hashes = order_process_ids(situation.inventory.clients)
        clients = [state.clients[i] for i in order]
        logged = [t for t, task in enumerate(state.tasks) if task.logged]
        others = [t for t, task in enumerate(state.tasks) if not task.logged]
        copies = AssignedCopies(len(state.tasks), [client.threads for client in clients])
        lags = ReportedLags(state, clients)
        warmups = WarmingCopies(left=state.configs.max_warmup_replicas)

        place_by_loads(copies, logged, state.configs.num_standby_replicas)
        moved = move_actives(copies, lags, warmups, hashes)
        moved += move_standbys(copies, lags, warmups, hashes)
        assign_without_changelog(copies, others)

        warming_up = warmups.of_actives | warmups.of_standbys
        position = np.array(order, dtype=np.int64)
        active = position[np.array(copies.active, dtype=np.int64)]
        return Placed(
            make_placement(active, _make_keys(copies.standby_copies() - warming_up, position), len(clients)),
            _make_keys(warming_up, position),
            followup=moved > 0,
            notes=_list_notes(state),
        )


def place_by_loads(copies: AssignedCopies, logged: Iterable[int], standbys: int) -> None:
    """Deal the actives of these tasks in turn and balance them; give standbys to the least loaded."""
    tasks = list(logged)
    for task, client in zip(tasks, cycle(range(len(copies.threads))), strict=False):
        copies.assign("active", task, client)
    balance_over_threads(copies, "active")
    if standbys:
        _assign_standbys(copies, tasks, standbys)
        balance_over_threads(copies, "standby")


def _assign_standbys(copies: AssignedCopies, tasks: Iterable[int], number: int) -> None:
    """Give each standby, task by task, to the least loaded client without a copy; fewer if clients run out."""
    queue = [(copies.load(client), client) for client in range(len(copies.threads))]
    heapq.heapify(queue)
    for task in tasks:
        passed_over = []
        missing = number
        while missing and queue:
            load, client = heapq.heappop(queue)
            if copies.has(task, client):
                passed_over.append((load, client))
                continue
            copies.assign("standby", task, client)
            heapq.heappush(queue, (copies.load(client), client))
            missing -= 1
        for entry in passed_over:
            heapq.heappush(queue, entry)


def assign_without_changelog(copies: AssignedCopies, tasks: Iterable[int]) -> None:
    """Give each task to the client with the fewest actives per thread."""
    queue = [(copies.active_load(client), client) for client in range(len(copies.threads))]
    heapq.heapify(queue)
    for task in tasks:
        client = queue[0][1]
        copies.assign("active", task, client)
        heapq.heapreplace(queue, (copies.active_load(client), client))


def _make_keys(copies: Iterable[tuple[int, int]], position: IntArray) -> IntArray:
    """Return the sorted keys of (task, client) in the numbering of the arrays."""
    pairs = np.array(sorted(copies), dtype=np.int64).reshape(-1, 2)
    return np.sort(pairs[:, 0] * len(position) + position[pairs[:, 1]])


def _list_notes(state: ApplicationState) -> tuple[str, ...]:
    """Return notes on the ignored parts of the configuration."""
    notes: list[str] = []
    if state.configs.rack_aware_assignment_tags and state.configs.num_standby_replicas:
        notes.append(_TAGS)
    if state.configs.rack_aware_assignment_strategy != "none":
        notes.append(_RACKS)
    return tuple(notes)
