"""Reads of copies across racks (KIP-925), compared with Kafka's RackAwareTaskAssignor in its default assignor, by both
strategies.

Clients restore little in these snapshots, so each answer already has its copies in their final places. Kafka weighs traffic
against moves by two costs, which are drawn from a range between Kafka's own costs and traffic alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Literal

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.generating.dealing import NotBalancedError
from optassign.measuring.balance import is_balanced
from optassign.measuring.placement import planned_placement
from optassign.measuring.spread import count_rack_crossings
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow, by_case, total

Strategy = Literal["min_traffic", "balance_subtopology"]
STRATEGIES: tuple[Strategy, ...] = ("min_traffic", "balance_subtopology")
COSTS: tuple[tuple[int | None, int | None], ...] = ((None, None), (1, 0), (10, 1), (1, 10))
"""The costs of traffic, and of a task with a new owner; None for Kafka's own costs, which differ by strategy."""


def make_snapshots(strategy: Strategy, number: int) -> Iterator[ApplicationState]:
    """Yield `number` snapshots of all shapes in turn. Changelogs are within the acceptable lag; each partition has replicas on
    random racks."""
    combinations = product(range(1_000_000), SHAPES)
    made = 0
    while made < number:
        seed, shape = next(combinations)
        rng = random.Random(f"{strategy} {seed} {shape}")
        tasks, clients, racks = rng.randint(12, 40), rng.randint(3, 9), rng.randint(2, 4)
        try:
            state = generate(
                shape, tasks, clients, rng.choice((0, 1, 1, 2)), racks=racks, seed=seed, tiny=1.0, memory=rng.random() < 0.5
            )
        except (NotBalancedError, ValueError):
            continue
        traffic, elsewhere = rng.choice(COSTS)
        configs = {
            "rack_aware_assignment_strategy": strategy,
            "rack_aware_traffic_cost": traffic,
            "rack_aware_non_overlap_cost": elsewhere,
        }
        yield state.model_copy(
            update={
                "tasks": _place_replicas(state, racks, rng),
                "configs": state.configs.model_copy(update=configs),
            }
        )
        made += 1


def _place_replicas(state: ApplicationState, racks: int, rng: random.Random) -> tuple[object, ...]:
    """Return the tasks with the replicas of each partition on one or two random racks."""
    names = [f"r{number}" for number in range(1, racks + 1)]
    placed = []
    for task in state.tasks:
        partitions = [
            partition.model_copy(update={"racks": tuple(sorted(rng.sample(names, rng.randint(1, min(2, racks)))))})
            for partition in task.partitions
        ]
        placed.append(task.model_copy(update={"partitions": tuple(partitions)}))
    return tuple(placed)


def count_crossings(state: ApplicationState, assignor: str) -> dict[str, object]:
    """Return the number of partitions that the assignor's plan reads across racks, and whether the plan is balanced."""
    plan = planned_placement(state, assign(state, assignor))
    crossings = count_rack_crossings(state, plan)
    if crossings is None:
        raise RuntimeError(f"{state.application}: the racks are not known")
    return {"crossings": crossings, "is_balanced": is_balanced(state, plan)}


def _compare(rows: list[StudyRow]) -> list[StudyRow]:
    """Add to each row whether it has fewer crossings than cp-sat's plan (`less`), and whether it is then also balanced."""
    for case in by_case(rows):
        for row in case.values():
            row["less"] = row.crossings < case["cp-sat"].crossings
            row["less_in_balance"] = row.less and row.is_balanced
    return rows


RACKS = Study(
    cases=lambda quick: (
        StudyCase(state.model_copy, {"strategy": strategy, "snapshot": number})
        for strategy in STRATEGIES
        for number, state in enumerate(make_snapshots(strategy, 20 if quick else 200))
    ),
    assignors=("cp-sat", "greedy", "kafka-high-availability"),
    parts=(count_crossings,),
    finish=_compare,
    layouts=(
        Layout(
            {"strategy": "strategy", "assignor": "assignor"},
            {
                "snapshots": len,
                "read across racks": total("crossings"),
                "balanced": total("is_balanced"),
                "less than cp-sat": total("less"),
                "and balanced": total("less_in_balance"),
            },
        ),
    ),
    demands=lambda rows: (
        f"{row}: {row.crossings} crossings, balanced: {row.is_balanced}"
        for row in rows
        if row.less_in_balance or (row.assignor == "cp-sat" and not row.is_balanced)
    ),
    jobs=1,
)
