"""Tests of Kafka's own assignors on our snapshots: their answers, and the parts of a snapshot that they use."""

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from judging import make_snapshot
from kafkas_own import ALL, GENERATED, SNAPSHOTS, is_same

from optassign import assign
from optassign.assignor import TaskAssignor
from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.kafka import KafkaBrokerSticky, KafkaBrokerSticky44, KafkaHighAvailability, KafkaSticky
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate

# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_every_answer_has_each_task_once_and_the_standbys_and_warm_ups_that_are_allowed(
    name: str, assignor: type[TaskAssignor]
) -> None:
    state = SNAPSHOTS[name]
    found = assign(state, assignor())
    broken = {violation.rule for violation in validate(state, found)}
    # Kafka's classes do not promise the other rules. A warm-up taken for a standby, or a standby for a warm-up, breaks R4.
    assert not broken & {"format", "R1", "R2", "R4", "R6"}


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
def test_the_answer_depends_neither_on_the_order_of_lists_nor_on_the_jvm(assignor: type[TaskAssignor], new_jvm: None) -> None:
    state = SNAPSHOTS[GENERATED[6].name]
    first = assign(state, assignor()).without_times()
    assert first == assign(state, assignor()).without_times()
    jvm.close()
    shuffled = json.loads(state.model_dump_json())
    random = Random(7)
    for entries in (shuffled["tasks"], shuffled["clients"], *(client["previous_standby"] for client in shuffled["clients"])):
        random.shuffle(entries)
    # Send it past Python's types, which would sort all lists again.
    message = {"assignor": assignor.runs}  # type: ignore[attr-defined]
    clients = jvm.request(message, json.dumps(shuffled))["clients"]
    assert {client["process_id"]: client for client in clients} == {
        client.process_id: {
            "process_id": client.process_id,
            "active": list(client.active),
            "standby": list(client.standby),
            "warmup": list(client.warmup),
        }
        for client in first.clients
    }


def test_an_answer_says_where_it_comes_from_and_how_long_kafkas_call_took() -> None:
    found = assign(SNAPSHOTS["third-instance-joins"], "kafka-high-availability")
    assert found.assignor == "kafka-high-availability"
    assert (found.report.found_by, found.report.termination.reason) == ("kafka", "heuristic")
    assert list(found.report.seconds) == ["assign"]
    assert found.report.notes == ("Kafka 4.3.1",)
    assert not found.report.balanced


def test_each_timed_call_is_reported() -> None:
    seconds = KafkaHighAvailability().timed(SNAPSHOTS["third-instance-joins"], warmup_calls=2, timed_calls=5)
    assert len(seconds) == 5
    assert all(second > 0 for second in seconds)


# --- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Java compares the halves of a UUID as signed numbers.
        ("80000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
        ("00000000-0000-0000-0000-000000000000", "10000000-0000-0000-0000-000000000000"),
        # If not all ids are UUIDs, they are ordered as strings.
        ("00000000-0000-0000-0000-000000000000", "80000000-0000-0000-0000"),
        ("client-10", "client-9"),
        # Strings are ordered by code points, which differs from the order of UTF-16.
        ("\uffee", "\U0001f600"),
    ],
)
def test_process_ids_have_kafkas_order(first: str, second: str) -> None:
    state = make_snapshot({"0_0": 5, "1_0": "unlogged"}, {first: {}, second: {}})
    assert is_same(assign(state, KafkaHighAvailability()), {first: "0_0", second: "1_0"})


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
def test_tasks_of_named_topologies(assignor: type[TaskAssignor]) -> None:
    tasks = {"orders__0_0": 1000, "orders__0_1": 1000, "a__b__1_10": 1000, "a__b__1_2": 1000}
    state = make_snapshot(tasks, {"a": {}, "b": {"active": "a__b__1_10"}}, num_standby_replicas=1)
    found = assign(state, assignor())
    assert Counter(task for client in found.clients for task in client.active) == Counter(list(tasks))
    assert {len(client.active) for client in found.clients} == {2}
    assert not {violation.rule for violation in validate(state, found)} & {"format", "R1", "R2", "R4"}


# --- what else a snapshot tells --------------------------------------------------------------------------------------


def test_stateful_tasks_without_changelog_get_no_standby_from_any_class() -> None:
    partitions = [{"topic": "t", "partition": 0, "changelog": True}]
    unlogged = {"logged": False, "partitions": partitions}
    state = make_snapshot({"0_0": 1000, "1_0": unlogged}, {"a": {}, "b": {}}, num_standby_replicas=1)
    for assignor in ALL:
        standbys = [task for client in assign(state, assignor()).clients for task in client.standby]
        assert standbys == ["0_0"], assignor.name


def test_standbys_keep_to_the_configured_tags() -> None:
    zones = {"a": "x", "b": "x", "c": "y"}
    clients = {client: {"tags": {"zone": zone}, "lags": {"0_0": 0}} for client, zone in zones.items()}
    tagged = make_snapshot({"0_0": 5}, clients, num_standby_replicas=1, rack_aware_assignment_tags=["zone"])
    assert is_same(assign(tagged, KafkaHighAvailability()), {"a": "0_0", "b": "", "c": "| 0_0"})
    untagged = make_snapshot({"0_0": 5}, clients, num_standby_replicas=1)
    assert is_same(assign(untagged, KafkaHighAvailability()), {"a": "0_0", "b": "| 0_0", "c": ""})


def racked(strategy: str, racks: dict[str, str | None], **configs: Any) -> ApplicationState:
    """Return a snapshot of two logged tasks, with partitions on the rack of the client that Kafka chooses only by racks."""
    tasks = {
        f"0_{i}": {
            "changelog_end_offset": 5,
            "partitions": [
                {"topic": "in", "partition": i, "racks": [rack]},
                {"topic": "store", "partition": i, "changelog": True, "racks": [rack]},
            ],
        }
        for i, rack in enumerate(("r2", "r1"))
    }
    clients = {client: {"rack": rack} for client, rack in racks.items()}
    return make_snapshot(tasks, clients, rack_aware_assignment_strategy=strategy, **configs)


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
@pytest.mark.parametrize("assignor", [KafkaHighAvailability, KafkaSticky], ids=lambda assignor: assignor.name)
def test_actives_go_where_their_partitions_are(strategy: str, assignor: type[TaskAssignor]) -> None:
    costs = {"rack_aware_traffic_cost": 10, "rack_aware_non_overlap_cost": 1}
    near = assign(racked(strategy, {"a": "r1", "b": "r2"}, **costs), assignor())
    assert is_same(near, {"a": "0_1", "b": "0_0"})
    assert not any("racks" in note for note in near.report.notes)
    far = assign(racked("none", {"a": "r1", "b": "r2"}, **costs), assignor())
    assert is_same(far, {"a": "0_0", "b": "0_1"})


def test_standbys_go_where_the_changelogs_are() -> None:
    racks: dict[str, str | None] = {"a": "r1", "b": "r2", "c": "r1", "d": "r2"}
    near = assign(racked("min_traffic", racks, num_standby_replicas=1), KafkaHighAvailability())
    assert [set(client.standby) for client in near.clients if client.process_id in "bd"] != [set(), set()]
    for client in near.clients:
        expected = "0_1" if racks[client.process_id] == "r1" else "0_0"
        assert {*client.active, *client.standby} <= {expected}


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
def test_a_snapshot_without_the_racks_that_its_configs_ask_for_is_answered_and_noted(assignor: type[TaskAssignor]) -> None:
    state = racked("min_traffic", {"a": "r1", "b": None}, rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=1)
    notes = assign(state, assignor()).report.notes
    assert any("racks" in note and "not taken into account" in note for note in notes)


def test_the_public_sticky_needs_both_costs_for_racks_and_says_so() -> None:
    notes = assign(racked("min_traffic", {"a": "r1", "b": "r2"}), KafkaSticky()).report.notes
    assert any("rack_aware_traffic_cost" in note for note in notes)


_OF_THE_BROKER = pytest.mark.parametrize("broker", [KafkaBrokerSticky, KafkaBrokerSticky44], ids=lambda broker: broker.name)


@_OF_THE_BROKER
def test_the_broker_deals_tasks_to_threads_and_they_keep_what_they_had(broker: type[TaskAssignor]) -> None:
    # Partition numbers have gaps: for the broker a subtopology has partitions 0 to n - 1.
    tasks = {f"{subtopology}_{partition}": 1000 for subtopology in (0, 3) for partition in (1, 5, 9)}
    state = make_snapshot(tasks, {"a": {"threads": 2, "active": "0_5 3_9 0_9 3_1"}, "b": {"active": "3_5 0_1"}})
    assert is_same(assign(state, broker()), {"a": "0_5 0_9 3_1 3_9", "b": "0_1 3_5"})


@_OF_THE_BROKER
def test_the_broker_sees_which_consumer_had_which_task(broker: type[TaskAssignor]) -> None:
    # Three members get one of three tasks each. The consumer with two tasks keeps one, and b gets the other.
    tasks = {"0_0": "stateless", "0_1": "stateless", "0_2": "stateless"}
    a = {"threads": 2, "active": "0_0 0_1 0_2"}
    dealt = make_snapshot(tasks, {"a": {**a, "consumers": {"x": ["0_2"], "y": ["0_0", "0_1"]}}, "b": {}})
    assert is_same(assign(dealt, broker()), {"a": "0_0 0_2", "b": "0_1"})
    other = make_snapshot(tasks, {"a": {**a, "consumers": {"x": ["0_0"], "y": ["0_2", "0_1"]}}, "b": {}})
    assert is_same(assign(other, broker()), {"a": "0_0 0_1", "b": "0_2"})


@pytest.mark.parametrize("most", "bcd")
def test_only_the_broker_of_4_4_puts_a_standby_where_most_of_the_state_is(most: str) -> None:
    lags = {"b": 900, "c": 800, "d": 700} | {most: 100}
    clients = {"a": {"active": "0_0", "lags": {"0_0": -2}}, **{name: {"lags": {"0_0": lag}} for name, lag in lags.items()}}
    state = make_snapshot({"0_0": 1000}, clients, num_standby_replicas=1)
    nobody = {"a": "0_0", "b": "", "c": "", "d": ""}
    assert is_same(assign(state, KafkaBrokerSticky44()), {**nobody, most: "| 0_0"})
    assert is_same(assign(state, KafkaBrokerSticky()), {**nobody, "b": "| 0_0"})


def test_the_broker_of_4_4_keeps_a_standby_on_its_client() -> None:
    clients = {
        "a": {"active": "0_0", "lags": {"0_0": -2}},
        "b": {"lags": {"0_0": 0}},
        "c": {"standby": "0_0", "lags": {"0_0": 900}},
    }
    state = make_snapshot({"0_0": 1000}, clients, num_standby_replicas=1)
    assert is_same(assign(state, KafkaBrokerSticky44()), {"a": "0_0", "b": "", "c": "| 0_0"})


@pytest.mark.parametrize(
    ("assignor", "version"),
    [*((each, "4.3.1") for each in ALL[:3]), (KafkaBrokerSticky44, "4.4.0")],
    ids=lambda value: str(value),
)
def test_an_answer_names_the_release_that_its_class_is_of(assignor: type[TaskAssignor], version: str) -> None:
    assert assign(SNAPSHOTS["third-instance-joins"], assignor()).report.notes[0] == f"Kafka {version}"
