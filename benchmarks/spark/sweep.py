"""A sweep: every benchmark instance under every assignor, one Spark task for each row.

What keeps rows from being lost or doubled:

- Each task writes one Parquet file, whose name is made of the job and the number of the task. Spark's committer moves it into
  place when the task ends (algorithm version 2), so a killed driver loses only what was being solved. A task that runs again,
  because its executor died, writes the same name again.
- Whatever a solve does is a row: it runs in a process of its own (`solver_process.py`).
- Rows that are in the results are not solved again: `run` continues where it stopped.

Files are written by Spark alone, so any of Hadoop's file systems will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from optassign.benchmarks.grid import Spec
from optassign.benchmarks.spark.tables.columns import RESULTS, spark_schema
from optassign.benchmarks.spark.executors import Tell, circumstances_here, row_done, safe_table, telling
from optassign.benchmarks.spark.presets import Row
from optassign.benchmarks.spark.runs import Run
from optassign.benchmarks.spark.solving.jobs import Job
from optassign.benchmarks.spark.solving.solver_process import shared
from optassign.benchmarks.spark.storage import Storage
from optassign.benchmarks.spark.tables.parquet import RESULT, append, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["done", "key", "run_sweep", "solve_row", "todo"]

_IDENTITY = [column.name for column in RESULTS[: [column.name for column in RESULTS].index("status")]]


def run_sweep(spark: SparkSession, storage: Storage, run: Run, tell: Tell | None = None) -> int:
    """Solve the rows of the run that are not in its results yet; how many those were."""
    rows = todo(run, done(spark, storage, run))
    if not rows:
        return 0
    finished = spark.sparkContext.accumulator(0)
    with telling(lambda: finished.value, len(rows), "rows", tell):
        append(storage, _solved(spark, run, rows, finished), RESULT, run.id)
    return len(rows)


def todo(run: Run, keys: frozenset[str] = frozenset()) -> list[Row]:
    """The rows of the run, but for those of these keys; those that take longest first."""
    assert run.sweep is not None
    return [row for row in run.sweep.rows(run.assignors) if key(*row) not in keys]


def done(spark: SparkSession, storage: Storage, run: Run) -> frozenset[str]:
    """Keys of the rows that the results have."""
    return frozenset(row.key for row in read(spark, storage, RESULT, run.id).select("key").collect())


def key(spec: Spec, assignor: str) -> str:
    """Of a row, unique in its run."""
    return f"{spec.name}/{assignor}"


def _solved(spark: SparkSession, run: Run, rows: list[Row], finished: Any) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    assert run.sweep is not None
    converge_up_to, limits, registered = run.sweep.converge_up_to, run.limits, run.registered
    circumstances = run.circumstances()
    schema = "id bigint, spec string, assignor string"
    grid = spark.createDataFrame([(i, json.dumps(asdict(spec)), name) for i, (spec, name) in enumerate(rows)], schema)
    # One partition for each row, in their order: a range has them, and joining it with something broadcast keeps them.
    placed = spark.range(0, len(rows), 1, len(rows)).join(F.broadcast(grid), "id")

    def solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for asked in batch.to_pylist():
                spec = _spec(asked["spec"])
                job = Job(
                    spec,
                    (asked["assignor"],),
                    limits,
                    converge=spec.tasks <= converge_up_to,
                    registered=registered,
                    threads=circumstances_here()["solver_threads"],
                )
                yield safe_table([{**circumstances, **circumstances_here(), **solve_row(job)}], RESULTS, _IDENTITY)
                row_done(finished)

    return placed.mapInArrow(solve, spark_schema(RESULTS))


def solve_row(job: Job) -> dict[str, Any]:
    """Do a job of one generated snapshot and one assignor; the columns that tell of it."""
    assert isinstance(job.source, Spec)
    (assignor,) = job.assignors
    outcome = shared().run(job)
    if outcome.unreadable is not None:
        found = {"status": outcome.unreadable.status, "error": outcome.unreadable.reason}
    else:
        found = outcome.rows[assignor]
    return {**_identity(job.source, assignor), **found}


def _identity(spec: Spec, assignor: str) -> dict[str, Any]:
    columns = asdict(spec)
    threads = columns.pop("threads")
    return {
        **columns,
        "warmup_slots": columns.pop("warmups"),
        "warmups": None,
        "threads": "-".join(map(str, threads)) if isinstance(threads, tuple) else str(threads),
        "key": key(spec, assignor),
        "instance": spec.name,
        "assignor": assignor,
    }


def _spec(text: str) -> Spec:
    arguments = json.loads(text)
    if isinstance(arguments["threads"], list):
        arguments["threads"] = tuple(arguments["threads"])
    return Spec(**arguments)
