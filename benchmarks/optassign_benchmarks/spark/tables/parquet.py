"""The tables that runs leave behind, as Parquet files: where they lie, adding rows, and reading each row once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.tables.columns import CONVERGENCES, ERRORS, REPLAYS, RESULTS, Column, spark_schema
from optassign_benchmarks.spark.tables.history_columns import HISTORIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "CONVERGED",
    "FAILED",
    "HISTORY",
    "REPLAYED",
    "RESULT",
    "TABLES",
    "append_rows",
    "append_rows_by_table",
    "list_parts",
    "read_parts",
    "read_rows",
]

RESULT, HISTORY, REPLAYED, CONVERGED, FAILED = "results", "histories", "replays", "convergences", "errors"
TABLES: dict[str, tuple[tuple[Column, ...], list[str]]] = {
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
