"""KIP-924's TaskAssignmentUtils for racks: trade tasks of any assignment between clients to read less across racks.

Both functions keep the number of tasks of each client, and minimise the two costs of KIP-925: partitions read across racks, and
tasks on new clients. They change nothing if Kafka's functions change nothing: without a strategy or costs, or if the rack of a
client or partition is unknown. Kafka trades standbys between two clients at a time; here one min-cost flow finds the best trade
of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import numpy as np

from optassign.formats.assignment import KafkaStreamsAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskTopicPartition
from optassign_models.flows import Network

_Assignments = Mapping[str, KafkaStreamsAssignment]
_Copy = tuple[str, str]
"""(task id, process id)."""
_Zones = Mapping[str, tuple[str | None, ...]]
"""Process id → values of the tags that define zones; empty for active tasks."""


def optimize_rack_aware_active_tasks(
    state: ApplicationState,
    assignments: _Assignments,
    tasks: Collection[str] | None = None,
    *,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> dict[str, KafkaStreamsAssignment]:
    """Return `assignments` with active tasks traded between clients (optimizeRackAwareActiveTasks).

    An active task counts all of its partitions, sources and changelogs. Under balance_subtopology, a client gets at most its
    part of each subtopology, rounded up. A client that has another copy of the task cannot take it.

    `tasks`: the tasks to trade; None for all active ones. Costs: in place of the configured ones. KeyError if a client of the
    snapshot is missing in `assignments`.
    """
    return _optimize(state, assignments, "active", tasks, (traffic_cost, non_overlap_cost))


def optimize_rack_aware_standby_tasks(
    state: ApplicationState,
    assignments: _Assignments,
    tasks: Collection[str] | None = None,
    *,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> dict[str, KafkaStreamsAssignment]:
    """Return `assignments` with standbys traded between clients (optimizeRackAwareStandbyTasks).

    A standby counts the task's changelogs. With rack_aware_assignment_tags, a standby moves only between clients with equal
    values of all these tags, so that copies stay in as many zones. Parameters as for active tasks.
    """
    return _optimize(state, assignments, "standby", tasks, (traffic_cost, non_overlap_cost))


def _optimize(
    state: ApplicationState,
    assignments: _Assignments,
    role: Literal["active", "standby"],
    tasks: Collection[str] | None,
    costs: tuple[int | None, int | None],
) -> dict[str, KafkaStreamsAssignment]:
    given = {client.process_id: assignments[client.process_id] for client in state.clients}
    configs = state.configs
    traffic = configs.rack_aware_traffic_cost if costs[0] is None else costs[0]
    elsewhere = configs.rack_aware_non_overlap_cost if costs[1] is None else costs[1]
    chosen = {task for each in given.values() for task in getattr(each, role) if tasks is None or task in tasks}
    read = {task.id: _list_read(task.partitions, role) for task in state.tasks if task.id in chosen}
    is_known = all(client.rack is not None for client in state.clients) and all(
        partition.racks for partitions in read.values() for partition in partitions
    )
    if configs.rack_aware_assignment_strategy == "none" or traffic is None or elsewhere is None or not is_known or not read:
        return given
    now = [(task, client) for client, each in given.items() for task in getattr(each, role) if task in read]
    names = configs.rack_aware_assignment_tags if role == "standby" else ()
    zones = {client.process_id: tuple(client.tags.get(name) for name in names) for client in state.clients}
    places = _list_places(given, zones, now)
    racks = {client.process_id: client.rack for client in state.clients}
    here = set(now)
    price = {
        place: traffic * sum(racks[place[1]] not in partition.racks for partition in read[place[0]])
        + elsewhere * (place not in here)
        for place in places
    }
    by_subtopology = role == "active" and configs.rack_aware_assignment_strategy == "balance_subtopology"
    found = _trade(now, places, price, zones, by_subtopology=by_subtopology)
    return {client: _replace(each, role, read, [task for task, c in found if c == client]) for client, each in given.items()}


def _list_read(partitions: Iterable[TaskTopicPartition], role: str) -> list[TaskTopicPartition]:
    return [partition for partition in partitions if role == "active" or partition.changelog]


def _replace(each: KafkaStreamsAssignment, role: str, traded: Collection[str], now: Iterable[str]) -> KafkaStreamsAssignment:
    kept = [task for task in getattr(each, role) if task not in traded]
    return each.model_copy(update={role: (*kept, *now)})


def _list_places(given: _Assignments, zones: _Zones, now: Iterable[_Copy]) -> list[_Copy]:
    """Return each task's possible places: its present client, and each client of its zones without a copy of it."""
    held = {client: {*each.active, *each.standby, *each.warmup} for client, each in given.items()}
    here = set(now)
    of_task: dict[str, set[object]] = {}
    for task, client in now:
        of_task.setdefault(task, set()).add(zones[client])
    return [
        (task, client)
        for task, own in of_task.items()
        for client in given
        if (task, client) in here or (task not in held[client] and zones[client] in own)
    ]


def _trade(
    now: list[_Copy], places: list[_Copy], price: Mapping[_Copy, int], zones: _Zones, *, by_subtopology: bool
) -> list[_Copy]:
    """Return the cheapest places with as many tasks on each client, and as many copies of each task in each zone, as now.

    Among equal costs, the fewest moves. `now` if the network has no feasible flow.
    """
    of_client = Counter(client for _, client in now)
    of_task = Counter((task, zones[client]) for task, client in now)
    task_at, client_at = ({name: at for at, name in enumerate(counted)} for counted in (of_task, of_client))
    places = [place for place in places if place[1] in client_at]  # numbers per client stay, so clients without tasks take none
    network = Network(2)
    tails, heads = (network.add_nodes(sign * np.array(list(each.values()))) for sign, each in ((1, of_task), (-1, of_client)))
    to = heads[[client_at[client] for _, client in places]]
    if by_subtopology:
        size = Counter(task.rpartition("_")[0] for task, _ in now)
        group_at = {group: at for at, group in enumerate(size)}
        cells = network.add_nodes(np.zeros(len(size) * len(heads), dtype=np.int64)).reshape(len(size), len(heads))
        to = cells[[group_at[task.rpartition("_")[0]] for task, _ in places], [client_at[client] for _, client in places]]
        most = [-(-has * all_of // len(now)) for all_of in size.values() for has in of_client.values()]
        network.add_arcs(cells.ravel(), np.tile(heads, len(size)), np.array(most))
    here = set(now)
    cost, moves = (np.array(each, dtype=np.int64) for each in ([price[at] for at in places], [at not in here for at in places]))
    arcs = network.add_arcs(tails[[task_at[task, zones[client]] for task, client in places]], to, 1, cost={0: cost, 1: moves})
    found = network.solve()
    if found is None:
        return now
    flow, _ = found
    return [place for place, units in zip(places, flow[arcs].tolist(), strict=True) if units]
