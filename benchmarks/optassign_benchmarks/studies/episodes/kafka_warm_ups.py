"""The day on which Kafka's broker warms up by itself: a model of its refiner behind several target assignments.

The refiner (KAFKA-20665) is modelled from its description: a target assignment is made once for each change of the members. A
task with a changelog stays where it runs until its target has caught up, and at most `max_warmup_replicas` of these warm up at
a time. The coordinator assigns again as soon as a report shows that one is done.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optassign.assignors.baselines.baseline import Baseline, Placed
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.timed.scenario import Scenario, read_scenario
from optassign.simulation.timed.simulator import Played, simulate
from optassign.solving.situation import Situation
from optassign_benchmarks.broker.targets import BalancedTarget, compare_targets, create_target
from optassign_benchmarks.tables import Table, make_table
from optassign_models.policy.constants import OFF_S
from optassign_models.problem import Placement, make_placement

_STICKY, _BALANCED, _OPTASSIGN = "kafka-broker-sticky-4.4", BalancedTarget.name, "cp-sat"
_TITLES = {_STICKY: "`sticky` of 4.4.0", _BALANCED: "`balanced` (model)", _OPTASSIGN: "optassign"}
_SIZES = ((75, 10, 5), (375, 50, 25))
"""Tasks, two thirds of them with a changelog; instances; instances that join, or are lost."""
_WARMUPS = (2, 20)
_HEAD = (
    "event",
    "tasks × instances",
    "warm-ups at a time",
    "target",
    "warm-ups by",
    "active tasks that moved",
    "offsets restored, millions",
    "out of balance, s",
    "task-seconds without processing",
    "task-seconds without a standby",
    "at rest after, s",
)


class Refined(Baseline):
    """Kafka's refiner in front of an assignor: its target, reached by warm-ups."""

    name = "refined"

    def __init__(self, base: str) -> None:
        """`base`: the name of the assignor that makes targets, as `create_target` takes it."""
        super().__init__()
        self._base = create_target(base)
        self._members: tuple[object, ...] = ()
        self._target: Placement | None = None

    def place(self, state: ApplicationState, situation: Situation) -> Placed:
        """Place each task on its target, or where it runs while the target warms up."""
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


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Play a scale-out and a loss under each target and each way to warm up."""
    rows: list[tuple[object, ...]] = []
    for tasks, clients, more in _SIZES[: 1 if quick else None]:
        for warmups in _WARMUPS:
            for event in ("scale-out", "scale-in"):
                scenario = make_scenario(tasks, clients, more, warmups, event)
                for target, by, played in _play_all(scenario):
                    felt = played.felt
                    rows.append(
                        (
                            event,
                            f"{tasks} × {clients}",
                            warmups,
                            target,
                            by,
                            felt.moves,
                            f"{felt.restored / 1e6:.1f}",
                            f"{felt.unbalanced_s:.0f}",
                            f"{felt.down_task_s:.0f}",
                            f"{felt.without_standby_task_s:.0f}",
                            f"{max(0.0, felt.last_change_at - scenario.events[0].at):.0f}",
                        )
                    )
    sizes = tuple((tasks, clients) for tasks, clients, _ in _SIZES[: 1 if quick else None])
    return [make_table(_HEAD, rows, caption="From the event to rest"), compare_targets(_TITLES, sizes)], []


def _play_all(scenario: Scenario) -> Iterable[tuple[str, str, Played]]:
    own = scenario.model_copy(update={"group": scenario.group.model_copy(update={"watch_s": 10.0})})
    at_once = scenario.model_copy(
        update={"group": scenario.group.model_copy(update={"emulated_warmups": False, "watch_s": None})}
    )
    yield _TITLES[_STICKY], "none, as in 4.4.0", simulate(at_once, _STICKY)
    for target, title in _TITLES.items():
        yield title, "Kafka's refiner (model)", simulate(scenario, Refined(target))
    yield _TITLES[_OPTASSIGN], "optassign and `optassign watch`", simulate(own, _OPTASSIGN)


def make_scenario(tasks: int, clients: int, more: int, warmups: int, event: str) -> Scenario:
    """A group of the streams protocol that instances join or leave; a copy restores in about a minute.

    Its coordinator assigns again as soon as a report shows that a copy is done.
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
