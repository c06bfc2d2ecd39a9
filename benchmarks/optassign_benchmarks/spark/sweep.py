"""Sweeps: every benchmark instance under every assignor, with rows of some seconds together in one Spark task.

No row is lost or doubled:

- Each task writes one Parquet file, named by the job and the number of the task. Spark's committer moves it into place when the
  task ends (algorithm version 2), and only then are its rows reported as done. So a killed driver loses no reported row.
  Unreported rows, at most half a minute of work of each core and the current row, are solved again. A task that runs again
  because its executor died writes the same name again.
- Any failure of a solve becomes a row, since it runs in a separate process (solver_process.py).
- Rows in the results are not solved again: `run_sweep` continues with the missing rows, including those for which a task has no
  time left.
- When all rows exist, their files are merged (tables.py).

Only Spark writes files, so any of Hadoop's file systems works.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from optassign_benchmarks.grid import HistorySpec, Spec
from optassign_benchmarks.spark.presets import HistorySweep, Row, make_batches
from optassign_benchmarks.spark.runs import ProgressListener, Run, report_progress
from optassign_benchmarks.spark.solver_process import SolverJob, count_rows, executor_columns, shared_process
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables import (
    HISTORY,
    RESULT,
    TABLES,
    append_rows,
    finish_rewriting,
    merge_small_files,
    read_rows,
    spark_schema,
    to_record_batch_or_failures,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["list_rows", "row_key", "run_sweep"]

_MOST_SECONDS = 30.0
"""Seconds after which a task begins no further row."""


def run_sweep(spark: SparkSession, storage: Storage, run: Run, listener: ProgressListener | None = None) -> int:
    """Solve the rows of the run that its results do not have yet, and return their number."""
    finish_rewriting(storage, run.id)
    rows = _missing_rows(spark, storage, run)
    total, slowness = len(rows), 1.0
    finished = spark.sparkContext.accumulator(0)
    with report_progress(lambda: finished.value, total, "rows", listener):
        while rows:
            append_rows(storage, _solve_rows(spark, run, rows, finished, slowness), _find_table(run), run.id)
            if finished.value >= total:
                break
            # The remaining rows took longer than estimated: next time, fewer rows in a task.
            rows, slowness = _missing_rows(spark, storage, run), 4 * slowness
    merge_small_files(spark, storage, run.id)
    return total


def _missing_rows(spark: SparkSession, storage: Storage, run: Run) -> list[Row]:
    solved = {row.key for row in read_rows(spark, storage, _find_table(run), run.id).select("key").collect()}
    return [row for row in list_rows(run) if row_key(*row) not in solved]


def list_rows(run: Run) -> Sequence[Row]:
    """Return all rows of the run, the longest first."""
    assert run.sweep is not None
    return run.sweep.rows(run.assignors)


def row_key(spec: Spec | HistorySpec, assignor: str) -> str:
    """Return the key of a row, unique in its run."""
    return f"{spec.name}/{assignor}"


def _find_table(run: Run) -> str:
    return HISTORY if isinstance(run.sweep, HistorySweep) else RESULT


def _solve_rows(spark: SparkSession, run: Run, rows: list[Row], finished: Any, slowness: float) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    assert run.sweep is not None
    converge_up_to = 0 if isinstance(run.sweep, HistorySweep) else run.sweep.converge_up_to
    limits, registered = run.limits, run.registered
    columns, _ = TABLES[_find_table(run)]
    names = [column.name for column in columns]
    identity = names[: names.index("status")]
    shared_columns = run.shared_columns()
    batches = make_batches(rows, converge_up_to, spark.sparkContext.defaultParallelism, slowness)
    texts = [json.dumps([(asdict(spec), name) for spec, name in batch]) for batch in batches]
    grid = spark.createDataFrame(list(enumerate(texts)), "id bigint, rows string")
    # One partition for each batch, in order: a range has them, and a join with a broadcast keeps them.
    placed = spark.range(0, len(batches), 1, len(batches)).join(F.broadcast(grid), "id").select("rows")

    def solve(given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        end = time.monotonic() + _MOST_SECONDS
        here = {**shared_columns, **executor_columns()}
        for batch in given:
            for text in batch.column(0).to_pylist():
                solved: list[dict[str, Any]] = []
                for spec, assignor in _parse_rows(text):
                    if solved and time.monotonic() > end:
                        break
                    parts = ("history",) if isinstance(spec, HistorySpec) else ("answer", "convergence")
                    if isinstance(spec, Spec) and spec.tasks > converge_up_to:
                        parts = ("answer",)
                    job = SolverJob(spec, (assignor,), limits, parts, registered=registered, threads=here["solver_threads"])
                    solved.append({**here, **_solve_row(job)})
                yield to_record_batch_or_failures(solved, columns, identity)
                count_rows(finished, len(solved))

    return placed.mapInArrow(solve, spark_schema(columns))


def _solve_row(job: SolverJob) -> dict[str, Any]:
    """Return the columns of a row, except the common ones, from a job of one generated snapshot or history and one assignor."""
    assert not isinstance(job.source, bytes)
    (assignor,) = job.assignors
    outcome = shared_process().run(job)
    if outcome.unreadable is not None:
        found = {"status": outcome.unreadable.status, "error": outcome.unreadable.reason}
    else:
        found = outcome.rows[assignor]
    return {**_identity_columns(job.source, assignor), **found}


def _identity_columns(spec: Spec | HistorySpec, assignor: str) -> dict[str, Any]:
    """Return the columns that identify a row: the spec's fields, the row's key, and the assignor with its options."""
    columns = asdict(spec)
    if isinstance(spec, HistorySpec):
        return {**columns, "key": row_key(spec, assignor), "assignor": assignor}
    threads = columns.pop("threads")
    for name in ("changes", "given", "snapshot"):
        del columns[name]
    if spec.given:
        columns |= {"shape": "given", "seed": None, "stateless": None, "unlogged": None, "tiny": None, "unknown": None}
    return {
        **columns,
        "warmup_slots": columns.pop("warmups"),
        "warmups": None,
        "threads": "-".join(map(str, threads)) if isinstance(threads, tuple) else str(threads),
        "key": row_key(spec, assignor),
        "instance": spec.name,
        "assignor": f"{assignor} [{spec.options}]" if spec.options else assignor,
        "options": spec.options or None,
    }


def _parse_rows(text: str) -> Iterator[Row]:
    for arguments, assignor in json.loads(text):
        if "suite" in arguments:
            yield HistorySpec(**arguments), assignor
            continue
        if isinstance(arguments["threads"], list):
            arguments["threads"] = tuple(arguments["threads"])
        yield Spec(**arguments), assignor
