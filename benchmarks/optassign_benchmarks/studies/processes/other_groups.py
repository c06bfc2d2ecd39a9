"""How long commits of another group take while a streams group on the same coordinator thread is assigned again and again."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from optassign_benchmarks.broker.members import Restoring, Subtopology
from optassign_benchmarks.broker.scenario import OURS, STICKY, Change, Observed, play, start_broker
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.commits import commit_for
from optassign_benchmarks.tables import Table, make_table

_PROCESSES = "abcdefghij"
_LONGEST = 300.0
_TRIGGER_EVERY = 0.25
"""Seconds: far more often than any group is assigned."""
_HEAD = ("assignor", "the streams group", "assignments", "commits", "ms of a commit: median", "99%", "99.9%", "most")


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Measure; returns the table, and what was not as it should be."""
    tasks = (Subtopology("0", 100 if quick else 300, logged=True), Subtopology("1", 50 if quick else 150, logged=False))
    seconds = 10.0 if quick else 40.0
    rows: list[tuple[object, ...]] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # One partition: all groups have the same coordinator, and the same of its threads.
        with start_broker(folder / "broker", offsets_topic_num_partitions=1) as broker:
            broker.create_topics(["other"], 1)
            for assignor in (STICKY, OURS):
                group = Observed(
                    broker, folder, f"streams-{assignor}", tasks, Restoring(10_000, 50_000), assignor=assignor, standbys=1
                )
                with group.members:
                    settled = play(group, Change("settles", _PROCESSES), _LONGEST)
                    for triggered in (False, True) * 2:
                        before = group.triggers
                        latencies = _commit(broker, group if triggered else None, seconds)
                        what = "assigned again and again" if triggered else "at rest"
                        rows.append((f"`{assignor}`", what, group.triggers - before, len(latencies), *_to_cells(latencies)))
                        print(rows[-1], file=sys.stderr, flush=True)
                    wrong += [f"{assignor}: {death}" for death in group.members.deaths]
                    if settled.settled_s is None:
                        wrong.append(f"{assignor}: not settled")
    return [make_table(_HEAD, rows)], wrong


def _commit(broker: Broker, triggered: Observed | None, seconds: float) -> list[float]:
    """Milliseconds of each commit."""
    last_trigger = time.monotonic()

    def trigger_if_due() -> None:
        nonlocal last_trigger
        if triggered is not None and time.monotonic() - last_trigger > _TRIGGER_EVERY:
            triggered.trigger()
            last_trigger = time.monotonic()

    return commit_for(seconds, broker.address, "other", between=trigger_if_due)


def _to_cells(latencies: list[float]) -> tuple[str, ...]:
    ordered = sorted(latencies)
    return tuple(f"{ordered[min(len(ordered) - 1, int(len(ordered) * share))]:.1f}" for share in (0.5, 0.99, 0.999, 1.0))
