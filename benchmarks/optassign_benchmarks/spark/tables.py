"""The tables that runs leave behind, as Parquet files: adding rows, reading each row once, rewriting files.

Rewriting the files of a table: small ones become one, or rows that failed are left out, to be solved again.

A reader never gets a row twice, and no crash loses one, whenever it comes:

1. The rewritten rows go to a folder whose name begins with an underscore, so no reader opens it.
2. A journal, written at once, names the files that they replace. From here on the rewriting counts as done.
3. The old files are deleted, the new ones moved into their place, the journal is deleted.

`finish_rewriting` does step 3 anew where it was interrupted. Every command calls it before it reads a table; it takes nothing
away from a driver that is rewriting the same table just then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from optassign_benchmarks.spark.columns import CONVERGENCES, ERRORS, HISTORIES, REPLAYS, RESULTS, TableColumn, spark_schema
from optassign_benchmarks.spark.recordings import RECORDED
from optassign_benchmarks.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "CONVERGED",
    "EPISODES",
    "FAILED",
    "HISTORY",
    "REPLAYED",
    "RESULT",
    "TABLES",
    "append_rows",
    "append_rows_by_table",
    "finish_rewriting",
    "forget_failures",
    "list_parts",
    "merge_small_files",
    "read_episodes",
    "read_parts",
    "read_rows",
]

RESULT, HISTORY, REPLAYED, CONVERGED, FAILED = "results", "histories", "replays", "convergences", "errors"
TABLES: dict[str, tuple[tuple[TableColumn, ...], list[str]]] = {
    RESULT: (RESULTS, ["key"]),
    HISTORY: (HISTORIES, ["key"]),
    REPLAYED: (REPLAYS, ["path", "assignor"]),
    CONVERGED: (CONVERGENCES, ["path", "assignor"]),
    FAILED: (ERRORS, ["path"]),
}
"""Name -> columns, and the names of the columns that tell the rows of one run apart."""


def read_rows(spark: SparkSession, storage: Storage, name: str, run: str) -> DataFrame:
    """The rows of a run in one of the tables; an empty frame if there are none.

    Each row comes once, even if two drivers have worked at the same run.
    """
    columns, key = TABLES[name]
    parts = list(list_parts(storage, name, run))
    if not parts:
        return spark.createDataFrame([], spark_schema(columns).add("run", "string"))
    # One file is that of one task, or it has been merged: no row is in it twice.
    rows = read_parts(spark, storage, name, run)
    return rows if len(parts) == 1 else rows.dropDuplicates(key)


def list_parts(storage: Storage, name: str, run: str) -> dict[str, int]:
    """Name -> bytes of the Parquet files of a run in one of the tables."""
    found = storage.sizes(f"table={name}", f"run={run}")
    return {part: size for part, size in found.items() if part.endswith(".parquet") and part[0] not in "._"}


def read_parts(spark: SparkSession, storage: Storage, name: str, run: str, parts: Sequence[str] = ()) -> DataFrame:
    """The rows in some files of a run, by default in all, with the column `run`; a row that is there twice comes twice."""
    columns, _ = TABLES[name]
    schema = spark_schema(columns).add("run", "string")
    base, folder = storage.under(f"table={name}"), (f"table={name}", f"run={run}")
    # Spark reads a folder at once, but thousands of paths in as many tasks.
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
"""Bytes from which a file is left alone. One of 100,000 rows has some ten MiB."""
_LARGE = 128 << 20
"""Bytes of the old files that go into each new one, at the most."""
_DRAFT, _JOURNAL = "_rewritten", "_rewriting.json"


def merge_small_files(spark: SparkSession, storage: Storage, run: str) -> None:
    """Make one file of all small ones of a run, in each of its tables (a few where they are many GiB), sorted by key."""
    for name in TABLES:
        storage.delete(f"table={name}", f"run={run}", _DRAFT)  # of a driver that was killed
        parts = list_parts(storage, name, run)
        small = {part: size for part, size in parts.items() if size < _SMALL}
        if len(small) > 1:
            chosen = list(small) if len(small) < len(parts) else ()
            _replace(storage, name, run, small, read_parts(spark, storage, name, run, chosen))


def forget_failures(spark: SparkSession, storage: Storage, name: str, run: str) -> int:
    """Take the rows out of a table that are not ok, and all others of the same recordings; returns how many were not ok."""
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
    """Finish each rewriting of the run's tables that counts as done and was interrupted."""
    for name in TABLES:
        folder = (f"table={name}", f"run={run}")
        if storage.exists(*folder, _JOURNAL):
            _put_in_place(storage, folder)


def _replace(storage: Storage, name: str, run: str, old: Mapping[str, int], rows: DataFrame) -> None:
    """Put `rows` in the place of old files. `old`: their names and bytes."""
    folder = (f"table={name}", f"run={run}")
    columns, key = TABLES[name]
    kept = [column.name for column in columns if column.name != "run"]
    # Rows that may be the same come together before they are compared, so that nothing is shuffled twice.
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
    """All recordings with `begins` (no follow-up led to it) and `episode` (its number, counted for each application)."""
    return spark.sql(EPISODES, replays=read_rows(spark, storage, REPLAYED, run))


EPISODES = f"""
SELECT *, sum(CAST(begins AS INT)) OVER (PARTITION BY application ORDER BY recorded_at, path) AS episode
FROM (
  SELECT application, day, path, recorded_at, followup,
    NOT coalesce(lag(followup) OVER (PARTITION BY application ORDER BY recorded_at, path), false) AS begins
  FROM {{replays}} WHERE assignor = '{RECORDED}'
)"""
