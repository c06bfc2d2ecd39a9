"""The plug-in's time of a rebalance in addition to the solving: reading Kafka's state, JSON, HTTP, the service, checks.

A group of 1,000 tasks on 100 clients at rest, lags of all clients as Kafka has them; the plug-in's own code
(`RoundTripBenchmark`) asks a real service over loopback, both warm. The solving is what the service's log says of it.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from optassign_benchmarks.kafka.jars import test_classpath
from optassign_benchmarks.kafka.service import Service
from optassign_benchmarks.tables import Table, make_table

TASKS, CLIENTS, BEFORE, CALLS = 1_000, 100, 100, 300
MOST_MS = 50.0
_MAIN = "io.github.optassign.RoundTripBenchmark"


def run() -> tuple[list[Table], list[str]]:
    """Medians and quantiles, in milliseconds; wrong: more than MOST_MS in addition to the solving."""
    java = shutil.which("java")
    if java is None:
        raise RuntimeError("found no java on PATH; allowed: a JDK 17 or later")
    with tempfile.TemporaryDirectory() as folder, Service(Path(folder), log_format="json") as service:
        sizes = [str(number) for number in (TASKS, CLIENTS, BEFORE, CALLS)]
        command = [java, "-cp", test_classpath(), _MAIN, service.url, *sizes]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.strip().splitlines()[-1])
        solving = service.solving_seconds()[-CALLS:]
    median = 1_000 * statistics.median(solving)
    beside = found["total_ms"]["p50"] - median
    rows: list[tuple[object, ...]] = [
        (name, *(f"{found[key][p]:.1f}" for p in ("p50", "p90", "p99")))
        for name, key in (
            ("reading Kafka's state and writing JSON", "write_ms"),
            ("HTTP, the service included", "http_ms"),
            ("reading and checking the answer", "read_ms"),
            ("the whole round trip", "total_ms"),
        )
    ]
    cuts = statistics.quantiles(solving, n=100)
    rows.append(("solving, as the service logs it", *(f"{1_000 * cuts[p - 1]:.1f}" for p in (50, 90, 99))))
    rows.append(("the round trip beside the solving", f"{beside:.1f}", "", ""))
    size = f"{TASKS:,} tasks × {CLIENTS} clients at rest, {CALLS} calls after {BEFORE}, body {found['body_bytes']:,} bytes"
    missed = [f"{beside:.1f} ms beside the solving, more than {MOST_MS:.0f}"] if beside > MOST_MS else []
    return [make_table(("ms", "median", "90%", "99%"), rows, size)], missed
