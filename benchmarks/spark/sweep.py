"""A sweep: every benchmark instance under every assignor, one Spark task for each row.

Why no row is lost or doubled:

- Each task writes one Parquet file, whose name is made of the job and the number of the task. Spark's committer moves it into
  place when the task ends (algorithm version 2), so a killed driver loses only what was being solved. A task that runs again,
  because its executor died, writes the same name again.
- Whatever happens to a solve becomes a row: it runs in a process of its own (solving/solver_process.py).
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
from optassign.benchmarks.spark.executors import count_row, executor_columns, to_record_batch_or_failures
from optassign.benchmarks.spark.presets import Row
from optassign.benchmarks.spark.progress import ProgressListener, report_progress
from optassign.benchmarks.spark.runs import Run
from optassign.benchmarks.spark.solving.jobs import Job
from optassign.benchmarks.spark.solving.solver_process import shared_process
from optassign.benchmarks.spark.storage import Storage
from optassign.benchmarks.spark.tables.columns import RESULTS, spark_schema
from optassign.benchmarks.spark.tables.parquet import RESULT, append_rows, read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["list_rows", "row_key", "run_sweep"]

_IDENTITY = [column.name for column in RESULTS[: [column.name for column in RESULTS].index("status")]]


def run_sweep(spark: SparkSession, storage: Storage, run: Run, listener: ProgressListener | None = None) -> int:
    """Solve the rows of the run that its results do not have yet; returns how many those were."""
    solved = {row.key for row in read_rows(spark, storage, RESULT, run.id).select("key").collect()}
    rows = [row for row in list_rows(run) if row_key(*row) not in solved]
    if not rows:
        return 0
    finished = spark.sparkContext.accumulator(0)
    with report_progress(lambda: finished.value, len(rows), "rows", listener):
        append_rows(storage, _solve_rows(spark, run, rows, finished), RESULT, run.id)
    return len(rows)


def list_rows(run: Run) -> list[Row]:
    """All rows of the run, those that take longest first."""
    assert run.sweep is not None
    return run.sweep.rows(run.assignors)


def row_key(spec: Spec, assignor: str) -> str:
    """The key of a row, unique in its run."""
    return f"{spec.name}/{assignor}"


def _solve_rows(spark: SparkSession, run: Run, rows: list[Row], finished: Any) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    assert run.sweep is not None
    converge_up_to, limits, registered = run.sweep.converge_up_to, run.limits, run.registered
    shared_columns = run.shared_columns()
    schema = "id bigint, spec string, assignor string"
    grid = spark.createDataFrame([(i, json.dumps(asdict(spec)), name) for i, (spec, name) in enumerate(rows)], schema)
    # One partition for each row, in their order: a range has them, and joining it with something broadcast keeps them.
    placed = spark.range(0, len(rows), 1, len(rows)).join(F.broadcast(grid), "id")

    def solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for asked in batch.to_pylist():
                spec = _parse_spec(asked["spec"])
                job = Job(
                    spec,
                    (asked["assignor"],),
                    limits,
                    converge=spec.tasks <= converge_up_to,
                    registered=registered,
                    threads=executor_columns()["solver_threads"],
                )
                yield to_record_batch_or_failures(
                    [{**shared_columns, **executor_columns(), **_solve_row(job)}], RESULTS, _IDENTITY
                )
                count_row(finished)

    return placed.mapInArrow(solve, spark_schema(RESULTS))


def _solve_row(job: Job) -> dict[str, Any]:
    """Do a job of one generated snapshot and one assignor; the columns of its row, but for those that all rows share."""
    assert isinstance(job.source, Spec)
    (assignor,) = job.assignors
    outcome = shared_process().run(job)
    if outcome.unreadable is not None:
        found = {"status": outcome.unreadable.status, "error": outcome.unreadable.reason}
    else:
        found = outcome.rows[assignor]
    return {**_identity_columns(job.source, assignor), **found}


def _identity_columns(spec: Spec, assignor: str) -> dict[str, Any]:
    columns = asdict(spec)
    threads = columns.pop("threads")
    return {
        **columns,
        "warmup_slots": columns.pop("warmups"),
        "warmups": None,
        "threads": "-".join(map(str, threads)) if isinstance(threads, tuple) else str(threads),
        "key": row_key(spec, assignor),
        "instance": spec.name,
        "assignor": assignor,
    }


def _parse_spec(text: str) -> Spec:
    arguments = json.loads(text)
    if isinstance(arguments["threads"], list):
        arguments["threads"] = tuple(arguments["threads"])
    return Spec(**arguments)
