"""`python -m optassign_benchmarks.spark.tables.column_docs`: renew the tables of columns in
docs/reference/generated/spark-tables.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from optassign_benchmarks.spark.tables.columns import CIRCUMSTANCES, REPLAYS, RESULTS, Column
from optassign_benchmarks.spark.tables.history_columns import HISTORIES
from optassign_benchmarks.tables import replace_table, to_markdown

__all__ = ["DOCUMENT", "TABLES", "column_table"]

DOCUMENT = Path("docs/reference/generated/spark-tables.md")
TABLES: dict[str, Sequence[Column]] = {
    "results-columns": RESULTS,
    "histories-columns": [column for column in HISTORIES if column not in CIRCUMSTANCES],
    "replays-columns": [column for column in REPLAYS if column.name not in {c.name for c in RESULTS} or column.name == "run"],
}
"""Mark in the document -> the columns that stand there: those of `results`, and what the others have beyond."""
_SQL = {pa.string(): "string", pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean"}


def column_table(columns: Sequence[Column]) -> str:
    """The columns as a Markdown table, with Spark's names of types."""
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


if __name__ == "__main__":
    for name, columns in TABLES.items():
        replace_table(name, column_table(columns), DOCUMENT)
