"""Tests of shadow mode: the group runs as without the plug-in, and the service records the applied and its own answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from command_line import run_process
from kafka_group import await_recordings

from optassign import assign
from optassign.assignors.baselines.kafka import KafkaHighAvailability
from optassign.formats.assignment import TaskAssignment
from optassign.recordings.recording import Recording
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

# Kafka's default may return tasks to their previous owners.
_DEFAULT = "kafka-high-availability"
_PROBING_MS = 60_000
"""The shortest interval that Kafka allows."""
_BURST = 20_000
"""Records per partition: their restoration takes longer than a second pass, and only a part of the probing interval."""


def list_copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    return [(c.process_id, c.active, c.standby, c.warmup, c.followup_rebalance_ms is None) for c in answer.clients]


@pytest.mark.long
def test_the_group_runs_as_without_the_plug_in(new_group: Callable[..., StreamsApplication], service: ServiceProcess) -> None:
    group = new_group("shadow", optassign_mode="shadow")
    group.start("a", "b")
    group.settle(returning=True)
    before = group.generation
    group.start("c")
    group.await_complete(after=before)
    group.settle(returning=True)
    in_shadow = group.await_complete()
    assert {each.assignor for each in group.rebalances} == {_DEFAULT}
    recordings = await_recordings(service, group)
    saved = 0
    for recording in recordings:
        assert (recording.mode, recording.assignor, recording.reported) == ("shadow", _DEFAULT, True)
        assert recording.not_applied is not None
        assert recording.not_applied.assignor == "cp-sat"
        # Kafka's class answers again in another JVM, from the snapshot only.
        again = assign(recording.snapshot, KafkaHighAvailability())
        who_asks = next((i for i, c in enumerate(again.clients) if c.followup_rebalance_ms is not None), None)
        assert (who_asks is None) is (recording.summary.followup_ms is None)
        assert [row[:4] for row in list_copies(again)] == [row[:4] for row in list_copies(recording.assignment)]
        saved += (recording.summary.restored or 0) - (recording.not_applied.summary.restored or 0)
    print("offsets that would have been saved:", saved)

    # Without any plug-in the same instances come to rest on the same placement.
    for name in ("a", "b", "c"):
        group.leave(name)
    group.configure(task_assignor_class=None, optassign_url=None, optassign_timeout_ms=None, optassign_mode=None)
    before = group.generation
    group.start("a", "b", "c")
    group.await_complete(after=before)
    group.settle(returning=True)
    assert group.await_complete() == in_shadow
    assert group.rebalances[-1].assignor == ""


@pytest.mark.long
def test_a_service_that_is_down_changes_nothing_and_gets_reports_later(
    new_group: Callable[..., StreamsApplication], folder: Path
) -> None:
    with ExitStack() as stack:
        service = stack.enter_context(ServiceProcess(folder / "late-service"))
        service.kill()
        group = new_group("shadow-alone", optassign_url=service.url, optassign_mode="shadow")
        group.start("a")
        group.await_complete()
        group.start("b")
        group.settle(returning=True)
        assert {each.assignor for each in group.rebalances} == {_DEFAULT}
        service.start()
        for recording in await_recordings(service, group):
            assert (recording.assignor, recording.mode) == (_DEFAULT, "shadow")
            assert recording.not_applied is not None
            assert recording.not_applied.after_the_fact


@pytest.mark.long
def test_a_key_chooses_the_shadow_assignor(new_group: Callable[..., StreamsApplication], service: ServiceProcess) -> None:
    group = new_group("shadow-fallback", optassign_mode="shadow", optassign_shadow_assignor="fallback")
    group.start("a", "b")
    group.settle(returning=True)
    assert {each.assignor for each in group.rebalances} == {"fallback"}
    assert {each.assignor for each in await_recordings(service, group)} == {"fallback"}


@pytest.mark.long
def test_a_simulation_of_recordings_takes_as_long_to_balance(
    new_group: Callable[..., StreamsApplication], service: ServiceProcess
) -> None:
    """A burst fills the stores before the instance joins, so balance waits for a probing rebalance."""
    group = new_group("replayed", optassign_mode="shadow", probing_rebalance_interval_ms=_PROBING_MS)
    group.start("a", "b")
    group.settle(returning=True)
    group.load.write(_BURST)
    written = group.load.written
    await_condition("the stores are filled", lambda: group.load.read >= written, timeout=300, logs=group.logs)
    group.start("c")
    recordings: list[Recording] = []

    def is_balanced() -> bool:
        recordings[:] = await_recordings(service, group)
        return len(recordings[-1].snapshot.clients) == 3 and recordings[-1].summary.balanced and group.at_rest

    await_condition("the three are balanced", is_balanced, timeout=900, logs=group.logs)
    begun = next(each for each in recordings if len(each.snapshot.clients) == 3)
    measured = measure_seconds(begun, recordings[-1])
    folder = str(service.recordings / group.application)
    assert measured > _PROBING_MS / 1000, "it has to wait for a probing rebalance"
    done = run_process("replay", folder, "--simulate", "--assignors", _DEFAULT, "--json")
    run = json.loads(done.stdout)["assignors"][_DEFAULT]
    simulated = run["balanced_at_s"] - measure_seconds(recordings[0], begun)
    print(f"balanced {measured:.0f} s after the third instance joined; simulated: {simulated:.0f} s")
    assert abs(simulated - measured) < _PROBING_MS / 1000 / 2


def measure_seconds(since: Recording, until: Recording) -> float:
    return (datetime.fromisoformat(until.recorded_at) - datetime.fromisoformat(since.recorded_at)).total_seconds()
