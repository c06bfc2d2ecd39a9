"""Tests of goal `rack_cost`, Kafka's two costs in one sum, against a plain count from the snapshot's JSON and enumeration."""

from __future__ import annotations

import json
import random

import pytest
from enumeration import Copies, Tiny
from tiny import draw_tiny_state, put_in_racks

from optassign.assignor import assign
from optassign.formats.configs import GoalName, Options
from optassign.formats.state import ApplicationState
from optassign.goals.plan.racks import RACK_COST
from optassign.judging.validation import validate
from optassign.measuring.facts import Facts
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.simulation.convergence import converge
from optassign_benchmarks.studies.racks import make_snapshots
from optassign_models.policy import constants as policy

GOALS: tuple[GoalName, ...] = (
    "rack_cost",
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "standby_migrations",
)
COSTS = [(10, 1), (1, 10), (1, 0), (0, 1)]


def ask(state: ApplicationState, traffic: int | None, elsewhere: int | None) -> ApplicationState:
    configs = {
        "rack_aware_assignment_strategy": "balance_subtopology",
        "rack_aware_traffic_cost": traffic,
        "rack_aware_non_overlap_cost": elsewhere,
    }
    return state.model_copy(update={"configs": state.configs.model_copy(update=configs), "options": Options(goals=GOALS)})


def racked(seed: int) -> ApplicationState:
    rng = random.Random(seed)
    return ask(put_in_racks(draw_tiny_state(seed, most=800), rng), *rng.choice(COSTS))


def count_plainly(state: ApplicationState, active: dict[str, str], standby: dict[str, list[str]]) -> int:
    """Return the goal's value by docs/reference/rules.md, from the JSON; without memory, task directories are standbys."""
    given = json.loads(state.model_dump_json())
    assert given["remembered"] is None
    traffic, elsewhere = (
        given["configs"][f"rack_aware_{name}_cost"] if given["configs"][f"rack_aware_{name}_cost"] is not None else default
        for name, default in (("traffic", 10), ("non_overlap", 1))
    )
    clients = {client["process_id"]: client for client in given["clients"]}
    sum_ = 0
    for task in given["tasks"]:
        name = task["id"]
        owners = [c for c, client in clients.items() if name in client["previous_active"]]
        directories = [c for c, client in clients.items() if name in client["previous_standby"]]
        copies = [(active[name], "active"), *((client, "standby") for client in standby[name])]
        for client, role in copies:
            read = [p for p in task["partitions"] if p["source" if role == "active" else "changelog"]]
            sum_ += traffic * sum(clients[client]["rack"] not in p["racks"] for p in read)
        if owners:
            sum_ += elsewhere * (active[name] not in owners)
        if owners or directories:
            sum_ += elsewhere * sum(client not in directories for client in standby[name])
    return sum_


def of_plan(copies: Copies) -> tuple[dict[str, str], dict[str, list[str]]]:
    return {task: client for task, (client, _) in copies.items()}, {task: sorted(s) for task, (_, s) in copies.items()}


def of_placement(placement: TaskPlacement) -> tuple[dict[str, str], dict[str, list[str]]]:
    return {t: clients[0] for t, clients in placement.active.items()}, {t: list(c) for t, c in placement.standby.items()}


def test_the_plan_costs_the_least_of_all_balanced_plans() -> None:
    looked = 0
    for seed in range(50):
        state = racked(seed)
        every = [count_plainly(state, *of_plan(copies)) for copies in Tiny(state).list_balanced()]
        if not every:
            continue
        looked += min(every) < max(every)
        given = assign(state)
        assert validate(state, given) == [], f"seed {seed}"
        plan = planned_placement(state, given)
        mine = count_plainly(state, *of_placement(plan))
        assert mine == RACK_COST.measure(Facts(state, given)), f"seed {seed}: the measure counts otherwise"
        assert mine == min(every), f"seed {seed}"
        rows = [row for row in given.report.goals if row.name == "rack_cost"]
        assert all(row.bound is None or row.bound <= min(every) for row in rows), f"seed {seed}"
    assert looked >= 10, "snapshots in which the goal makes a difference"


def test_groups_come_to_rest_by_it() -> None:
    for seed in range(20):
        result = converge(racked(seed))
        assert (result.settled, result.rests, result.violations) == (True, True, {}), f"seed {seed}\n{result}"


def test_it_is_optimised_beyond_the_joint_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test lowers the limit of the joint model."""
    monkeypatch.setattr(policy, "SMALL_PAIRS", 10)
    for number, made in enumerate(make_snapshots("balance_subtopology", 6)):
        state = ask(made, 10, 1)
        given = assign(state)
        assert validate(state, given) == [], number
        row = next(row for row in given.report.goals if row.name == "rack_cost")
        assert row.bound is None or row.bound <= row.value
        result = converge(state)
        assert (result.settled, result.violations) == (True, {}), f"{made.application}\n{result}"
