"""Kafka's default: the high-availability assignor of KIP-441, as Kafka 4.3.1 has built it.

It first makes a placement by loads alone: it deals logged tasks round and balances them, and gives standbys to the least
loaded. Then copies move from clients that are not caught up to clients that are, and leave warm-ups behind while there are any.
Tasks without a changelog come last. It asks for a follow-up while any copy had to move. The answer equals that of Kafka's own
class copy by copy, its heaps and hash tables included (`kafka-high-availability` runs that one).

Kafka calls warm-ups standbys. Here a warm-up is a copy that stays where it was while the active or the standby that it was
moves to a caught-up client.

Not in it: client tags and rack strategies, for which Kafka has other code; what KIP-924 does not know (draining, weights,
capacities); Kafka's way out when no end offset can be had, which is another assignor.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import cycle
from typing import ClassVar

import numpy as np

from optassign.assignors.baselines.as_in_kafka.assigned_copies import AssignedCopies, balance_over_threads
from optassign.assignors.baselines.as_in_kafka.java_hashing import order_process_ids
from optassign.assignors.baselines.as_in_kafka.reported_lags import ReportedLags
from optassign.assignors.baselines.as_in_kafka.task_movement import WarmingCopies, move_actives, move_standbys
from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.formats.state import ApplicationState
from optassign.solving.situation import Situation
from optassign_models.problem import IntArray, make_placement

_TAGS = "rack_aware_assignment_tags are not looked at; kafka-high-availability runs Kafka's own class, which does"
_RACKS = "rack_aware_assignment_strategy is not looked at; kafka-high-availability runs Kafka's own class, which does"


class HighAvailabilityAssignor(Baseline):
    """KIP-441's assignor, equal to Kafka's HighAvailabilityTaskAssignor where neither tags nor racks are configured."""

    name: ClassVar[str] = "high-availability"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Places copies by load, moves them to caught-up clients, and fills up with tasks without a changelog."""
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
    """Deal the actives of these tasks round and balance them, and give standbys to the least loaded."""
    tasks = list(logged)
    for task, client in zip(tasks, cycle(range(len(copies.threads))), strict=False):
        copies.assign("active", task, client)
    balance_over_threads(copies, "active")
    if standbys:
        _assign_standbys(copies, tasks, standbys)
        balance_over_threads(copies, "standby")


def _assign_standbys(copies: AssignedCopies, tasks: Iterable[int], number: int) -> None:
    """Task by task, each standby to the least loaded client without a copy; fewer where clients run out."""
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
    """Each task to the client with fewest actives per thread."""
    queue = [(copies.active_load(client), client) for client in range(len(copies.threads))]
    heapq.heapify(queue)
    for task in tasks:
        client = queue[0][1]
        copies.assign("active", task, client)
        heapq.heapreplace(queue, (copies.active_load(client), client))


def _make_keys(copies: Iterable[tuple[int, int]], position: IntArray) -> IntArray:
    """Keys of (task, client) in the numbering of the arrays, sorted."""
    pairs = np.array(sorted(copies), dtype=np.int64).reshape(-1, 2)
    return np.sort(pairs[:, 0] * len(position) + position[pairs[:, 1]])


def _list_notes(state: ApplicationState) -> tuple[str, ...]:
    """List the parts of the configuration that are ignored."""
    notes: list[str] = []
    if state.configs.rack_aware_assignment_tags and state.configs.num_standby_replicas:
        notes.append(_TAGS)
    if state.configs.rack_aware_assignment_strategy != "none":
        notes.append(_RACKS)
    return tuple(notes)
