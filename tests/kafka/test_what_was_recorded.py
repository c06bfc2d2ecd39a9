"""Tests that each real rebalance, with or without the service, has one valid recording of the applied answer that replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run_process
from kafka_group import assert_nothing_cold_ran, assert_sound

from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess, check_recordings


def test_a_second_and_a_third_instance_join_and_each_rebalance_is_recorded(
    new_group: Callable[..., StreamsApplication], service: ServiceProcess
) -> None:
    group = new_group("joining")
    group.start("a")
    group.await_complete()
    for name in ("b", "c"):
        before = group.generation
        group.start(name)
        group.await_complete(after=before)
        assert_sound(group, most_probes=2)  # one moves the warmed-up tasks, the next those that had to wait for the first
        assert_nothing_cold_ran(group, name)
    assert {each.assignor for each in group.rebalances} == {"cp-sat"}
    await_condition(
        "one recording per rebalance",
        lambda: len(list(find_recordings(service.recordings, "joining"))) == len(group.rebalances),
        found=lambda: f"{list(find_recordings(service.recordings, 'joining'))} for {group.rebalances}",
    )
    assert all(read_recording(entry.path).applied for entry in find_recordings(service.recordings, "joining"))
    number, faults = check_recordings(service.recordings)  # including recordings of other tests
    assert number >= len(group.rebalances)
    assert not faults, "\n".join(faults)
    newest = max(find_recordings(service.recordings, "joining")).path
    recorded = read_recording(newest)
    called = sorted(client.client_id or "" for client in recorded.snapshot.clients)
    assert called == ["a", "b", "c"], "as the instances are called"
    explained = run_process("explain", str(newest), "--client", "b", "--format", "table")
    assert explained.returncode == 0, explained.stderr
    assert "(client.id b, " in explained.stdout


@pytest.mark.long
def test_rebalances_without_the_service_are_recorded_when_it_is_back(
    new_group: Callable[..., StreamsApplication], folder: Path
) -> None:
    with ServiceProcess(folder / "absent-service") as service:
        group = new_group("absent", optassign_url=service.url)
        group.start("a", "b")
        group.settle()
        service.kill()
        before = group.generation
        group.start("c")
        group.await_complete(after=before)
        group.settle()
        assert group.rebalances[-1].assignor == "fallback"
        service.start()
        await_condition(
            "one recording per rebalance",
            lambda: len(list(find_recordings(service.recordings, "absent"))) == len(group.rebalances),
            found=lambda: f"{list(find_recordings(service.recordings, 'absent'))} for {group.rebalances}",
            logs=lambda: [*group.logs(), service.log],
        )
        recordings = [read_recording(entry.path) for entry in sorted(find_recordings(service.recordings, "absent"))]
        assert [each.assignor for each in recordings] == [each.assignor for each in group.rebalances]
        for recording in recordings:
            assert recording.applied
            assert recording.reported is (recording.assignor == "fallback")
            assert (recording.not_applied is not None) is recording.reported
        assert "no connection" in recordings[-1].why
        _, faults = check_recordings(service.recordings)
        assert not faults, "\n".join(faults)
