"""Tests that `optassign inspect` reports the rebalance that the plug-in records in shadow mode.
They test `optassign.cli.commands.inspect_group`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka_group import await_recordings

from optassign.cli import main
from optassign.formats.state import ApplicationState
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import Recording, read_recording
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import LAG, PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

_STATED = ["--max-warmup-replicas", "12", "--acceptable-recovery-lag", str(LAG), "--probing-rebalance-interval-ms", "600000"]
"""Settings of these groups that brokers do not know."""
_TOPOLOGY = """Topologies:
   Sub-topology: 0
    Processor: logged (stores: [logged-counts])
   Sub-topology: 1
    Processor: unlogged (stores: [unlogged-counts])
   Sub-topology: 2
    Processor: stateless (stores: [])
"""
_FIGURES = ("tasks", "clients", "moved_active", "restored", "warmups", "stalled", "balanced")


def describe_lags(state: ApplicationState) -> dict[tuple[str, str], int]:
    """Return the lag of each logged task on each client, as KIP-924 reports it."""
    return {(c.process_id, task): lag for c in state.clients for task, lag in c.stateful_tasks_to_lag_sums.items()}


def assert_same_rebalance(seen: Recording, recorded: Recording) -> None:
    for name in ("tasks", "clients"):
        assert [getattr(each, "id", None) or each.process_id for each in getattr(seen.snapshot, name)] == [
            getattr(each, "id", None) or each.process_id for each in getattr(recorded.snapshot, name)
        ]
    fields = ("process_id", "threads", "previous_active", "previous_standby", "tags", "rack", "host", "client_id")
    for mine, theirs in zip(seen.snapshot.clients, recorded.snapshot.clients, strict=True):
        assert {name: getattr(mine, name) for name in fields} == {name: getattr(theirs, name) for name in fields}
    assert [task.logged for task in seen.snapshot.tasks] == [task.logged for task in recorded.snapshot.tasks]
    assert seen.snapshot.configs == recorded.snapshot.configs
    assert describe_lags(seen.snapshot) == describe_lags(recorded.snapshot)
    for given, applied in zip(seen.assignment.clients, recorded.assignment.clients, strict=True):
        assert (given.process_id, given.active, given.standby, given.warmup) == (
            applied.process_id,
            applied.active,
            applied.standby,
            applied.warmup,
        )
    assert {name: getattr(seen.summary, name) for name in _FIGURES} == {
        name: getattr(recorded.summary, name) for name in _FIGURES
    }
    assert (seen.summary.followup_ms is None) is (recorded.summary.followup_ms is None)
    assert seen.assignor == "high-availability"


def inspect(broker: Broker, group: StreamsApplication, folder: Path, *more: str) -> Recording:
    file = folder / f"{group.application}.json.gz"
    asked = ["inspect", "--bootstrap-server", broker.address, "--group", group.application, "--recording", str(file)]
    assert main([*asked, *more]) == 0
    return read_recording(file)


def come_to_rest(group: StreamsApplication) -> None:
    """Wait until all records are processed and all copies restored, so that changelogs no longer grow."""
    group.await_complete()
    group.load.await_accounted()
    group.await_caught_up()


@pytest.mark.long
@pytest.mark.parametrize(
    ("instances", "standbys"),
    [
        pytest.param(3, 1, id="3 instances, standbys"),
        pytest.param(3, 0, id="3 instances"),
        pytest.param(12, 1, id="12 instances, standbys"),
        pytest.param(12, 0, id="12 instances"),
    ],
)
def test_the_report_is_that_of_shadow_mode(
    new_group: Callable[..., StreamsApplication],
    service: ServiceProcess,
    broker: Broker,
    tmp_path: Path,
    instances: int,
    standbys: int,
) -> None:
    group = new_group(
        f"inspected-{instances}-{standbys}", optassign_mode="shadow", test_log_all=True, num_standby_replicas=standbys
    )
    group.load.run(0)
    group.load.write(PRELOAD, kinds=("logged",))  # so that offsets match changelogs to subtopologies
    names = [f"i{number:02d}" for number in range(instances)]
    group.start(*names[:-1])
    come_to_rest(group)
    group.probe()
    before = group.generation
    group.start(names[-1])
    group.await_complete(after=before)
    file = tmp_path / "topology.txt"
    file.write_text(_TOPOLOGY, encoding="utf-8")
    told = [*_STATED, *(() if standbys else ("--topology", str(file)))]

    def is_the_last() -> bool:
        """Return whether the second pass was the last rebalance, so that command and plug-in report the same one."""
        return len(inspect(broker, group, tmp_path, *told).snapshot.clients) == instances

    await_condition("all instances in one rebalance", is_the_last, logs=group.logs)
    recorded = await_recordings(service, group)[-1]
    assert_same_rebalance(inspect(broker, group, tmp_path, *told), recorded)
    assert len(recorded.snapshot.clients) == instances
    assert any(lag > LAG for lag in describe_lags(recorded.snapshot).values())  # otherwise the comparison would be of zeros


@pytest.mark.long
def test_a_report_does_not_join_the_group(
    new_group: Callable[..., StreamsApplication], broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    group = new_group("looked-at", task_assignor_class=None, optassign_url=None, optassign_timeout_ms=None)
    group.start("a", "b")
    group.await_complete()
    before, placement = group.generation, group.await_complete()
    asked = ["inspect", "--bootstrap-server", broker.address, "--group", "looked-at", "--sample", "1", "--format", "json"]
    assert main(asked) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [each["active"] for each in report["instances"]] == [18, 18]
    assert report["bytes_per_offset"] > 1, "brokers tell the sizes of changelogs"
    assert all(each["bytes"] > 0 for each in report["subtopologies"] if each["kind"] == "logged")
    assert {cost["event"] for cost in report["outlook"]["costs"]} == {"adopt", "scale-out", "loss", "restart"}
    assert (group.generation, group.await_complete()) == (before, placement)
    assert group.load.written  # records were processed during the inspection


@pytest.mark.long
def test_watch_records_each_rebalance_until_it_is_interrupted(
    new_group: Callable[..., StreamsApplication], broker: Broker, tmp_path: Path
) -> None:
    group = new_group("followed", task_assignor_class=None, optassign_url=None, optassign_timeout_ms=None)
    group.start("a", "b")
    group.await_complete()
    asked = ["--bootstrap-server", broker.address, "--group", "followed", "--recordings", str(tmp_path / "recordings")]
    command = [sys.executable, "-m", "optassign.cli", "inspect", *asked, "--watch", "--every", "1"]
    watching = ChildProcess(command, tmp_path / "watching.log")
    try:

        def list_recorded() -> list[Recording]:
            return [read_recording(entry.path) for entry in sorted(find_recordings(tmp_path / "recordings", "followed"))]

        def await_recorded(clients: int) -> None:
            def recorded() -> bool:
                assert watching.alive, watching.log.read_text(encoding="utf-8")
                return any(len(each.snapshot.clients) == clients for each in list_recorded())

            await_condition(f"a recording of {clients} instances", recorded, logs=lambda: [watching.log, *group.logs()])

        await_recorded(2)
        group.start("c")
        await_recorded(3)
        os.kill(watching.pid, signal.SIGINT)
        assert watching.await_end() == 0
    finally:
        watching.kill()
    placement, newest = group.await_complete(), list_recorded()[-1]
    ids = {each.process_id: name for name, each in group.instances.items()}
    assert {ids[each.process_id] for each in newest.assignment.clients} == set("abc")
    assert newest.not_applied is not None, "and what optassign would have done"
    assert set().union(*placement.active.values()) == group.tasks


@pytest.mark.long
def test_a_streams_group_is_inspected(new_group: Callable[..., StreamsApplication], broker: Broker, tmp_path: Path) -> None:
    left_out = dict.fromkeys(
        (
            "task_assignor_class",
            "optassign_url",
            "optassign_timeout_ms",
            "max_warmup_replicas",
            "num_standby_replicas",
            "acceptable_recovery_lag",
            "main_consumer_session_timeout_ms",
            "main_consumer_heartbeat_interval_ms",
        )
    )
    group = new_group("by-the-broker", group_protocol="streams", **left_out)
    group.start("a", "b")
    placement = await_all_active(group)
    recording = inspect(broker, group, tmp_path)
    given = {client.process_id: frozenset(client.active) for client in recording.assignment.clients}
    assert given == {group.instances[name].process_id: active for name, active in placement.items()}
    logged = [task for task in recording.snapshot.tasks if task.logged]
    assert [task.id for task in logged] == [f"0_{partition}" for partition in range(12)]
    assert all(task.changelog_end_offset is not None for task in logged)


def await_all_active(group: StreamsApplication) -> dict[str, frozenset[str]]:
    """Return instance → its active tasks, once all tasks run: instances report no generation under this protocol."""
    found: dict[str, frozenset[str]] = {}

    def complete() -> bool:
        found.update({name: frozenset(each.status().active) for name, each in group.instances.items()})
        return all(found.values()) and sum(map(len, found.values())) == len(group.tasks)

    await_condition("every task active", complete, found=lambda: found, logs=group.logs)
    return found
