"""Tests of load in a real coordinator: actives are spread over instances and threads by the sizes of changelogs."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import OURS, Observed, start_broker
from optassign_benchmarks.kafka.timeline import replay

pytestmark = pytest.mark.long

_TASKS, _SIZES, _THREADS, _PROCESSES = 96, 6, 2, "abc"
_TOLERANCE = 1.05
_TRIGGER_PAUSE = 5.0


def test_threads_are_loaded_evenly_by_the_sizes_of_changelogs(tmp_path: Path) -> None:
    restoring = Restoring(20_000, 200_000, sizes=_SIZES)
    with start_broker(tmp_path / "broker", optassign_weights="changelog", group_streams_task_offset_interval_ms=1000) as broker:
        group = Observed(
            broker, tmp_path, "weighed", (SimulatedSubtopology("0", _TASKS, logged=True),), restoring, assignor=OURS, standbys=1
        )
        with group.members:
            group.start(_PROCESSES)
            last = time.monotonic()

            def measure() -> float:
                """Return the greatest load of a thread as a multiple of the mean; infinite until all tasks run."""
                loads: dict[str, int] = defaultdict(int)
                running = replay(group.members.events()).running()
                for task, (copy, *_) in running.items():
                    loads[copy.member] += 1 + int(task.partition("_")[2]) % _SIZES
                even = _TASKS / _SIZES * sum(range(1, _SIZES + 1)) / (_THREADS * len(_PROCESSES))
                return max(loads.values(), default=0) / even if len(running) == _TASKS else float("inf")

            def is_even() -> bool:
                nonlocal last
                if measure() <= _TOLERANCE:
                    return True
                if time.monotonic() - last > _TRIGGER_PAUSE:
                    group.trigger()
                    last = time.monotonic()
                return False

            await_condition("threads are loaded evenly", is_even, found=measure, logs=lambda: [broker.log])
            print(f"greatest load of a thread: {measure():.3f} x the even one")
            assert not group.members.deaths
