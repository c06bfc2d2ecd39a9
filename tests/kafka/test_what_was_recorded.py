"""The service's recordings of real rebalances: every answer keeps the rules, and replaying it gives the same answer."""

from __future__ import annotations

from collections.abc import Callable

from command_line import run_process
from kafka_group import assert_sound

from optassign.benchmarks.kafka.group import Group
from optassign.benchmarks.kafka.recordings import check_recordings
from optassign.benchmarks.kafka.service import Service
from optassign.benchmarks.kafka.waiting import await_condition
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording


def test_recordings_are_valid_and_replay(new_group: Callable[..., Group], service: Service) -> None:
    group = new_group("recorded")
    group.start("a")
    group.await_complete()
    group.start("b")
    assert_sound(group, most_probes=3)
    await_condition(
        "one recording per rebalance",
        lambda: len(list(find_recordings(service.recordings, "recorded"))) == len(group.rebalances),
        found=lambda: f"{list(find_recordings(service.recordings, 'recorded'))} for {group.rebalances}",
    )
    number, faults = check_recordings(service.recordings)  # of the other tests too
    assert number >= len(group.rebalances)
    assert not faults, "\n".join(faults)
    newest = max(find_recordings(service.recordings, "recorded")).path
    recorded = read_recording(newest)
    assert sorted(client.client_id or "" for client in recorded.snapshot.clients) == ["a", "b"], "as the instances are called"
    explained = run_process("explain", str(newest), "--client", "b", "--format", "table")
    assert explained.returncode == 0, explained.stderr
    assert "(client.id b, " in explained.stdout
