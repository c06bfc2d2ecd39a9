"""Seconds of one answer compared with Kafka's real high-availability class, on the same snapshots, in one run.

The calls alternate, so that other load of the machine meets all alike. For optassign it is the whole call from snapshot to
answer, validation and report included. Kafka's: the call inside a warmed JVM, objects made before.
"""

from __future__ import annotations

import statistics
import time

from optassign.assignor import create
from optassign.assignors.baselines.kafka import KafkaBrokerSticky, KafkaBrokerSticky44, KafkaHighAvailability, KafkaSticky
from optassign.generate import Shape
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

CASES: tuple[tuple[Shape, int, int, int, int, int], ...] = (
    ("scale-out", 1_000, 100, 20, 7, 5),
    ("steady", 1_000, 100, 20, 7, 5),
    ("scale-out", 6_000, 1_000, 100, 3, 1),
    ("scale-out", 10_000, 1_000, 100, 3, 1),
)
"""Shape, tasks, clients, warm-ups; timed calls, and calls of Kafka's classes before them that are not timed."""
_OURS = ("cp-sat", "greedy")
_LIMIT = 60.0


def run() -> tuple[list[Table], list[str]]:
    """A row for each size, shape and assignor; wrong: one of optassign's that takes longer than Kafka's default."""
    rows: list[tuple[object, ...]] = []
    missed: list[str] = []
    for shape, tasks, clients, warmups, calls, before in CASES:
        spec = Spec(shape, tasks, clients, 1, warmups, seed=1)
        seconds = _time_calls(spec, calls, before)
        medians = {name: statistics.median(taken) for name, taken in seconds.items()}
        kafka = medians["kafka-high-availability"]
        for name, taken in seconds.items():
            ratio = kafka / medians[name]
            if name in _OURS and ratio < 1:
                missed.append(f"{spec.name}: {name} takes {1 / ratio:.2f} times as long")
            spread = f"{min(taken):.3f}–{max(taken):.3f}"
            rows.append((f"{tasks:,} × {clients:,} × 1", shape, name, calls, medians[name], spread, f"{ratio:.1f}"))
    head = (
        "tasks × clients × standbys",
        "shape",
        "assignor",
        "calls",
        "median s",
        "least–most s",
        "times faster than kafka-high-availability",
    )
    return [make_table(head, rows)], missed


def _time_calls(spec: Spec, calls: int, before: int) -> dict[str, list[float]]:
    """Assignor -> seconds of each timed call; `before`: untimed calls of Kafka's classes that warm up the JVM."""
    state = spec.generate()
    ours = {name: create(name, time_limit=_LIMIT) for name in _OURS}
    kafka = {made.name: made for made in (KafkaHighAvailability(), KafkaSticky(), KafkaBrokerSticky(), KafkaBrokerSticky44())}
    for assignor in ours.values():
        assignor.assign(state)  # loads the solver, which is not part of a call
    for timed in kafka.values():
        timed.timed(state, warmup_calls=before, timed_calls=1)
    seconds: dict[str, list[float]] = {name: [] for name in (*ours, *kafka)}
    for _ in range(calls):
        for name, assignor in ours.items():
            start = time.perf_counter()
            assignor.assign(state)
            seconds[name].append(time.perf_counter() - start)
        for name, timed in kafka.items():
            seconds[name].extend(timed.timed(state, timed_calls=1))
    return seconds
