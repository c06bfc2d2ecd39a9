"""Warm-ups by Kafka's broker itself: a model of its refiner behind several target assignments.

The refiner (KAFKA-20665) is modelled from its description. The target assignment is made once for each change of the members. A
task with a changelog stays with its owner until its target has caught up. At most `max_warmup_replicas` copies warm up at a
time. The coordinator assigns again as soon as a report shows a finished warm-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import cycle

import numpy as np

from optassign.assignor import TaskAssignor, create
from optassign.assignors.baselines.assigned_copies import AssignedCopies
from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.assignors.baselines.high_availability import assign_without_changelog, place_by_loads
from optassign.assignors.baselines.java_collections import order_process_ids
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.load import Loads
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.simulation.timed.scenario import Scenario, read_scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate
from optassign_benchmarks.runner import Layout, PlayedRow, PlayedStudy, Study, StudyCase, first
from optassign_benchmarks.studies.load import make_group
from optassign_models.policy.constants import OFF_S
from optassign_models.problem import Placement, make_placement
from optassign_models.solving.situation import Situation

_ZONES = 3
_TAG = "zone"
_SEED = 1
_LIMIT = 60.0
"""Seconds for one target: a proof must not depend on the machine's load."""


class BalancedTarget(Baseline):
    """A model of Kafka's `balanced` (KAFKA-20998) from its description: the placement of Kafka's default, by loads alone.

    It ignores lags and previous owners; the refiner moves tasks without interruption.
    """

    name = "balanced"

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place logged tasks and standbys by loads, then add the tasks without a changelog."""
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
    """Return the assignor of a name, the model of `balanced` included."""
    return BalancedTarget() if name == BalancedTarget.name else create(name, time_limit=_LIMIT)


def make_group_in_zones(tasks: int, clients: int) -> ApplicationState:
    """Return a group in three zones, which a tenth of its instances has just joined; tasks have different weights."""
    return _with_zones(make_group("scale-out", tasks, clients, 1, "lognormal", _SEED))


def judge_target(state: ApplicationState, name: str) -> Mapping[str, object]:
    """Return columns of an assignor's target: greatest loads, tasks with all copies in one zone, and whether work is proven."""
    answer = create_target(name).assign(state)
    placement = planned_placement(state, answer)
    work = [goal for goal in answer.report.goals if goal.name == "restore_work" and goal.stage in ("plan", "now")]
    return {
        "target": _TITLES[name],
        "load": Loads(state).find_greatest(placement),
        "in_one_zone": _count_in_one_zone(state, placement),
        "load_after_loss": _find_load_after_loss(state, placement),
        "proven": any(goal.proven for goal in work),
    }


def _with_zones(state: ApplicationState) -> ApplicationState:
    """Return the snapshot with its instances in zones in turn, and with standbys required in other zones."""
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
    """Return the greatest load ÷ the mean once standbys have taken over from a lost instance, averaged over all instances."""
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


_STICKY, _BALANCED, _OPTASSIGN = "kafka-broker-sticky-4.4", BalancedTarget.name, "cp-sat"
_TITLES = {_STICKY: "`sticky` of 4.4.0", _BALANCED: "`balanced` (model)", _OPTASSIGN: "optassign"}
_SIZES = ((75, 10, 5), (375, 50, 25))
"""Tasks, two thirds of them with a changelog; instances; instances that join or are lost."""
_WARMUPS = (2, 20)


class Refined(Baseline):
    """A model of Kafka's refiner, which reaches another assignor's target by warm-ups."""

    name = "refined"

    def __init__(self, base: str) -> None:
        """Create the assignor. `base`: the name of the assignor of targets, for `create_target`."""
        super().__init__()
        self._base = create_target(base)
        self._members: tuple[object, ...] = ()
        self._target: Placement | None = None

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place each task on its target, or on its owner while the target warms up."""
        problem = situation.problem
        members = (situation.inventory.tasks, situation.inventory.clients)
        if self._target is None or members != self._members:
            self._base.configure(state.configs)
            self._target, self._members = _read_target(self._base.assign(state), situation), members
        target = self._target
        owner = np.full(problem.T, -1)
        owner[problem.col_task[problem.col_owner]] = problem.col_client[problem.col_owner]
        ready = np.zeros((problem.T, problem.C), dtype=bool)
        ready[problem.col_task, problem.col_client] = problem.col_rank == 0
        lag = np.full((problem.T, problem.C), np.iinfo(np.int64).max)
        lag[problem.col_task, problem.col_client] = problem.col_lag
        every = np.arange(problem.T)
        waits = problem.logged & (owner >= 0) & (owner != target.active) & ~ready[every, target.active]
        active = np.where(waits, owner, target.active)
        tasks = np.flatnonzero(waits)
        first = tasks[np.argsort(lag[tasks, target.active[tasks]], kind="stable")][: problem.max_warmups]
        warmups = np.sort(first * problem.C + target.active[first])
        keys = target.standby_keys(problem.C)
        standby = keys[active[keys // problem.C] != keys % problem.C]
        return Placed(make_placement(active, np.setdiff1d(standby, warmups), problem.C), warmups)


def _read_target(answer: TaskAssignment, situation: Situation) -> Placement:
    clients = answer.plan if answer.plan is not None else answer.clients
    task = {id_: t for t, id_ in enumerate(situation.inventory.tasks)}
    client = {id_: c for c, id_ in enumerate(situation.inventory.clients)}
    active = np.zeros(len(task), dtype=np.int64)
    keys: list[int] = []
    for each in clients:
        c = client[each.process_id]
        active[[task[id_] for id_ in each.active]] = c
        keys += [task[id_] * len(client) + c for id_ in each.standby]
    return make_placement(active, np.array(keys, dtype=np.int64), len(client))


_Case = tuple[int, int, int, int, str]
"""Tasks, clients, joining or leaving clients, warm-ups at a time, event."""


def _play(_: None, case: _Case) -> Iterator[PlayedRow]:
    """Play a scale-out or a loss under each target and each kind of warm-up; yield the rows."""
    tasks, clients, _more, warmups, event = case
    scenario = make_scenario(*case)
    for target, by, played in _play_all(scenario):
        measures = played.measures
        cells = {
            "event": event,
            "tasks × instances": f"{tasks} × {clients}",
            "warm-ups at a time": warmups,
            "target": target,
            "warm-ups by": by,
            "active tasks that moved": measures.moves,
            "offsets restored, millions": f"{measures.restored / 1e6:.1f}",
            "out of balance, s": f"{measures.unbalanced_s:.0f}",
            "task-seconds without processing": f"{measures.down_task_s:.0f}",
            "task-seconds without a standby": f"{measures.without_standby_task_s:.0f}",
            "at rest after, s": f"{max(0.0, measures.last_change_at - scenario.events[0].at):.0f}",
        }
        yield PlayedRow(cells)


def _play_all(scenario: Scenario) -> Iterable[tuple[str, str, SimulatedRun]]:
    own = scenario.model_copy(update={"group": scenario.group.model_copy(update={"watch_s": 10.0})})
    at_once = scenario.model_copy(
        update={"group": scenario.group.model_copy(update={"emulated_warmups": False, "watch_s": None})}
    )
    yield _TITLES[_STICKY], "none, as in 4.4.0", simulate(at_once, _STICKY)
    for target, title in _TITLES.items():
        yield title, "Kafka's refiner (model)", simulate(scenario, Refined(target))
    yield _TITLES[_OPTASSIGN], "optassign and `optassign watch`", simulate(own, _OPTASSIGN)


def make_scenario(tasks: int, clients: int, more: int, warmups: int, event: str) -> Scenario:
    """Return a scenario of a group of the streams protocol that instances join or leave; a copy restores in about a minute.

    Its coordinator assigns again as soon as a report shows that a copy has caught up.
    """
    base = read_scenario("thousand").model_dump(mode="json")
    logged, stateless = base["subtopologies"]
    first, new = base["clients"]
    names = [f"new{i:0{len(str(more))}d}" for i in range(1, more + 1)]
    change = {"at": 600.0, "do": "join" if event == "scale-out" else "leave", "clients": names}
    return Scenario.model_validate(
        {
            **base,
            "name": f"warm-ups-{event}",
            "duration_s": 43_200,
            "configs": {**base["configs"], "max_warmup_replicas": warmups},
            "options": {**base["options"], "relief": {"stateless": OFF_S, "logged": OFF_S}},  # as in the broker's jar
            "group": {
                **base["group"],
                "protocol": "streams",
                "emulated_warmups": True,
                "offset_interval_s": 15.0,
                "watch_s": 1.0,
            },
            "subtopologies": [
                {**logged, "count": 2, "partitions": tasks // 3},
                {**stateless, "count": 1, "partitions": tasks // 3},
            ],
            "clients": [{**first, "count": clients}, {**new, "count": more, "joins": event == "scale-out"}],
            "events": [change],
        }
    )


WARM_UPS = (
    PlayedStudy(
        cases=lambda quick: [
            (tasks, clients, more, warmups, event)
            for tasks, clients, more in _SIZES[: 1 if quick else None]
            for warmups in _WARMUPS
            for event in ("scale-out", "scale-in")
        ],
        play=_play,
        caption=lambda quick: "From the event to rest",
    ),
    Study(
        cases=lambda quick: (
            StudyCase(partial(make_group_in_zones, tasks, clients), {"size": f"{tasks} × {clients}"})
            for tasks, clients, _ in _SIZES[: 1 if quick else None]
        ),
        assignors=tuple(_TITLES),
        parts=(judge_target,),
        layouts=(
            Layout(
                {"tasks × instances": "size", "target": "target"},
                {
                    "greatest load, times the mean": lambda rows: f"{rows[0].load:.2f}",
                    "tasks with all copies in one zone": first("in_one_zone"),
                    "greatest load right after a loss": lambda rows: f"{rows[0].load_after_loss:.2f}",
                    "restore work, proven": lambda rows: "yes" if rows[0].proven else "–",
                },
                caption="The targets alone: a tenth of the instances has joined; tasks weigh differently",
            ),
        ),
    ),
)
