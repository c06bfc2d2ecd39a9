"""Target assignments of assignors in the broker, judged by what warm-ups cannot change: balance, load, zones, failover."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import cycle

import numpy as np

from optassign.assignor import TaskAssignor, create
from optassign.assignors.baselines.assigned_copies import AssignedCopies
from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.assignors.baselines.high_availability import assign_without_changelog, place_by_loads
from optassign.assignors.baselines.java_collections import order_process_ids
from optassign.formats.state import ApplicationState
from optassign.measuring.load import Loads
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.solving.situation import Situation
from optassign_benchmarks.load_groups import make_group
from optassign_benchmarks.tables import Table, make_table
from optassign_models.problem import make_placement

_ZONES = 3
_TAG = "zone"
_SEED = 1
_LIMIT = 60.0
"""Seconds for one target: a proof must not depend on how busy the machine is."""
_HEAD = (
    "tasks × instances",
    "target",
    "greatest load, times the mean",
    "tasks with all copies in one zone",
    "greatest load right after a loss",
    "restore work, proven",
)


class BalancedTarget(Baseline):
    """A model of Kafka's `balanced` (KAFKA-20998) from its description: the placement of Kafka's default, by loads alone.

    It looks neither at lags nor at earlier owners; to move tasks without a stop is left to the refiner.
    """

    name = "balanced"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place logged tasks and standbys by loads, and fill up with tasks without a changelog."""
        order, _ = order_process_ids(situation.inventory.clients)
        copies = AssignedCopies(len(state.tasks), [state.clients[i].threads for i in order])
        logged = [t for t, task in enumerate(state.tasks) if task.logged]
        place_by_loads(copies, logged, state.configs.num_standby_replicas)
        assign_without_changelog(copies, [t for t, task in enumerate(state.tasks) if not task.logged])
        position = np.array(order, dtype=np.int64)
        pairs = np.array(sorted(copies.standby_copies()), dtype=np.int64).reshape(-1, 2)
        keys = np.sort(pairs[:, 0] * len(position) + position[pairs[:, 1]])
        return Placed(make_placement(position[np.array(copies.active, dtype=np.int64)], keys, len(position)))


def create_target(name: str) -> TaskAssignor:
    """The assignor of a name, the model of `balanced` included."""
    return BalancedTarget() if name == BalancedTarget.name else create(name, time_limit=_LIMIT)


def compare_targets(targets: Mapping[str, str], sizes: tuple[tuple[int, int], ...]) -> Table:
    """Judge the target of each assignor after a tenth of the instances has joined; `targets`: name to title."""
    rows = [row for tasks, clients in sizes for row in _judge(targets, tasks, clients)]
    return make_table(_HEAD, rows, caption="The targets alone: a tenth of the instances has joined; tasks weigh differently")


def _judge(targets: Mapping[str, str], tasks: int, clients: int) -> Iterator[tuple[object, ...]]:
    state = _with_zones(make_group("scale-out", tasks, clients, 1, "lognormal", _SEED))
    loads = Loads(state)
    for name, title in targets.items():
        answer = create_target(name).assign(state)
        placement = planned_placement(state, answer)
        work = [goal for goal in answer.report.goals if goal.name == "restore_work" and goal.stage in ("plan", "now")]
        yield (
            f"{tasks} × {clients}",
            title,
            f"{loads.find_greatest(placement):.2f}",
            _count_in_one_zone(state, placement),
            f"{_find_load_after_loss(state, placement):.2f}",
            "yes" if any(goal.proven for goal in work) else "–",
        )


def _with_zones(state: ApplicationState) -> ApplicationState:
    """The snapshot with its instances in zones in turn, and standbys wanted in another zone."""
    zones = cycle(f"z{n}" for n in range(_ZONES))
    return state.model_copy(
        update={
            "clients": tuple(client.model_copy(update={"tags": {_TAG: next(zones)}}) for client in state.clients),
            "configs": state.configs.model_copy(update={"rack_aware_assignment_tags": (_TAG,)}),
        }
    )


def _count_in_one_zone(state: ApplicationState, placement: TaskPlacement) -> int:
    zone = {client.process_id: client.tags[_TAG] for client in state.clients}
    return sum(len({zone[each] for each in placement.copies(task.id)}) == 1 for task in state.tasks if task.logged)


def _find_load_after_loss(state: ApplicationState, placement: TaskPlacement) -> float:
    """The greatest load, times the mean, right after an instance is lost and standbys took over; the mean over all losses."""
    mean = sum(task.weight for task in state.tasks) / (len(state.clients) - 1)
    found = []
    for lost in state.clients:
        load: dict[str, float] = defaultdict(float)
        for task in state.tasks:
            (owner,), standbys = placement.active[task.id], placement.standby[task.id]
            heir = next((each for each in standbys if each != lost.process_id), "")
            load[heir if owner == lost.process_id else owner] += task.weight
        found.append(max(load.values()) / mean)
    return sum(found) / len(found)
