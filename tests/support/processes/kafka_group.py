"""Conditions that a real application must meet after every rebalance."""

from __future__ import annotations

from optassign.recordings.files import find_recordings
from optassign.recordings.recording import Recording, read_recording
from optassign_benchmarks.kafka.group import LAG, StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

RATE = 300.0
"""Records per second into the three subtopologies of an application together."""

PATIENT: dict[str, object] = {
    "main_consumer_session_timeout_ms": 10_000,
    "producer_transaction_timeout_ms": 12_000,
}
"""Settings for a group on a busy machine, so that no slow member is removed or has its transaction aborted."""


def assert_sound(group: StreamsApplication, *, most_probes: int, assignor: str | None = "cp-sat") -> None:
    """Check that the application settles, is balanced, and has processed every record once; then let records flow again.

    Settling takes at most `most_probes` follow-ups. In that time every task must be active exactly once, all processes must
    run, and no task with a store may return to an instance that had given it away. `assignor`: the assignor that must have
    answered last; None for any.
    """
    group.settle(most_probes)
    group.await_complete().assert_balanced(standbys=1)
    assert assignor is None or group.rebalances[-1].assignor == assignor
    group.load.await_accounted()
    group.load.run(RATE)


def assert_nothing_cold_ran(group: StreamsApplication, name: str) -> None:
    """Check that an instance that joined without state warmed up its tasks before running them.

    A task restores at most acceptable.recovery.lag between its assignment and its start.
    """
    stateful = {task for task, owners in group.owners().items() if task.startswith("0_") and name in owners}
    restored = group.instances[name].status().restored_active
    assert restored <= LAG * len(stateful), f"{name} runs {sorted(stateful)} after restoring {restored} records"


def await_recordings(service: ServiceProcess, group: StreamsApplication) -> list[Recording]:
    """Return the recordings of a group, after waiting for one of each rebalance."""

    def read() -> list[Recording]:
        return [read_recording(entry.path) for entry in sorted(find_recordings(service.recordings, group.application))]

    await_condition(
        "one recording of each rebalance",
        lambda: len(read()) == len(group.rebalances),
        found=lambda: f"{[(each.recorded_at, each.assignor, each.why) for each in read()]} for {group.rebalances}",
        logs=lambda: [*group.logs(), service.log],
    )
    return read()
