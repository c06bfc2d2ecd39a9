"""Kafka's own assignors on our snapshots: what they answer, how that is told, and what happens where something is missing."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from judging import answer, snapshot

from optassign import assign, jvm
from optassign.assignment import TaskAssignment
from optassign.assignor import AssignorError, TaskAssignor
from optassign.assignors.kafka import JavaNotFoundError, KafkaBrokerSticky, KafkaHighAvailability, KafkaSticky, available
from optassign.benchmarks.grid import Spec
from optassign.cli import main
from optassign.state import ApplicationState
from optassign.validation import validate

RECORDED = Path(__file__).parent.parent / "data" / "kafka-4.3.1"
EVERYONE = 2**63 - 1
ALL = (KafkaHighAvailability, KafkaSticky, KafkaBrokerSticky)
GENERATED = (
    Spec("cold", 17, 3, 1),
    Spec("steady", 37, 5, 2, threads=2, unlogged=0.2),
    Spec("scale-out", 100, 10, 1, seed=1),
    Spec("scale-out", 60, 8, 3, warmups=5, threads=(1, 4), tiny=0.2, seed=2),
    Spec("scale-in", 100, 10, 2, unknown=0.1, seed=3),
    Spec("restart", 50, 6, 0, memory=True, seed=4),
    Spec("partial", 80, 9, 2, warmups=20, seed=5),
    Spec("partial", 250, 25, 3, warmups=40, seed=6),
    Spec("partial", 12, 1, 1, threads=2),
    Spec("scale-out", 20, 3, 5),
    Spec("cold", 3, 9, 2),
    Spec("steady", 30, 4, stateless=1.0),
    Spec("partial", 30, 4, stateless=0.0, unlogged=1.0),
)
SNAPSHOTS = {
    **{spec.name: spec.generate() for spec in GENERATED},
    **{file.stem: ApplicationState.model_validate_json(file.read_text()) for file in sorted(RECORDED.glob("*.json"))},
}


def roles(found: TaskAssignment) -> dict[str, str]:
    """What each client gets, as `judging.answer` takes it."""
    told = {}
    for client in found.clients:
        text = " | ".join(" ".join(role) for role in (client.active, client.standby, client.warmup))
        told[client.process_id] = text + ("!" if client.followup_rebalance_ms is not None else "")
    return told


def same(found: TaskAssignment, expected: dict[str, str]) -> bool:
    return roles(found) == roles(answer(expected))


@pytest.fixture
def new_jvm() -> Iterator[None]:
    """The next request has to start a JVM, and none that was started under odd conditions stays."""
    jvm.close()
    yield
    jvm.close()


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_every_answer_has_each_task_once_and_the_standbys_and_warm_ups_that_are_allowed(
    name: str, assignor: type[TaskAssignor]
) -> None:
    state = SNAPSHOTS[name]
    found = assign(state, assignor())
    broken = {violation.rule for violation in validate(state, found)}
    # The others of the rules are what Kafka's classes do not promise. A warm-up that is taken for a standby, or the other way
    # round, breaks R4.
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
    # Past Python, which would sort it all again.
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


def test_each_timed_call_is_told() -> None:
    seconds = KafkaHighAvailability().timed(SNAPSHOTS["third-instance-joins"], warmup_calls=2, timed_calls=5)
    assert len(seconds) == 5
    assert all(second > 0 for second in seconds)


# --- high availability: warm-ups -------------------------------------------------------------------------------------


def test_an_active_that_moves_leaves_a_warm_up_where_it_shall_be() -> None:
    state = snapshot({"0_0": 1000, "0_1": 1000}, {"a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}}, "b": {}})
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1!", "b": "| | 0_1"})


def test_warm_ups_end_with_their_slots() -> None:
    tasks = {f"0_{i}": 1000 for i in range(6)}
    state = snapshot(tasks, {"a": {"lags": dict.fromkeys(tasks, -2)}, "b": {}}, max_warmup_replicas=2)
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1 0_2 0_3 0_4 0_5!", "b": "| | 0_1 0_3"})


def test_where_an_active_and_a_standby_swap_no_copy_is_a_warm_up() -> None:
    state = snapshot(
        {"0_0": 1000, "0_1": 1000},
        {"a": {"lags": {"0_0": -2, "0_1": -2}}, "b": {}},
        num_standby_replicas=1,
        max_warmup_replicas=9,
    )
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1!", "b": "| 0_0 0_1"})


def test_a_swap_with_a_standby_that_is_only_the_most_caught_up_is_no_warm_up_either() -> None:
    state = snapshot({"0_0": 1000}, {"a": {"0_0": 900}, "b": {"0_0": 500}}, num_standby_replicas=1)
    assert same(assign(state, KafkaHighAvailability()), {"a": "| 0_0!", "b": "0_0"})


def test_a_standby_that_moves_leaves_a_warm_up_where_it_shall_be() -> None:
    state = snapshot({"0_0": 1000}, {"a": {"0_0": -2}, "b": {}, "c": {"0_0": 0}}, num_standby_replicas=1)
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0!", "b": "| | 0_0", "c": "| 0_0"})


@pytest.mark.parametrize(
    ("clients", "slots", "expected"),
    [
        # Two standbys shall be on b and c, which are empty; d and e have state.
        ("de", 2, {"a": "0_0!", "b": "| | 0_0", "c": "| | 0_0", "d": "| 0_0", "e": "| 0_0"}),
        ("de", 1, {"a": "0_0!", "b": "| | 0_0", "c": "", "d": "| 0_0", "e": "| 0_0"}),
        # Only d has state: the standby of b moves there, that of c stays. Numbers alone would not tell which is which.
        ("d", 2, {"a": "0_0!", "b": "| | 0_0", "c": "| 0_0", "d": "| 0_0"}),
    ],
)
def test_of_several_standbys_those_that_moved_are_the_warm_ups(clients: str, slots: int, expected: dict[str, str]) -> None:
    holders = {client: {"0_0": 0} for client in clients}
    state = snapshot(
        {"0_0": 1000}, {"a": {"0_0": -2}, "b": {}, "c": {}, **holders}, num_standby_replicas=2, max_warmup_replicas=slots
    )
    assert same(assign(state, KafkaHighAvailability()), expected)


# --- high availability: lags -----------------------------------------------------------------------------------------


def test_at_the_greatest_acceptable_lag_everyone_is_caught_up() -> None:
    tasks = {"0_0": 1000, "0_1": EVERYONE}
    state = snapshot(tasks, {"a": {"lags": dict.fromkeys(tasks, -2)}, "b": {}}, acceptable_recovery_lag=EVERYONE)
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0", "b": "0_1"})


@pytest.mark.parametrize("acceptable", [10, EVERYONE - 1])
@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (0, {"a": "0_0 0_1!", "b": "| | 0_1"}),
        (EVERYONE - 1, {"a": "0_0 0_1!", "b": "| | 0_1"}),
        (EVERYONE, {"a": "0_0", "b": "0_1"}),  # there is no greater lag
    ],
)
def test_an_absent_lag_is_more_than_any_other_and_never_caught_up(
    acceptable: int, reported: int, expected: dict[str, str]
) -> None:
    tasks = {"0_0": 5, "0_1": {"changelog_end_offset": None}}
    state = snapshot(tasks, {"a": {"0_1": reported}, "b": {}}, acceptable_recovery_lag=acceptable)
    # 0_0 is tiny, so a may have it; 0_1 shall be on b, which reports nothing.
    assert same(assign(state, KafkaHighAvailability()), expected)


def test_an_absent_lag_beside_the_greatest_one_is_not_less() -> None:
    state = snapshot({"0_0": {"changelog_end_offset": None}}, {"a": {"0_0": EVERYONE}, "b": {}})
    assert same(assign(state, KafkaHighAvailability()), {"a": "0_0", "b": ""})


def test_lags_that_are_not_known_are_handed_on_and_noted() -> None:
    state = snapshot({"0_0": 1000}, {"a": {"0_0": 900}, "b": {"0_0": -3}})
    found = assign(state, KafkaHighAvailability())
    assert same(found, {"a": "| | 0_0!", "b": "0_0"})
    assert any("lags not known: 1" in note for note in found.report.notes)


# --- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Java compares the halves of a UUID as signed numbers.
        ("80000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
        ("00000000-0000-0000-0000-000000000000", "10000000-0000-0000-0000-000000000000"),
        # Not all are UUIDs: the order of strings.
        ("00000000-0000-0000-0000-000000000000", "80000000-0000-0000-0000"),
        ("client-10", "client-9"),
        # The order of code points, which differs from that of UTF-16.
        ("\uffee", "\U0001f600"),
    ],
)
def test_process_ids_have_kafkas_order(first: str, second: str) -> None:
    state = snapshot({"0_0": 5, "1_0": "unlogged"}, {first: {}, second: {}})
    assert same(assign(state, KafkaHighAvailability()), {first: "0_0", second: "1_0"})


@pytest.mark.parametrize("assignor", ALL, ids=lambda assignor: assignor.name)
def test_tasks_of_named_topologies(assignor: type[TaskAssignor]) -> None:
    tasks = {"orders__0_0": 1000, "orders__0_1": 1000, "a__b__1_10": 1000, "a__b__1_2": 1000}
    state = snapshot(tasks, {"a": {}, "b": {"active": "a__b__1_10"}}, num_standby_replicas=1)
    found = assign(state, assignor())
    assert Counter(task for client in found.clients for task in client.active) == Counter(list(tasks))
    assert {len(client.active) for client in found.clients} == {2}
    assert not {violation.rule for violation in validate(state, found)} & {"format", "R1", "R2", "R4"}


# --- what else a snapshot tells --------------------------------------------------------------------------------------


def test_stateful_tasks_without_changelog_get_no_standby_from_any_class() -> None:
    partitions = [{"topic": "t", "partition": 0, "changelog": True}]
    unlogged = {"logged": False, "partitions": partitions}
    state = snapshot({"0_0": 1000, "1_0": unlogged}, {"a": {}, "b": {}}, num_standby_replicas=1)
    for assignor in ALL:
        standbys = [task for client in assign(state, assignor()).clients for task in client.standby]
        assert standbys == ["0_0"], assignor.name


def test_standbys_keep_to_the_configured_tags() -> None:
    zones = {"a": "x", "b": "x", "c": "y"}
    clients = {client: {"tags": {"zone": zone}, "lags": {"0_0": 0}} for client, zone in zones.items()}
    tagged = snapshot({"0_0": 5}, clients, num_standby_replicas=1, rack_aware_assignment_tags=["zone"])
    assert same(assign(tagged, KafkaHighAvailability()), {"a": "0_0", "b": "", "c": "| 0_0"})
    untagged = snapshot({"0_0": 5}, clients, num_standby_replicas=1)
    assert same(assign(untagged, KafkaHighAvailability()), {"a": "0_0", "b": "| 0_0", "c": ""})


def racked(strategy: str, racks: dict[str, str | None], **configs: Any) -> ApplicationState:
    """Two logged tasks whose partitions are on the rack of the other client than the one Kafka would take."""
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
    return snapshot(tasks, clients, rack_aware_assignment_strategy=strategy, **configs)


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
@pytest.mark.parametrize("assignor", [KafkaHighAvailability, KafkaSticky], ids=lambda assignor: assignor.name)
def test_actives_go_where_their_partitions_are(strategy: str, assignor: type[TaskAssignor]) -> None:
    costs = {"rack_aware_traffic_cost": 10, "rack_aware_non_overlap_cost": 1}
    near = assign(racked(strategy, {"a": "r1", "b": "r2"}, **costs), assignor())
    assert same(near, {"a": "0_1", "b": "0_0"})
    assert not any("racks" in note for note in near.report.notes)
    far = assign(racked("none", {"a": "r1", "b": "r2"}, **costs), assignor())
    assert same(far, {"a": "0_0", "b": "0_1"})


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


def test_the_broker_deals_tasks_to_threads_and_they_keep_what_they_had() -> None:
    # Numbers with gaps: to the broker a subtopology has partitions 0 to n - 1.
    tasks = {f"{subtopology}_{partition}": 1000 for subtopology in (0, 3) for partition in (1, 5, 9)}
    state = snapshot(tasks, {"a": {"threads": 2, "active": "0_5 3_9 0_9 3_1"}, "b": {"active": "3_5 0_1"}})
    assert same(assign(state, KafkaBrokerSticky()), {"a": "0_5 0_9 3_1 3_9", "b": "0_1 3_5"})


def test_the_broker_sees_which_consumer_had_which_task() -> None:
    # Three members, three tasks: one each. The consumer that had two of them keeps one, and b gets the other.
    tasks = {"0_0": "stateless", "0_1": "stateless", "0_2": "stateless"}
    a = {"threads": 2, "active": "0_0 0_1 0_2"}
    dealt = snapshot(tasks, {"a": {**a, "consumers": {"x": ["0_2"], "y": ["0_0", "0_1"]}}, "b": {}})
    assert same(assign(dealt, KafkaBrokerSticky()), {"a": "0_0 0_2", "b": "0_1"})
    other = snapshot(tasks, {"a": {**a, "consumers": {"x": ["0_0"], "y": ["0_2", "0_1"]}}, "b": {}})
    assert same(assign(other, KafkaBrokerSticky()), {"a": "0_0 0_1", "b": "0_2"})


# --- the process -----------------------------------------------------------------------------------------------------


def test_a_bad_request_is_answered_and_the_process_lives_on() -> None:
    good = {
        "format": 1,
        "configs": {},
        "tasks": [{"id": "0_0", "stateful": False}],
        "clients": [{"process_id": "a", "threads": 1}],
    }
    bad: list[tuple[object, str]] = [
        ("no JSON", "no JSON"),
        ({"assignor": "best", "snapshot": good}, "high-availability, sticky"),
        ({"assignor": "sticky"}, "snapshot"),
        ({"assignor": "sticky", "snapshot": {**good, "odd": 1}}, "odd"),
        ({"assignor": "sticky", "snapshot": {**good, "format": 2}}, "format: found 2; allowed: 1"),
        ({"assignor": "sticky", "snapshot": {**good, "clients": []}}, "at least one"),
        ({"assignor": "sticky", "snapshot": {**good, "clients": [{"process_id": "a", "threads": 0}]}}, "clients[0]: threads"),
        ({"assignor": "sticky", "snapshot": {**good, "tasks": [{"id": "0", "stateful": True}]}}, "found 0"),
        ({"assignor": "sticky", "snapshot": {**good, "configs": {"max_warmup_replicas": 0}}}, "max.warmup.replicas"),
        ({"assignor": "sticky", "snapshot": good, "timed_calls": 0}, "timed_calls"),
    ]
    fine = {"assignor": "sticky", "snapshot": {**good, "x_ours": {"deep": [1]}}}
    lines = [request if isinstance(request, str) else json.dumps(request) for request, _ in bad]
    text = "\n".join([*lines, "", json.dumps(fine)]) + "\n"
    done = subprocess.run(jvm.command("--serve"), input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(bad) + 1
    for found, (request, expected) in zip(answers[:-1], bad, strict=True):
        assert expected in found["error"], request
        assert "\n" not in found["error"]
    assert answers[-1]["clients"] == [{"process_id": "a", "active": ["0_0"], "standby": [], "warmup": []}]
    assert answers[-1]["version"] == "4.3.1"
    assert not done.stderr


def test_what_kafkas_class_refuses_is_an_error_of_one_line() -> None:
    # Kafka does not compare tasks of named topologies with others.
    state = snapshot({"0_0": 1000, "named__0_0": 1000}, {"a": {}})
    with pytest.raises(AssignorError, match=r"high-availability assignor: .*named") as raised:
        assign(state, KafkaHighAvailability())
    assert "\n" not in str(raised.value)
    assert assign(SNAPSHOTS["third-instance-joins"], KafkaHighAvailability()).clients


def test_threads_get_their_own_answers() -> None:
    states = [SNAPSHOTS[spec.name] for spec in GENERATED[:6]]
    alone = [roles(assign(state, KafkaHighAvailability())) for state in states]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda state: roles(assign(state, KafkaHighAvailability())), states * 3))
    assert together == alone * 3


def test_a_jvm_that_died_is_started_again(new_jvm: None) -> None:
    state = SNAPSHOTS["third-instance-joins"]
    first = roles(assign(state, KafkaHighAvailability()))
    assert jvm._jvm is not None
    process = jvm._jvm._process
    process.kill()
    process.wait()
    assert roles(assign(state, KafkaHighAvailability())) == first


def test_a_process_and_its_fork_have_a_jvm_each() -> None:
    code = """
import os, sys
from optassign import jvm
from optassign.assignors.kafka import KafkaSticky
from optassign.benchmarks.grid import Spec
def ask(seed): return len(KafkaSticky().timed(Spec("cold", 20, 4, seed=seed).generate()))
def pid(): return jvm._jvm._process.pid
ask(1)
parents = pid()
child = os.fork()
if child == 0:
    ask(2)
    jvm_is_its_own = pid() != parents
    jvm.close()
    os._exit(0 if jvm_is_its_own else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
ask(3)
assert pid() == parents
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- the Java command line -------------------------------------------------------------------------------------------


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(jvm.command(*arguments), capture_output=True, text=True, check=False)


def test_the_java_command_line_answers_as_python_does() -> None:
    done = run(str(RECORDED / "third-instance-joins.json"), "--assignor", "high-availability", "--timed-calls", "2")
    assert done.returncode == 0, done.stderr
    found = TaskAssignment.model_validate_json(done.stdout)
    expected = assign(SNAPSHOTS["third-instance-joins"], KafkaHighAvailability())
    assert found.assignor == "kafka-high-availability"
    assert found.clients == expected.clients
    assert done.stderr.startswith("seconds: [")
    assert done.stderr.count(",") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "usage:"),
        (("--assignor", "sticky"), "usage:"),
        (("SNAPSHOT", "--fast", "yes"), "usage:"),
        (("SNAPSHOT", "--assignor", "best"), "allowed: broker-sticky, high-availability, sticky"),
        (("SNAPSHOT", "--timed-calls", "0"), "timed_calls"),
        (("missing.json",), "missing.json"),
    ],
)
def test_the_java_command_line_refuses_bad_usage(arguments: tuple[str, ...], expected: str) -> None:
    file = str(RECORDED / "third-instance-joins.json")
    done = run(*(file if argument == "SNAPSHOT" else argument for argument in arguments))
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Exception" not in done.stderr
    assert not done.stdout


# --- what may be missing ---------------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_jvm: None) -> Path:
    """An empty folder that is all there is to look for programs in."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return programs


def test_without_java_the_error_says_what_to_do(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(JavaNotFoundError, match=r"found no java in JAVA_HOME or on PATH.*JAVA_HOME") as raised:
        assign(SNAPSHOTS["third-instance-joins"], "kafka-high-availability")
    assert available() == str(raised.value)
    code = main(["assign", str(RECORDED / "third-instance-joins.json"), "--assignor", "kafka-sticky"])
    assert code == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_java_home_goes_before_path(bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    for folder, version in ((bare, "21.0.1"), (home / "bin", "1.8.0_392")):
        java = folder / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2023-10-17' >&2\n")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(JavaNotFoundError, match="need a JDK 17 or later: found 8 at"):
        jvm.command()


def test_without_sources_the_error_says_where_they_would_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPTASSIGN_JAVA", str(tmp_path))
    with pytest.raises(JavaNotFoundError, match=r"found no sources \(OPTASSIGN_JAVA=.*folder `java` of a checkout"):
        jvm.command()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The poms of the module and its parent alone, not built."""
    there = Path(jvm.__file__).resolve().parent.parent / "java"
    module = tmp_path / "java" / "baselines"
    module.mkdir(parents=True)
    module.parent.joinpath("pom.xml").write_text((there / "pom.xml").read_text())
    module.joinpath("pom.xml").write_text((there / "baselines" / "pom.xml").read_text())
    monkeypatch.setenv("OPTASSIGN_JAVA", str(module.parent))
    return module


def test_without_maven_the_error_says_that_it_must_be_built(bare: Path, copied: Path) -> None:
    java = bare / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(JavaNotFoundError, match="have to be built once: found no mvn on PATH"):
        jvm.command()
    assert available() is not None


def test_it_is_built_when_its_sources_are_newer_and_what_maven_says_is_shown_if_it_fails(copied: Path) -> None:
    source = copied / "src" / "main" / "java" / "Probe.java"
    source.parent.mkdir(parents=True)
    source.write_text("final class Probe { }\n")
    jvm.command()
    built = copied / "target" / "classes" / "Probe.class"
    assert built.is_file()
    assert list((copied / "target" / "lib").glob("kafka-streams-4.3.1.jar"))
    built.unlink()
    jvm.command()
    assert not built.exists()  # nothing is newer: not built again
    source.write_text("final class Probe { int nothing() { } }\n")
    stamp = copied / "target" / ".built"
    os.utime(source, ns=(stamp.stat().st_mtime_ns + 1, stamp.stat().st_mtime_ns + 1))
    with pytest.raises(AssignorError, match=r"(?s)Maven could not build.*missing return statement"):
        jvm.command()
