"""Tests of KIP-924's StickyTaskAssignor on snapshots small enough to follow by hand; tests/java compares it with Kafka's."""

from __future__ import annotations

import pytest
from answers_as_text import describe
from judging import make_snapshot

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape
from optassign_benchmarks.grid import Spec

STATELESS = "stateless"


def ask(state: ApplicationState) -> dict[str, str]:
    return describe(assign(state, "sticky"))


def test_tasks_stay_with_their_owners_whatever_they_lag() -> None:
    tasks = {"0_0": 100, "0_1": 100}
    clients = {"a": {"active": "0_1", "lags": {"0_1": 90, "0_0": -2}}, "b": {"active": "0_0"}}
    assert ask(make_snapshot(tasks, clients)) == {"a": "0_1", "b": "0_0"}


def test_an_owner_of_too_many_keeps_those_first_in_javas_table() -> None:
    # The share is one task each. In a table of 16 buckets, 0_2 comes before 0_1, and 0_1 before 0_0.
    tasks = dict.fromkeys(("0_0", "0_1", "0_2"), 100)
    assert ask(make_snapshot(tasks, {"a": {"active": "0_0 0_1 0_2"}, "b": {}, "c": {}})) == {
        "a": "0_2",
        "b": "0_0",
        "c": "0_1",
    }


def test_unowned_tasks_go_to_clients_with_their_state_and_room() -> None:
    tasks = dict.fromkeys(("0_0", "0_1"), 100)
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"standby": "0_0"}})) == {"a": "0_1", "b": "0_0"}
    # Client b has room for one task; the other goes to the least loaded client.
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"standby": "0_0 0_1"}})) == {"a": "0_0", "b": "0_1"}


def test_an_owner_below_one_task_per_thread_keeps_the_remaining_tasks() -> None:
    tasks = dict.fromkeys(("0_0", "0_1", "0_2"), STATELESS)
    clients = {"a": {"threads": 4, "active": "0_0 0_1 0_2"}, "b": {}}
    assert ask(make_snapshot(tasks, clients)) == {
        "a": "0_0 0_1 0_2",
        "b": "",
    }  # the share per thread is 0; a still has room
    clients = {"a": {"active": "0_0 0_1 0_2"}, "b": {}}
    assert sorted(len(text.split()) for text in ask(make_snapshot(tasks, clients)).values()) == [1, 2]


def test_standbys_go_to_previous_holders_then_to_the_least_loaded() -> None:
    tasks = {"0_0": 100, "0_1": 100, "0_2": 100}
    clients = {
        "a": {"threads": 2, "active": "0_0"},
        "b": {"threads": 2, "active": "0_1", "standby": "0_0"},
        "c": {"threads": 2, "active": "0_2", "standby": "0_1"},
        "d": {"threads": 2},
    }
    # 0_0 and 0_1 keep their standbys; 0_2 has none yet and goes to d, which has no task.
    assert ask(make_snapshot(tasks, clients, num_standby_replicas=1)) == {
        "a": "0_0",
        "b": "0_1 | 0_0",
        "c": "0_2 | 0_1",
        "d": " | 0_2",
    }


def test_a_standby_goes_where_it_has_new_neighbours() -> None:
    tasks = dict.fromkeys(("0_0", "0_1", "0_2", "0_3"), 100)
    clients = {"a": {"threads": 2, "active": "0_0 0_1"}, "b": {}, "c": {"threads": 2, "active": "0_2 0_3"}}
    # Client b gets 0_0 and is then as loaded as c. But a runs 0_0 and 0_1 together, so 0_1 goes to c.
    assert ask(make_snapshot(tasks, clients, num_standby_replicas=1)) == {
        "a": "0_0 0_1 | 0_2",
        "b": " | 0_0 0_3",
        "c": "0_2 0_3 | 0_1",
    }


def test_one_client_no_tasks_and_more_standbys_than_clients() -> None:
    tasks = {"0_0": 100, "1_0": STATELESS, "2_0": "unlogged"}
    assert ask(make_snapshot(tasks, {"a": {}}, num_standby_replicas=2)) == {"a": "0_0 1_0 2_0"}
    assert ask(make_snapshot({}, {"a": {}, "b": {}})) == {"a": "", "b": ""}
    found = ask(make_snapshot(tasks, {"a": {"active": "0_0"}, "b": {}, "c": {}}, num_standby_replicas=9))
    assert sorted(text.partition(" | ")[2] for text in found.values()) == ["", "0_0", "0_0"]


def test_a_note_says_that_racks_are_not_supported() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {}}, rack_aware_assignment_strategy="min_traffic")
    (note,) = assign(state, "sticky").report.notes
    assert "rack_aware_assignment_strategy is not looked at" in note


@pytest.mark.parametrize("shape", SHAPES)
def test_standbys_keep_these_rules_in_any_order_of_tasks(shape: Shape) -> None:
    for seed in range(12):
        state = Spec(shape, 40, 1 + seed, seed % 4, threads=(1, 3), seed=seed, unlogged=0.2).generate()
        found = assign(state, "sticky").by_process_id
        load = {
            c.process_id: (len(found[c.process_id].active) + len(found[c.process_id].standby)) / c.threads
            for c in state.clients
        }
        for task in state.tasks:
            active = {c for c, given in found.items() if task.id in given.active}
            standbys = {c for c, given in found.items() if task.id in given.standby}
            wanted = min(state.configs.num_standby_replicas, len(state.clients) - 1) if task.logged else 0
            assert (len(active), len(standbys), active & standbys) == (1, wanted, set()), f"{shape}, seed {seed}, {task.id}"
            owners = {c.process_id for c in state.clients if task.id in c.previous_active}
            had = {c.process_id for c in state.clients if task.id in c.previous_standby} | owners
            if standbys - had:
                assert all(load[owner] >= 1 for owner in owners - active - standbys), f"{shape}, seed {seed}, {task.id}"
