"""The tables that runs leave behind, as Parquet files: where they lie, adding rows, and reading each row once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optassign.benchmarks.spark.storage import Storage
from optassign.benchmarks.spark.tables.columns import CONVERGENCES, ERRORS, REPLAYS, RESULTS, Column, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CONVERGED", "FAILED", "REPLAYED", "RESULT", "TABLES", "append_rows", "append_rows_by_table", "read_rows"]

RESULT, REPLAYED, CONVERGED, FAILED = "results", "replays", "convergences", "errors"
TABLES: dict[str, tuple[tuple[Column, ...], list[str]]] = {
    RESULT: (RESULTS, ["key"]),
    REPLAYED: (REPLAYS, ["path", "assignor"]),
    CONVERGED: (CONVERGENCES, ["path", "assignor"]),
    FAILED: (ERRORS, ["path"]),
}
"""Name -> columns, and the names of those that tell the rows of one run apart."""


def read_rows(spark: SparkSession, storage: Storage, name: str, run: str) -> DataFrame:
    """The rows of a run in one of the tables; an empty frame if there are none.

    Each row comes once, even if two drivers have worked at the same run.
    """
    columns, key = TABLES[name]
    schema = spark_schema(columns).add("run", "string")
    if not any(part.endswith(".parquet") for part in storage.names(f"table={name}", f"run={run}")):
        return spark.createDataFrame([], schema)
    base, folder = storage.under(f"table={name}"), storage.under(f"table={name}", f"run={run}")
    return spark.read.option("basePath", base).schema(schema).parquet(folder).dropDuplicates(key)


def append_rows(storage: Storage, rows: DataFrame, name: str, run: str) -> None:
    """Add rows to one of the tables."""
    rows.write.mode("append").parquet(storage.under(f"table={name}", f"run={run}"))


def append_rows_by_table(storage: Storage, rows: DataFrame, run: str) -> None:
    """Add each row to the table that its column `table` names; slower than `append_rows`, since Spark sorts rows by table."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    rows.withColumn("run", F.lit(run)).write.mode("append").partitionBy("table", "run").parquet(storage.folder)
