"""Reads of copies across racks (KIP-925), compared with Kafka's RackAwareTaskAssignor in its default assignor, by both
strategies.

No client has much to restore in these snapshots, so that each assignor's answer has the copies where it wants them. Kafka
trades traffic for moves by its two costs; here they are drawn, from Kafka's own to traffic alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES, generate
from optassign.generate.dealing import NotBalancedError
from optassign.goals.plan.rack_traffic import count_rack_crossings
from optassign.measuring.balance import is_balanced
from optassign.measuring.placement import planned_placement
from optassign_benchmarks.tables import Table, make_table

Strategy = Literal["min_traffic", "balance_subtopology"]
STRATEGIES: tuple[Strategy, ...] = ("min_traffic", "balance_subtopology")
KAFKA = "kafka-high-availability"
ASSIGNORS = ("cp-sat", "greedy", KAFKA)
COSTS: tuple[tuple[int | None, int | None], ...] = ((None, None), (1, 0), (10, 1), (1, 10))
"""The costs of traffic, and of a task at a new place; None: Kafka's own, which differ by strategy."""


@dataclass
class Tally:
    """The counts over all snapshots of one strategy under one assignor."""

    snapshots: int = 0
    crossings: int = 0
    balanced: int = 0
    less_than_ours: int = 0
    """Snapshots with fewer crossings than cp-sat's plan, inside the shares or not."""
    less_in_balance: int = 0
    """The same, inside the shares: there must be none."""


def make_snapshots(strategy: Strategy, number: int) -> Iterator[ApplicationState]:
    """Make `number` snapshots, of all shapes in turn; changelogs are within the acceptable lag, their replicas on other racks
    than the input's."""
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
    """The tasks with the replicas of each partition on one rack or two of its own."""
    names = [f"r{number}" for number in range(1, racks + 1)]
    placed = []
    for task in state.tasks:
        partitions = [
            partition.model_copy(update={"racks": tuple(sorted(rng.sample(names, rng.randint(1, min(2, racks)))))})
            for partition in task.partitions
        ]
        placed.append(task.model_copy(update={"partitions": tuple(partitions)}))
    return tuple(placed)


def count_crossings(state: ApplicationState, assignor: str) -> tuple[int, bool]:
    """Partitions that the assignor's plan reads across racks; whether it is balanced."""
    given = assign(state, assignor)
    plan = planned_placement(state, given)
    crossings = count_rack_crossings(state, plan)
    if crossings is None:
        raise RuntimeError(f"{state.application}: the racks are not known")
    return crossings, is_balanced(state, plan)


def run(quick: bool = False) -> tuple[list[Table], list[str]]:
    """The table, and each snapshot on which Kafka's class, in balance, has less to read across racks than cp-sat."""
    tallies: dict[tuple[Strategy, str], Tally] = {}
    wrong = []
    for strategy in STRATEGIES:
        for state in make_snapshots(strategy, 20 if quick else 200):
            ours = count_crossings(state, "cp-sat")
            for assignor in ASSIGNORS:
                crossings, balanced = ours if assignor == "cp-sat" else count_crossings(state, assignor)
                tally = tallies.setdefault((strategy, assignor), Tally())
                tally.snapshots += 1
                tally.crossings += crossings
                tally.balanced += balanced
                tally.less_than_ours += crossings < ours[0]
                if balanced and crossings < ours[0]:
                    tally.less_in_balance += 1
                    wrong.append(f"{strategy}, {state.application}: {assignor} {crossings}, cp-sat {ours[0]}")
            if not ours[1]:
                wrong.append(f"{strategy}, {state.application}: cp-sat is not balanced")
    head = (
        "strategy",
        "assignor",
        "snapshots",
        "read across racks",
        "balanced",
        "less than cp-sat",
        "and balanced",
    )
    rows = [
        (strategy, assignor, t.snapshots, t.crossings, t.balanced, t.less_than_ours, t.less_in_balance)
        for (strategy, assignor), t in tallies.items()
    ]
    return [make_table(head, rows)], wrong
