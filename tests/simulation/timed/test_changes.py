"""Tests of threads, subtopologies and configs that change during a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate

Objects = Sequence[Mapping[str, Any]]
ONE_PASS = 1.0


def play(events: Objects, *, clients: Objects, subtopologies: Objects, **configs: Any) -> SimulatedRun:
    given = {
        "name": "changes",
        "duration_s": 300,
        "configs": {"probing_rebalance_interval_ms": 60_000, **configs},
        "clients": clients,
        "subtopologies": subtopologies,
        "events": events,
    }
    return simulate(Scenario.model_validate(given), "cp-sat")


def list_rebalances(played: SimulatedRun) -> list[dict[str, Any]]:
    return [event for event in played.events if event["event"] == "rebalance"]


def count_actives(rebalance: Mapping[str, Any]) -> dict[str, int]:
    return {client: len(roles.get("active", ())) for client, roles in rebalance["clients"].items()}


def test_a_client_with_more_threads_gets_more_tasks_and_processes_more() -> None:
    event = {"at": 50, "do": "add-threads", "clients": ["c1"], "threads": 2}
    tasks = [{"partitions": 8, "kind": "stateless", "input_per_s": 10}]
    clients = [{"count": 2, "process_per_s": 30}]
    played = play([event], clients=clients, subtopologies=tasks)
    last = list_rebalances(played)[-1]
    assert count_actives(last) == {"c1": 6, "c2": 2}
    # Two threads process 60 of the 80 records that arrive per second; four process the backlog, too.
    assert played.measures.most_backlog >= 20 * 50
    assert played.measures.curve[-1].backlog == 0
    assert played.measures.curve[-1].active_imbalance == 0


def test_removed_threads_lower_the_share() -> None:
    event = {"at": 50, "do": "remove-threads", "zone": "z"}
    clients = [{"threads": 3, "tags": {"zone": "z"}}, {"name": "d", "threads": 2}]
    played = play([event], clients=clients, subtopologies=[{"partitions": 20, "kind": "stateless"}])
    assert count_actives(list_rebalances(played)[-1]) == {"c1": 10, "d1": 10}


def test_a_later_subtopology_has_no_effect_before_its_start() -> None:
    old: Mapping[str, Any] = {"partitions": 2, "input_per_s": 10}
    new: Mapping[str, Any] = {"partitions": 4, "input_per_s": 10, "joins": True, "kind": "stateless"}
    played = play(
        [{"at": 100, "do": "add-subtopologies", "subtopologies": [1]}], clients=[{"count": 2}], subtopologies=[old, new]
    )
    (rebalance,) = list_rebalances(played)
    assert rebalance["reason"] == "add-subtopologies"
    assert count_actives(rebalance) == {"c1": 3, "c2": 3}
    down = ONE_PASS + model_seconds(6, 2)
    assert played.measures.down_task_s == pytest.approx(4 * down, abs=1e-3)  # of the new tasks, since their start
    assert played.measures.most_backlog == pytest.approx(4 * 10 * down, abs=1e-2)
    assert {point.down for point in played.measures.curve if point.at < 100} == {0}


def test_a_later_subtopology_lacks_no_copy_before_its_start() -> None:
    new = {"partitions": 4, "joins": True}
    event = {"at": 200, "do": "add-subtopologies", "subtopologies": [1]}
    played = play([event], clients=[{"count": 2}], subtopologies=[{"partitions": 2}, new])
    assert played.measures.without_copy_task_s < 4 * 10, "not 4 tasks for 200 s"


def test_each_absence_has_its_own_session_time_out() -> None:
    """c1 is back after 10 s of its restart; the time-out of that restart is over 15 s after its crash."""
    events = [{"at": 0, "do": "restart", "clients": ["c1"]}, {"at": 30, "do": "crash", "clients": ["c1"]}]
    played = play(events, clients=[{"count": 2}], subtopologies=[{"partitions": 4}])
    (noticed,) = [each["at"] for each in list_rebalances(played) if each["reason"] == "session time-out"]
    assert 75 <= noticed <= 77


def test_clients_of_a_zone_join_together() -> None:
    clients: Objects = [{"count": 1}, {"name": "d", "count": 2, "tags": {"zone": "b"}, "joins": True}]
    played = play([{"at": 50, "do": "join", "zone": "b"}], clients=clients, subtopologies=[{"partitions": 6}])
    assert count_actives(list_rebalances(played)[-1]) == {"c1": 2, "d1": 2, "d2": 2}


def test_more_standbys_are_restored_once_they_are_configured() -> None:
    event = {"at": 100, "do": "configure", "configs": {"num_standby_replicas": 1}}
    tasks = [{"partitions": 4, "state": 10_000}]
    played = play([event], clients=[{"count": 2, "restore_per_s": 1_000}], subtopologies=tasks)
    missing = [(point.at, point.standbys_missing) for point in played.measures.curve]
    assert {number for at, number in missing if at < 100} == {0}
    assert max(number for _, number in missing) == 4
    assert missing[-1][1] == 0
    # Each of two disks restores two copies.
    begins = 100 + ONE_PASS + model_seconds(4, 2)
    assert played.measures.without_standby_task_s == pytest.approx(4 * (begins - 100 + 20), abs=1e-2)


def test_configured_tags_move_standbys() -> None:
    event = {"at": 100, "do": "configure", "configs": {"rack_aware_assignment_tags": ["zone"]}}
    clients = [{"name": "x", "count": 2, "tags": {"zone": "x"}}, {"name": "y", "count": 2, "tags": {"zone": "y"}}]
    start = [
        {"client": "x1", "active": ["0_0"], "standby": ["0_1"]},
        {"client": "x2", "active": ["0_1"], "standby": ["0_0"]},
        {"client": "y1", "active": ["0_2"], "standby": ["0_3"]},
        {"client": "y2", "active": ["0_3"], "standby": ["0_2"]},
    ]
    given = {
        "name": "tags",
        "duration_s": 900,
        "configs": {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 60_000},
        "clients": clients,
        "subtopologies": [{"partitions": 4, "state": 50_000}],
        "start": start,
        "events": [event],
    }
    played = simulate(Scenario.model_validate(given), "cp-sat")
    last = list_rebalances(played)[-1]
    zones: dict[str, set[str]] = {}
    for client, roles in last["clients"].items():
        for task in (*roles.get("active", ()), *roles.get("standby", ())):
            zones.setdefault(task, set()).add(client[0])
    assert zones == {f"0_{n}": {"x", "y"} for n in range(4)}
