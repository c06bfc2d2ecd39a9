"""The tables that runs leave behind, where they lie, and reading them so that each row is there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optassign.benchmarks.spark.tables.columns import CONVERGENCES, ERRORS, REPLAYS, RESULTS, Column, spark_schema
from optassign.benchmarks.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CONVERGED", "FAILED", "REPLAYED", "RESULT", "TABLES", "append", "append_each", "read"]

RESULT, REPLAYED, CONVERGED, FAILED = "results", "replays", "convergences", "errors"
TABLES: dict[str, tuple[tuple[Column, ...], list[str]]] = {
    RESULT: (RESULTS, ["key"]),
    REPLAYED: (REPLAYS, ["path", "assignor"]),
    CONVERGED: (CONVERGENCES, ["path", "assignor"]),
    FAILED: (ERRORS, ["path"]),
}
"""Name -> columns, and those that tell rows of one run apart."""


def read(spark: SparkSession, storage: Storage, name: str, run: str) -> DataFrame:
    """The rows of a run in one of the tables; none if there are none.

    Each row once, also if two drivers once worked at the same run.
    """
    columns, key = TABLES[name]
    schema = spark_schema(columns).add("run", "string")
    if not any(part.endswith(".parquet") for part in storage.names(f"table={name}", f"run={run}")):
        return spark.createDataFrame([], schema)
    base, folder = storage.under(f"table={name}"), storage.under(f"table={name}", f"run={run}")
    return spark.read.option("basePath", base).schema(schema).parquet(folder).dropDuplicates(key)


def append(storage: Storage, rows: DataFrame, name: str, run: str) -> None:
    """Add rows to one of the tables."""
    rows.write.mode("append").parquet(storage.under(f"table={name}", f"run={run}"))


def append_each(storage: Storage, rows: DataFrame, run: str) -> None:
    """Add rows to the tables that their column `table` names; dearer, since each task looks where each row belongs."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    rows.withColumn("run", F.lit(run)).write.mode("append").partitionBy("table", "run").parquet(storage.folder)
