"""How many recorded rebalances a core replays in a second, and whether memory grows with their number."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from optassign_benchmarks.spark.recordings.generator import generate_recordings
from optassign_benchmarks.spark.replay import run_replay
from optassign_benchmarks.spark.runs import Run
from optassign_benchmarks.spark.session import open_session
from optassign_benchmarks.spark.solving.jobs import Limits
from optassign_benchmarks.spark.solving.solver_process import SOLVER_MODULE
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.tables import Table, make_table

__all__ = ["run"]

_ASSIGNORS = ("cp-sat", "greedy")
_CORES = 2
_MIB = 1 << 20


def run(numbers: tuple[int, ...] = (1_000, 10_000), tasks: int = 100, clients: int = 10) -> tuple[list[Table], list[str]]:
    """The table; none of its figures counts as wrong."""
    rows: list[tuple[object, ...]] = []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            recordings = Path(folder, "recordings")
            size = sum(path.stat().st_size for path in generate_recordings(recordings, number, tasks, clients))
            asked = Run("replay", "replay", _ASSIGNORS, Limits(), recordings=str(recordings))
            with open_session(f"local[{_CORES}]") as spark, _watch_memory() as peak:
                start = time.perf_counter()
                done = run_replay(spark, Storage(spark, str(Path(folder, "out"))), asked)
                seconds = time.perf_counter() - start
            rate = done.recordings / seconds / _CORES
            memory = [peak[kind] // _MIB for kind in ("jvm", "workers", "solvers")]
            rows.append((f"{tasks} × {clients}", done.recordings, size / _MIB, seconds, rate, len(_ASSIGNORS) * rate, *memory))
    head = (
        "tasks × clients",
        "recordings",
        "MiB",
        f"local[{_CORES}] s",
        "recordings per second and core",
        "answers per second and core",
        "JVM, peak MiB",
        "Python workers, peak MiB",
        "solving processes, peak MiB",
    )
    return [make_table(head, rows)], []


@contextmanager
def _watch_memory() -> Iterator[dict[str, int]]:
    """Kind of process below this one -> the most resident memory that all of the kind had at once, in bytes (Linux)."""
    peak: dict[str, int] = {"jvm": 0, "workers": 0, "solvers": 0}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            for kind, size in _resident_bytes().items():
                peak[kind] = max(peak[kind], size)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _resident_bytes() -> dict[str, int]:
    """Kind of process below this one -> resident memory of all of the kind now."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            children[int((entry / "stat").read_text().rpartition(")")[2].split()[1])].append(int(entry.name))
    found: defaultdict[str, int] = defaultdict(int)
    below = list(children[os.getpid()])
    while below:
        process = below.pop()
        below.extend(children[process])
        with suppress(OSError):
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            kind = "solvers" if SOLVER_MODULE.encode() in command else "workers" if b"pyspark.daemon" in command else "jvm"
            found[kind] += pages * os.sysconf("SC_PAGE_SIZE")
    return found
