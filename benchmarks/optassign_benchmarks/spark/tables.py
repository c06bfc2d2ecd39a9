"""The tables of runs: columns with unit and meaning, and Parquet files of rows.

`python -m optassign_benchmarks.spark.tables` renews docs/reference/generated/spark-tables.md.

A table's files are rewritten to merge small files, or to remove failed rows that are solved again. Readers never get a row
twice, and a crash at any time loses no row:

1. The rewritten rows go to a folder whose name begins with an underscore, which readers do not open.
2. A journal, written atomically, names the replaced files. From then on the rewriting counts as done.
3. The old files are deleted, the new ones moved into place, and the journal is deleted.

`finish_rewriting` repeats step 3 after an interruption. Every command calls it before it reads a table. Without a
journal it changes nothing, so it does not disturb a driver at step 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa

from optassign.judging.convergences import Convergence
from optassign.judging.metrics import Measures
from optassign.measuring.balance import SHARE_NAMES
from optassign.measuring.described import list_measures
from optassign.simulation.history_grades import Grades
from optassign_benchmarks.results import replace_table, to_markdown
from optassign_benchmarks.runner import CONVERGED, Answered
from optassign_benchmarks.spark.recordings import RECORDED
from optassign_benchmarks.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "CONVERGED",
    "CONVERGENCES",
    "DOCUMENT",
    "DOCUMENTED",
    "EPISODES",
    "ERRORS",
    "FAILED",
    "HISTORIES",
    "HISTORY",
    "REPLAYED",
    "REPLAYS",
    "RESULT",
    "RESULTS",
    "STATUSES",
    "TABLES",
    "TableColumn",
    "append_rows",
    "append_rows_by_table",
    "arrow_schema",
    "column_table",
    "finish_rewriting",
    "forget_failures",
    "list_parts",
    "merge_small_files",
    "read_episodes",
    "read_parts",
    "read_rows",
    "spark_schema",
    "to_record_batch",
    "to_record_batch_or_failures",
]


STATUSES = ("ok", "failed", "timeout", "out-of-memory")
TEXT, WHOLE, REAL, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_ARROW: Mapping[Any, pa.DataType] = {str: TEXT, int: WHOLE, float: REAL, bool: TRUTH}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column; `unit` is empty if the value is not a quantity."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str


def _list_columns(record: type[Any], prefix: str = "") -> Iterator[TableColumn]:
    """Yield the columns that `to_columns` makes of a record of this class."""
    for each in list_measures(record):
        if "{}" in each.meaning:
            kind = _to_arrow(get_args(each.type)[1])
            yield from (
                TableColumn(f"{each.name}_{share}", kind, each.unit, each.meaning.format(share)) for share in SHARE_NAMES
            )
        else:
            yield TableColumn(prefix + each.name, _to_arrow(each.type), each.unit, each.meaning)


def _to_arrow(kind: Any) -> pa.DataType:
    """Return Arrow's type of a measure; any column may be null."""
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return _to_arrow(inner[0])
    if is_typeddict(kind):
        return pa.struct([(name, _to_arrow(hint)) for name, hint in get_type_hints(kind).items()])
    if get_origin(kind) is list:
        return pa.list_(_to_arrow(inner[0]))
    return _ARROW[kind] if kind in _ARROW else pa.map_(TEXT, WHOLE)


OUTCOME = (
    TableColumn("status", TEXT, "", "`ok`, `failed`, `timeout` or `out-of-memory`"),
    TableColumn("error", TEXT, "", "what went wrong, one line; null where `status` is `ok`"),
)
_MEASURES = (*_list_columns(Measures), *_list_columns(Answered))
_CONVERGENCE = tuple(_list_columns(Convergence, CONVERGED))
CIRCUMSTANCES = (
    TableColumn("solver", TEXT, "", "name and version of the solver"),
    TableColumn("optassign", TEXT, "", "version of optassign"),
    TableColumn("time_limit", REAL, "s", "of solving, which the assignor keeps itself"),
    TableColumn("answer_limit", REAL, "s", "after which an answer is given up: `timeout`"),
    TableColumn("convergence_limit", REAL, "s", "the same of a whole convergence"),
    TableColumn("memory_limit", WHOLE, "MiB", "address space of the process that solves; 0: unlimited"),
    TableColumn("solver_threads", WHOLE, "threads", "`spark.task.cpus`: what numerical libraries may use; CP-SAT uses one"),
    TableColumn("host", TEXT, "", "where it was solved"),
    TableColumn("commit", TEXT, "", "of the driver's sources; `…-dirty-…`: with changes; `version …`: no checkout"),
    TableColumn("python", TEXT, "", "version of Python there"),
    TableColumn("spark", TEXT, "", "version of PySpark there"),
    TableColumn("processor", TEXT, "", "model and number of cores there"),
    TableColumn("started", TEXT, "", "when the row's snapshot was begun, ISO 8601, UTC"),
    TableColumn("peak_memory", REAL, "MiB", "resident, of the solving process at this row; null: in a JVM, or not Linux"),
)

RESULTS = (
    TableColumn("run", TEXT, "", "id of the run; the folder of the partition"),
    TableColumn("key", TEXT, "", "`instance`/`assignor`: unique in a run"),
    TableColumn("instance", TEXT, "", "name of the benchmark instance: shape, size and what else is not a default"),
    TableColumn(
        "shape",
        TEXT,
        "",
        "what has happened: cold, steady, scale-out, scale-in, restart, partial; `given`: not generated",
    ),
    TableColumn("tasks", WHOLE, "tasks", ""),
    TableColumn("clients", WHOLE, "clients", ""),
    TableColumn("standbys", WHOLE, "copies", "num_standby_replicas"),
    TableColumn("warmup_slots", WHOLE, "copies", "max_warmup_replicas"),
    TableColumn("threads", TEXT, "threads", "per client, as `N` or `lowest-highest`"),
    TableColumn("seed", WHOLE, "", "of the generator"),
    TableColumn("stateless", REAL, "share", "of the tasks"),
    TableColumn("unlogged", REAL, "share", "of the tasks, stateful without a changelog"),
    TableColumn("subtopologies", WHOLE, "", "how many; null: by the number of tasks"),
    TableColumn("tiny", REAL, "share", "of the logged tasks, whole changelog within the acceptable lag"),
    TableColumn("unknown", REAL, "share", "of the lags, not known"),
    TableColumn("memory", TRUTH, "", "the snapshot remembers the last answer"),
    TableColumn("dense", TRUTH, "", "every client reports every lag"),
    TableColumn("assignor", TEXT, "", "its name; with options of the grid, these in brackets"),
    TableColumn("options", TEXT, "", "name of the grid's options; null: those of the snapshot"),
    *OUTCOME,
    *_MEASURES,
    *_CONVERGENCE,
    *CIRCUMSTANCES,
)
"""`results`: one row for each benchmark instance and assignor."""

_RECORDED = (
    TableColumn("run", TEXT, "", "id of the replay; the folder of the partition"),
    TableColumn("path", TEXT, "", "of the recording, below the folder of all"),
    TableColumn("application", TEXT, "", "application.id; empty: unknown"),
    TableColumn("day", TEXT, "", "YYYY-MM-DD, UTC"),
    TableColumn("recorded_at", TEXT, "", "when the answer was ready, ISO 8601, UTC"),
    TableColumn("mode", TEXT, "", "`active`, or `shadow`: the group ran as without optassign"),
    TableColumn("recorded_assignor", TEXT, "", "who answered then"),
    TableColumn("tasks", WHOLE, "tasks", ""),
    TableColumn("clients", WHOLE, "clients", ""),
    TableColumn("scale", WHOLE, "", "how many times the recorded size"),
    TableColumn("assignor", TEXT, "", "`recorded`: what was answered then; else who was asked now"),
)
REPLAYS = (*_RECORDED, *OUTCOME, *_MEASURES, *CIRCUMSTANCES)
"""`replays`: one row for each recording and assignor, and one for the recorded answer."""
CONVERGENCES = (*_RECORDED, *OUTCOME, *_CONVERGENCE, *CIRCUMSTANCES)
"""`convergences`: one row for each first recording of an episode and assignor, played until the group is stable."""
ERRORS = REPLAYS
"""`errors`: one row for each file that is not a readable recording; few columns other than `path` and `error` are set."""


HISTORIES = (
    TableColumn("run", TEXT, "", "id of the run; the folder of the partition"),
    TableColumn("key", TEXT, "", "`suite-seed`/`assignor`: unique in a run"),
    TableColumn("suite", TEXT, "", "small or large"),
    TableColumn("seed", WHOLE, "", "of the history: `optassign simulate --suite … --seed … --count 1` plays it again"),
    TableColumn("assignor", TEXT, "", "its name"),
    *OUTCOME,
    TableColumn("history", TEXT, "", "what it was, in words"),
    *_list_columns(Grades),
    TableColumn("seconds", REAL, "s", "of playing it, tag-blind too where there are tags"),
    *CIRCUMSTANCES,
)
"""`histories`: one row for each history and assignor."""


DOCUMENT = Path("docs/reference/generated/spark-tables.md")
DOCUMENTED: dict[str, Sequence[TableColumn]] = {
    "results-columns": RESULTS,
    "histories-columns": [column for column in HISTORIES if column not in CIRCUMSTANCES],
    "replays-columns": [column for column in REPLAYS if column.name not in {c.name for c in RESULTS} or column.name == "run"],
}
"""Mark in the document → its columns: those of `results`, and the additional ones of the other tables."""
_SQL = {TEXT: "string", WHOLE: "bigint", REAL: "double", TRUTH: "boolean"}


def arrow_schema(columns: Sequence[TableColumn]) -> pa.Schema:
    """Return the schema of the rows that executors write: all columns except `run`, which is the name of a folder."""
    return pa.schema([(column.name, column.type) for column in columns if column.name != "run"])


def spark_schema(columns: Sequence[TableColumn]) -> StructType:
    """Return `arrow_schema` in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(arrow_schema(columns))


def to_record_batch(rows: Sequence[dict[str, Any]], columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """Return rows as Arrow, with null for missing columns. pa.ArrowInvalid or OverflowError for a value that its column cannot
    hold."""
    listed = [{name: sorted(v.items()) if isinstance(v, Mapping) else v for name, v in row.items()} for row in rows]
    return pa.RecordBatch.from_pylist(listed, schema=arrow_schema(columns))


def to_record_batch_or_failures(
    rows: Sequence[dict[str, Any]], columns: Sequence[TableColumn], identity: Sequence[str]
) -> pa.RecordBatch:
    """Return rows as Arrow for any values.

    A row with a value that its column cannot hold becomes a failed row with only the columns named by `identity`.
    """
    try:
        return to_record_batch(rows, columns)
    except (pa.ArrowInvalid, OverflowError) as error:
        if len(rows) != 1:
            return pa.concat_batches([to_record_batch_or_failures([row], columns, identity) for row in rows])
        (row,) = rows
        reason = f"a value does not fit its column: {' '.join(str(error).split())}"
        kept = {name: row[name] for name in identity if name in row}
        return to_record_batch([{**kept, "status": "failed", "error": reason}], columns)


def column_table(columns: Sequence[TableColumn]) -> str:
    """Return the columns as a Markdown table, with Spark's names of types."""
    return to_markdown(
        ("column", "type", "unit", "what it is"),
        [(f"`{c.name}`", _sql_type(c.type), c.unit.replace("|", "\\|"), c.meaning or "of the snapshot") for c in columns],
    )


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"map<{_sql_type(kind.key_type)}, {_sql_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{_sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_sql_type(field.type)}' for field in kind)}>"
    return _SQL[kind]


RESULT, HISTORY, REPLAYED, CONVERGED, FAILED = "results", "histories", "replays", "convergences", "errors"
TABLES: dict[str, tuple[tuple[TableColumn, ...], list[str]]] = {
    RESULT: (RESULTS, ["key"]),
    HISTORY: (HISTORIES, ["key"]),
    REPLAYED: (REPLAYS, ["path", "assignor"]),
    CONVERGED: (CONVERGENCES, ["path", "assignor"]),
    FAILED: (ERRORS, ["path"]),
}
"""Name → columns, and the names of the columns that identify a row within a run."""


def read_rows(spark: SparkSession, storage: Storage, name: str, run: str) -> DataFrame:
    """Return the rows of a run in one of the tables; an empty frame without rows.

    Each row appears once, even if two drivers have worked at the same run.
    """
    columns, key = TABLES[name]
    parts = list(list_parts(storage, name, run))
    if not parts:
        return spark.createDataFrame([], spark_schema(columns).add("run", "string"))
    # A single file is that of one task, or of a merge: it has no row twice.
    rows = read_parts(spark, storage, name, run)
    return rows if len(parts) == 1 else rows.dropDuplicates(key)


def list_parts(storage: Storage, name: str, run: str) -> dict[str, int]:
    """Return name → bytes of the Parquet files of a run in one of the tables."""
    found = storage.sizes(f"table={name}", f"run={run}")
    return {part: size for part, size in found.items() if part.endswith(".parquet") and part[0] not in "._"}


def read_parts(spark: SparkSession, storage: Storage, name: str, run: str, parts: Sequence[str] = ()) -> DataFrame:
    """Return the rows in some files of a run, by default in all, with the column `run`. Duplicates are kept."""
    columns, _ = TABLES[name]
    schema = spark_schema(columns).add("run", "string")
    base, folder = storage.under(f"table={name}"), (f"table={name}", f"run={run}")
    # Spark reads a folder in one task, but thousands of paths in as many tasks.
    paths = [storage.under(*folder, part) for part in parts] or [storage.under(*folder)]
    return spark.read.option("basePath", base).schema(schema).parquet(*paths)


def append_rows(storage: Storage, rows: DataFrame, name: str, run: str) -> None:
    """Add rows to one of the tables."""
    rows.write.mode("append").parquet(storage.under(f"table={name}", f"run={run}"))


def append_rows_by_table(storage: Storage, rows: DataFrame, run: str) -> None:
    """Add each row to the table that its column `table` names; slower than `append_rows`, since Spark sorts rows by table."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    rows.withColumn("run", F.lit(run)).write.mode("append").partitionBy("table", "run").parquet(storage.folder)


_SMALL = 32 << 20
"""The size in bytes from which a file is not merged. A file of 100,000 rows has some ten MiB."""
_LARGE = 128 << 20
"""The most bytes of old files that go into each new file."""
_DRAFT, _JOURNAL = "_rewritten", "_rewriting.json"


def merge_small_files(spark: SparkSession, storage: Storage, run: str) -> None:
    """Merge all small files of a run in each of its tables, sorted by key, into one file for each 128 MiB of them."""
    for name in TABLES:
        storage.delete(f"table={name}", f"run={run}", _DRAFT)  # left by a killed driver
        parts = list_parts(storage, name, run)
        small = {part: size for part, size in parts.items() if size < _SMALL}
        if len(small) > 1:
            chosen = list(small) if len(small) < len(parts) else ()
            _replace(storage, name, run, small, read_parts(spark, storage, name, run, chosen))


def forget_failures(spark: SparkSession, storage: Storage, name: str, run: str) -> int:
    """Remove the rows that are not ok, and in a replay all rows of their recordings; return the number of rows not ok."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    _, key = TABLES[name]
    unit = key[0]
    parts = list_parts(storage, name, run)
    if not parts:
        return 0
    rows = read_parts(spark, storage, name, run)
    failures = rows.where("status <> 'ok'").select(key).distinct()
    number = failures.count()
    if number:
        _replace(storage, name, run, parts, rows.join(F.broadcast(failures.select(unit).distinct()), unit, "left_anti"))
    return number


def finish_rewriting(storage: Storage, run: str) -> None:
    """Finish each interrupted rewriting of the run's tables that counts as done."""
    for name in TABLES:
        folder = (f"table={name}", f"run={run}")
        if storage.exists(*folder, _JOURNAL):
            _put_in_place(storage, folder)


def _replace(storage: Storage, name: str, run: str, old: Mapping[str, int], rows: DataFrame) -> None:
    """Replace old files by files with `rows`. `old`: name → bytes."""
    folder = (f"table={name}", f"run={run}")
    columns, key = TABLES[name]
    kept = [column.name for column in columns if column.name != "run"]
    # Equal keys come together before they are compared, so that rows are shuffled once.
    together = rows.repartition(-(-sum(old.values()) // _LARGE), *key).dropDuplicates(key)
    together.sortWithinPartitions(key).select(kept).write.mode("overwrite").parquet(storage.under(*folder, _DRAFT))
    storage.write(json.dumps({"replaced": sorted(old)}), *folder, _JOURNAL)
    _put_in_place(storage, folder)


def _put_in_place(storage: Storage, folder: tuple[str, str]) -> None:
    for part in json.loads(storage.read(*folder, _JOURNAL))["replaced"]:
        storage.delete(*folder, part)
    for part in storage.names(*folder, _DRAFT):
        if part.endswith(".parquet"):
            storage.move((*folder, _DRAFT, part), (*folder, part))
    storage.delete(*folder, _DRAFT)
    storage.delete(*folder, _JOURNAL)


def read_episodes(spark: SparkSession, storage: Storage, run: str) -> DataFrame:
    """Return all recordings with `begins` (whether the previous recording asked for no follow-up) and `episode` (its number
    within the application)."""
    return spark.sql(EPISODES, replays=read_rows(spark, storage, REPLAYED, run))


EPISODES = f"""
SELECT *, sum(CAST(begins AS INT)) OVER (PARTITION BY application ORDER BY recorded_at, path) AS episode
FROM (
  SELECT application, day, path, recorded_at, followup,
    NOT coalesce(lag(followup) OVER (PARTITION BY application ORDER BY recorded_at, path), false) AS begins
  FROM {{replays}} WHERE assignor = '{RECORDED}'
)"""


if __name__ == "__main__":
    for name, columns in DOCUMENTED.items():
        replace_table(name, column_table(columns), DOCUMENT)
