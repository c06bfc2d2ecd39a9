"""Load under the planner in the JVM: the greatest of an instance, and of a thread by how its instance deals tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.measuring.load import Loads
from optassign.measuring.placement import planned_placement
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.load_groups import EVENTS, Weights, make_group
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow
from optassign_benchmarks.studies.answers.load import SIZES, WEIGHTS, Bounded, format_size, make_bounded

_SEEDS = range(1, 6)
_MOST_FRESH = 1.03
_OF_THREADS = ((250, 25, 2), (1_000, 25, 4))
"""Tasks, clients, threads of each."""

_Weighed = list[tuple[TaskId, float]]


def _show(name: str, digits: int, holds: Callable[[StudyRow], bool] = lambda row: True) -> Callable[[list[StudyRow]], str]:
    """The median of a figure, and the most of it in brackets."""

    def cell(rows: list[StudyRow]) -> str:
        found = [row[name] for row in rows if holds(row)]
        return f"{np.median(found):.{digits}f} ({max(found):.{digits}f})"

    return cell


def measure_load(group: Bounded, assignor: str) -> dict[str, object]:
    """The greatest load of an instance as a multiple of its bound."""
    state, bound = group
    plan = planned_placement(state, create_also_planner(assignor).assign(state))
    return {"ratio": Loads(state).find_greatest(plan) / bound}


OF_INSTANCES = Study(
    cases=lambda quick: (
        StudyCase(
            partial(make_bounded, event, tasks, clients, 1, weights, seed),
            {"size": format_size(tasks, clients), "weights": weights, "event": event, "seed": seed},
        )
        for (tasks, clients), weights, event, seed in product(SIZES[:3], WEIGHTS, EVENTS, _SEEDS[:2] if quick else _SEEDS)
    ),
    assignors=(JvmPlanner.name,),
    parts=(measure_load,),
    layouts=(
        Layout(
            {"tasks × clients": "size", "weights": "weights"},
            {event: _show("ratio", 4, lambda row, event=event: row.event == event) for event in EVENTS},  # type: ignore[misc]
            caption="Greatest load of an instance ÷ bound: median of five seeds (most)",
        ),
    ),
    demands=lambda rows: (f"{row}: {row.ratio:.4f}" for row in rows if row.event == "fresh" and row.ratio > _MOST_FRESH),
    jobs=1,
)


def _make_threaded(tasks: int, clients: int, threads: int, weights: Weights, seed: int) -> ApplicationState:
    fresh = make_group("fresh", tasks, clients, 0, weights, seed)
    return fresh.model_copy(
        update={"clients": tuple(client.model_copy(update={"threads": threads}) for client in fresh.clients)}
    )


def measure_threads(state: ApplicationState, assignor: str) -> dict[str, object]:
    """The greatest load of a thread as a multiple of the least possible, dealt as Kafka deals and longest first."""
    threads = state.clients[0].threads
    weight = {task.id: task.weight for task in state.tasks}
    bound = max(sum(weight.values()) / (len(state.clients) * threads), *weight.values())
    plan = planned_placement(state, create_also_planner(assignor).assign(state))
    of_client: dict[str, _Weighed] = {}
    for task in state.tasks:
        (owner,) = plan.active[task.id]
        of_client.setdefault(owner, []).append((task.task_id, weight[task.id]))
    return {
        name: max(max(deal(own, threads)) for own in of_client.values()) / bound
        for name, deal in (("counted", deal_by_number), ("weighed", deal_by_weight))
    }


def deal_by_number(tasks: _Weighed, threads: int) -> list[float]:
    """The load of each thread of an instance without earlier tasks, as StreamsPartitionAssignor deals: in turn, by id."""
    order = sorted(tasks, key=lambda each: (each[0].subtopology, each[0].partition))
    return [sum(weight for _, weight in order[thread::threads]) for thread in range(threads)]


def deal_by_weight(tasks: _Weighed, threads: int) -> list[float]:
    """The same with the heaviest task first, each on the least loaded thread."""
    loads = [0.0] * threads
    for _, weight in sorted(tasks, key=lambda each: -each[1]):
        loads[loads.index(min(loads))] += weight
    return loads


OF_THREADS = Study(
    cases=lambda quick: (
        StudyCase(
            partial(_make_threaded, tasks, clients, threads, weights, seed),
            {"size": f"{tasks:,} × {clients} × {threads}", "weights": weights, "seed": seed},
        )
        for (tasks, clients, threads), weights, seed in product(_OF_THREADS, WEIGHTS, _SEEDS[:2] if quick else _SEEDS)
    ),
    assignors=(JvmPlanner.name,),
    parts=(measure_threads,),
    layouts=(
        Layout(
            {"tasks × instances × threads": "size", "weights": "weights"},
            {"as Kafka deals": _show("counted", 3), "longest first": _show("weighed", 3)},
            caption="Greatest load of a thread ÷ bound: median of five seeds (most)",
        ),
    ),
    jobs=1,
)

PLANNER_LOAD = (OF_INSTANCES, OF_THREADS)
