"""Tests of KIP-924's rack utilities against enumeration of all trades in small groups."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from optassign.assignors.rack_utilities import optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks
from optassign.formats.assignment import KafkaStreamsAssignment
from optassign.formats.state import ApplicationState

RACKS = ("r1", "r2", "r3")


def make_state(rng: random.Random, strategy: str = "min_traffic", **configs: Any) -> ApplicationState:
    """Return a random snapshot of six tasks of two subtopologies and four clients, with each partition on one rack."""

    def place(kind: str) -> dict[str, Any]:
        return {"topic": kind, "changelog": kind == "changelog", "racks": [rng.choice(RACKS)]}

    tasks = [{"id": f"{i % 2}_{i // 2}", "stateful": True, "partitions": [place("in"), place("changelog")]} for i in range(6)]
    clients = [{"process_id": c, "threads": 1, "rack": rng.choice(RACKS), "tags": {"zone": rng.choice("xy")}} for c in "abcd"]
    costs = {"rack_aware_traffic_cost": 10, "rack_aware_non_overlap_cost": 1}
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": 1, "rack_aware_assignment_strategy": strategy, **costs, **configs},
            "tasks": tasks,
            "clients": clients,
        }
    )


def deal(rng: random.Random, state: ApplicationState, *, standbys: bool) -> dict[str, KafkaStreamsAssignment]:
    """Return a random assignment: each task active on a client, and with `standbys` a standby on another client."""
    active: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    standby: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    for task in state.tasks:
        first, second = rng.sample(list(active), 2)
        active[first].append(task.id)
        if standbys:
            standby[second].append(task.id)
    return {c: KafkaStreamsAssignment(process_id=c, active=tuple(active[c]), standby=tuple(standby[c])) for c in active}


def price(state: ApplicationState, where: dict[str, str], before: dict[str, str], kinds: tuple[str, ...]) -> int:
    """Return the cost of an assignment of one role: 10 per partition read across racks, and 1 per moved task."""
    racks = {client.process_id: client.rack for client in state.clients}
    read = {task.id: [p for p in task.partitions if p.topic in kinds] for task in state.tasks}
    crossed = sum(racks[client] not in p.racks for task, client in where.items() for p in read[task])
    return 10 * crossed + sum(before[task] != client for task, client in where.items())


def where_is(given: dict[str, KafkaStreamsAssignment], role: str) -> dict[str, str]:
    return {task: client for client, each in given.items() for task in getattr(each, role)}


@pytest.mark.parametrize("seed", range(30))
def test_actives_are_traded_for_the_least(seed: int) -> None:
    rng = random.Random(seed)
    state = make_state(rng)
    before = deal(rng, state, standbys=False)
    after = optimize_rack_aware_active_tasks(state, before)
    assert {c: len(each.active) for c, each in after.items()} == {c: len(each.active) for c, each in before.items()}
    old, kinds = where_is(before, "active"), ("in", "changelog")
    every = [price(state, dict(zip(old, order, strict=True)), old, kinds) for order in permutations(old.values())]
    assert price(state, where_is(after, "active"), old, kinds) == min(every)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("tags", [(), ("zone",)])
def test_standbys_are_traded_for_the_least(seed: int, tags: tuple[str, ...]) -> None:
    rng = random.Random(seed)
    state = make_state(rng, rack_aware_assignment_tags=tags)
    before = deal(rng, state, standbys=True)
    after = optimize_rack_aware_standby_tasks(state, before)
    old, active = where_is(before, "standby"), where_is(before, "active")
    zones = {client.process_id: client.tags["zone"] if tags else "" for client in state.clients}
    ways = (dict(zip(old, order, strict=True)) for order in permutations(old.values()))
    every = [
        price(state, way, old, ("changelog",))
        for way in ways
        if all(client != active[task] and zones[client] == zones[old[task]] for task, client in way.items())
    ]
    assert price(state, where_is(after, "standby"), old, ("changelog",)) == min(every)
    assert where_is(after, "active") == active


@pytest.mark.parametrize("seed", range(20))
def test_balance_subtopology_keeps_subtopologies_spread(seed: int) -> None:
    """With three tasks of each subtopology, no client gets more than its share of each subtopology, rounded up."""
    rng = random.Random(seed)
    state = make_state(rng, "balance_subtopology")
    names = [task.id for task in state.tasks]
    before = {
        c: KafkaStreamsAssignment(process_id=c, active=tuple(names[i : i + 2]) if i < 6 else ())
        for i, c in zip((0, 2, 4, 6), "abcd", strict=True)
    }
    after = optimize_rack_aware_active_tasks(state, before)
    for client in "abc":
        assert sorted(task[0] for task in after[client].active) == ["0", "1"]


def test_a_client_with_a_standby_of_the_task_does_not_get_it() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        state = make_state(rng)
        after = optimize_rack_aware_active_tasks(state, deal(rng, state, standbys=True))
        assert not [client for client, each in after.items() if {*each.active} & {*each.standby}], f"seed {seed}"


@pytest.mark.parametrize(
    "configs",
    [
        {"rack_aware_assignment_strategy": "none"},
        {"rack_aware_traffic_cost": None},
        {"rack_aware_non_overlap_cost": None},
    ],
)
def test_nothing_changes_if_racks_are_not_configured(configs: dict[str, Any]) -> None:
    state = make_state(random.Random(1), **configs)
    before = deal(random.Random(2), state, standbys=True)
    assert optimize_rack_aware_active_tasks(state, before) == before
    assert optimize_rack_aware_standby_tasks(state, before) == before


def test_costs_and_tasks_may_be_given() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        state = make_state(rng, rack_aware_traffic_cost=None, rack_aware_non_overlap_cost=None)
        before = deal(rng, state, standbys=False)
        assert optimize_rack_aware_active_tasks(state, before, traffic_cost=0, non_overlap_cost=1) == before
        after = optimize_rack_aware_active_tasks(state, before, {"0_0", "0_1"}, traffic_cost=1, non_overlap_cost=0)
        old, new = where_is(before, "active"), where_is(after, "active")
        assert {task for task in old if old[task] != new[task]} <= {"0_0", "0_1"}, f"seed {seed}"


def test_a_client_without_a_rack_changes_nothing() -> None:
    state = make_state(random.Random(1))
    clients = [client.model_copy(update={"rack": None}) if client.process_id == "a" else client for client in state.clients]
    before = deal(random.Random(2), state, standbys=True)
    assert optimize_rack_aware_active_tasks(state.model_copy(update={"clients": clients}), before) == before
