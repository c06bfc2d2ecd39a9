"""Load under the planner in the JVM: the greatest of an instance, and of a thread by how its instance deals tasks."""

from __future__ import annotations

from itertools import product

import numpy as np

from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.measuring.load import Loads
from optassign.measuring.placement import planned_placement
from optassign.solving.situation import read_situation
from optassign_benchmarks.jvm_planner import JvmPlanner
from optassign_benchmarks.load_groups import EVENTS, make_group
from optassign_benchmarks.studies.answers.load import SIZES, WEIGHTS
from optassign_benchmarks.tables import Table, make_table
from optassign_models.load.loads import bound_greatest_load, read_loads

_SEEDS = range(1, 6)
_MOST_FRESH = 1.03
_OF_THREADS = ((250, 25, 2), (1_000, 25, 4))
"""Tasks, clients, threads of each."""

_Weighed = list[tuple[TaskId, float]]


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """The tables, and fresh groups whose load is too far from the bound."""
    seeds = _SEEDS[:2] if quick else _SEEDS
    (of_clients, wrong), of_threads = _study_clients(seeds), _study_threads(seeds)
    return [of_clients, of_threads], wrong


def _bound(state: ApplicationState) -> float:
    return bound_greatest_load(read_loads(read_situation(state).problem))


def _study_clients(seeds: range) -> tuple[Table, list[str]]:
    rows, wrong = [], []
    for (tasks, clients), weights in product(SIZES[:3], WEIGHTS):
        cells = []
        for event in EVENTS:
            ratios = []
            for seed in seeds:
                state = make_group(event, tasks, clients, 1, weights, seed)
                plan = planned_placement(state, JvmPlanner().assign(state))
                ratios.append(Loads(state).find_greatest(plan) / _bound(state))
            cells.append(f"{np.median(ratios):.4f} ({max(ratios):.4f})")
            if event == "fresh" and max(ratios) > _MOST_FRESH:
                wrong.append(f"{tasks:,} × {clients}, {weights}: {max(ratios):.4f}")
        rows.append((f"{tasks:,} × {clients}", weights, *cells))
    head = ("tasks × clients", "weights", *EVENTS)
    return make_table(head, rows, "Greatest load of an instance ÷ bound: median of five seeds (most)"), wrong


def _study_threads(seeds: range) -> Table:
    rows = []
    for (tasks, clients, threads), weights in product(_OF_THREADS, WEIGHTS):
        found: dict[str, list[float]] = {"counted": [], "weighed": []}
        for seed in seeds:
            fresh = make_group("fresh", tasks, clients, 0, weights, seed)
            each = tuple(client.model_copy(update={"threads": threads}) for client in fresh.clients)
            state = fresh.model_copy(update={"clients": each})
            weight = {task.id: task.weight for task in state.tasks}
            bound = max(sum(weight.values()) / (clients * threads), *weight.values())
            plan = planned_placement(state, JvmPlanner().assign(state))
            of_client: dict[str, _Weighed] = {}
            for task in state.tasks:
                (owner,) = plan.active[task.id]
                of_client.setdefault(owner, []).append((task.task_id, weight[task.id]))
            for name, deal in (("counted", deal_by_number), ("weighed", deal_by_weight)):
                found[name].append(max(max(deal(own, threads)) for own in of_client.values()) / bound)
        cells = (f"{np.median(ratios):.3f} ({max(ratios):.3f})" for ratios in found.values())
        rows.append((f"{tasks:,} × {clients} × {threads}", weights, *cells))
    head = ("tasks × instances × threads", "weights", "as Kafka deals", "longest first")
    return make_table(head, rows, "Greatest load of a thread ÷ bound: median of five seeds (most)")


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
