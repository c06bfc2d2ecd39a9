"""The replay of recorded rebalances: every assignor's results on all of them, compared with the recorded answers.

The result is three tables of Parquet: `replays` (each recording under each assignor, and the recorded answer), `errors` (files
that are not recordings, with the reason) and, on request, `convergences`: the first recording of each episode, played until the
group is stable. An *episode* is a rebalance without a preceding request for a follow-up, and the follow-ups after it.

Spark lists and reads the files, from any of Hadoop's file systems, in partitions sized by bytes. A partition's recordings are
processed one after another, and only measures are kept, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from optassign_benchmarks.spark.runs import ProgressListener, Run, report_progress
from optassign_benchmarks.spark.solver_process import SolverJob, count_rows, executor_columns, shared_process
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables import (
    CONVERGED,
    FAILED,
    REPLAYED,
    REPLAYS,
    TABLES,
    TableColumn,
    append_rows,
    append_rows_by_table,
    finish_rewriting,
    merge_small_files,
    read_episodes,
    read_rows,
    spark_schema,
    to_record_batch_or_failures,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Replayed", "count_recordings", "run_replay"]

_SETTINGS = {
    # A recording of 100 tasks on 10 clients has some 5 KB and takes a tenth of a second: 4 MiB with 16 KiB for each file are
    # some 200 of them, a task of less than a minute. One large file is a task of its own.
    "spark.sql.files.maxPartitionBytes": str(4 << 20),
    "spark.sql.files.openCostInBytes": str(16 << 10),
    # Few records in a batch, since a batch is in memory twice.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
}
_FORGIVING = {"ignoreCorruptFiles": "true", "ignoreMissingFiles": "true"}
"""Options for recordings, not for the run's own tables: Spark skips unreadable files, and `_note_unread_files` reports them."""
_GLOB = "*.{json.gz,json}"
_TABLE = TableColumn("table", pa.string(), "", "which it goes to")
_IDENTITY = ["table", *(column.name for column in REPLAYS[: [column.name for column in REPLAYS].index("status")])]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The amount of work that a call of `run_replay` has done."""

    recordings: int
    """Files that were answered, or found not to be recordings."""
    convergences: int
    """Episodes played until the group is stable."""


def run_replay(spark: SparkSession, storage: Storage, run: Run, listener: ProgressListener | None = None) -> Replayed:
    """Replay the recordings that the run's tables do not have yet, and return the amount of work done.

    The listener gets the number of finished recordings, first of the replay, then of the convergences.
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    finish_rewriting(storage, run.id)
    files = _read_files(spark, storage, run)
    seen = _known_paths(spark, storage, REPLAYED, run).union(_known_paths(spark, storage, FAILED, run))
    known = not seen.isEmpty()
    new = files.join(F.broadcast(seen), "path", "left_anti") if known else files
    recordings = _answer_files(spark, storage, run, new, REPLAYED, listener)
    _note_unread_files(spark, storage, run, files)
    convergences = 0
    if run.converge:
        begins = read_episodes(spark, storage, run.id).where("begins").select("path")
        begins = begins.join(_known_paths(spark, storage, CONVERGED, run), "path", "left_anti")
        convergences = _answer_files(spark, storage, run, files.join(F.broadcast(begins), "path"), CONVERGED, listener)
    merge_small_files(spark, storage, run.id)
    return Replayed(recordings, convergences)


def count_recordings(spark: SparkSession, storage: Storage) -> int:
    """Return the number of files in the folder that are named like recordings."""
    return _list_files(spark, storage).select("path").count()


def _list_files(spark: SparkSession, recordings: Storage) -> DataFrame:
    options = {"recursiveFileLookup": "true", "pathGlobFilter": _GLOB, **_FORGIVING}
    reader = spark.read.format("binaryFile").options(**options)
    # By default Spark skips folders whose names begin with an underscore, as names of applications may.
    named = [recordings.under(name) for name in recordings.names() if name.startswith("_")]
    return reader.load([recordings.folder, *named])


def _read_files(spark: SparkSession, storage: Storage, run: Run) -> DataFrame:
    """Return all recordings: `path` below their folder, and `content`."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    recordings = Storage(spark, run.recordings)
    path = F.substring("path", len(recordings.folder.rstrip("/")) + 2, 1 << 30)
    return _list_files(spark, recordings).select(path.alias("path"), "content")


def _known_paths(spark: SparkSession, storage: Storage, name: str, run: Run) -> DataFrame:
    return read_rows(spark, storage, name, run.id).select("path").distinct()


def _answer_files(
    spark: SparkSession, storage: Storage, run: Run, files: DataFrame, name: str, listener: ProgressListener | None
) -> int:
    """Answer the recordings in `files`, add their rows to the table `name`, and return the number of recordings."""
    finished = spark.sparkContext.accumulator(0)
    columns, _ = TABLES[name]
    schema = spark_schema(columns).add("table", "string")
    rows = files.select("path", "content").mapInArrow(_make_answerer(run, name, finished), schema)
    what = "recordings" if name == REPLAYED else "episodes"
    with report_progress(lambda: finished.value, files.select("path").count(), what, listener):
        append_rows_by_table(storage, rows, run.id)
    return int(finished.value)


def _note_unread_files(spark: SparkSession, storage: Storage, run: Run, listed: DataFrame) -> None:
    """Add rows of `errors` for `listed` files that are in no table, since Spark skips unreadable files.

    Files that came or went while they were answered are for the next replay.
    """
    seen = _known_paths(spark, storage, REPLAYED, run).union(_known_paths(spark, storage, FAILED, run))
    there = _read_files(spark, storage, run).select("path")
    missed = listed.select("path").join(there, "path", "left_semi").join(seen, "path", "left_anti").collect()
    if missed:
        rows = [{"path": row.path, "status": "failed", "error": "the file cannot be read"} for row in missed]
        append_rows(storage, spark.createDataFrame(rows, spark_schema(TABLES[FAILED][0])), FAILED, run.id)


def _make_answerer(run: Run, name: str, finished: Any) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls on an executor with batches of recordings, to get the rows of the table `name`."""
    columns = (*TABLES[name][0], _TABLE)
    converge = name == CONVERGED
    asked = SolverJob(
        b"",
        run.assignors,
        run.limits,
        parts=("convergence",) if converge else ("answer",),
        recorded=not converge,
        scale=run.scale,
        registered=run.registered,
    )
    shared_columns = run.shared_columns()

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = {**shared_columns, **executor_columns()}
        for batch in batches:
            for recording in batch.to_pylist():
                job = replace(asked, source=recording["content"], threads=here["solver_threads"])
                rows = _answer_recording(job, {**here, "path": recording["path"], "table": name})
                yield to_record_batch_or_failures(rows, columns, _IDENTITY)
                count_rows(finished)

    return answer


def _answer_recording(job: SolverJob, known: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one recording, one for each assignor. `known`: the columns that are the same in all rows."""
    outcome = shared_process().run(job)
    if outcome.unreadable is not None:
        return [{**known, "table": FAILED, "status": outcome.unreadable.status, "error": outcome.unreadable.reason}]
    return [{**known, **outcome.about, "assignor": name, **row} for name, row in outcome.rows.items()]
