"""Queries of the report in Spark SQL; `{results}`, `{replays}` and so on stand for the rows of one run.

Every number of the report comes from a query, not from Python: the queries are shown with the paths of the Parquet files, so
that readers can run them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "FAIR",
    "Headline",
    "Query",
    "describe_statuses",
    "format_value",
    "list_tables",
    "name_tables",
    "select_run",
    "statuses_sql",
    "to_pasteable",
]


Headline = Callable[[Sequence[dict[str, Any]]], str]
"""Returns a sentence from the rows of a table; backquotes and double asterisks are Markdown."""
_NAMES = ("results", "histories", "replays", "convergences", "errors")

FAIR = "size(violations) = 0 AND (balanced OR followup)"
"""The condition on an answer to be compared: within the rules, and balanced or on the way to balance."""


@dataclass(frozen=True, slots=True)
class Query:
    """One table of the report."""

    title: str
    about: str
    """The meaning of the numbers, in a sentence or two."""
    sql: str
    picture: str = ""
    """The name of the picture above the table, in pictures.py; empty for none."""
    optional: bool = False
    """Whether the report leaves out the table if it has no rows."""
    headline: Headline | None = None
    """The sentence about the table at the top of the report."""
    most_rows: int | None = None
    """The most rows of the table, if the picture needs more; None for all."""


def list_tables(sql: str) -> list[str]:
    """Return the names of the tables that a query reads: the names in braces."""
    return [name for name in _NAMES if f"{{{name}}}" in sql]


def name_tables(sql: str) -> str:
    """Return the query with its table names without braces, as names of views or of common table expressions."""
    for name in _NAMES:
        sql = sql.replace(f"{{{name}}}", name)
    return sql


def select_run(folder: str, table: str, run: str) -> str:
    """Return SQL for the rows of a run in a table. `folder`: that of all tables, with the scheme of its file system."""
    path = f"{folder}/table={table}".replace("`", "``")
    return f"SELECT * FROM parquet.`{path}` WHERE run = '{run}'"


def to_pasteable(sql: str, selected: Mapping[str, str]) -> str:
    """Return the query as one self-contained statement. `selected`: name of a table → SQL of its rows."""
    with_rows = ",\n".join(f"{name} AS (\n  {selected[name]}\n)" for name in list_tables(sql))
    body = name_tables(sql.strip())
    joined = f",\n{body.removeprefix('WITH ')}" if body.startswith("WITH ") else f"\n{body}"
    return f"WITH {with_rows}{joined};"


def statuses_sql(table: str) -> str:
    """Return SQL for the number of rows of each assignor by outcome."""
    return f"""
SELECT assignor, count(*) AS rows,
  count_if(status = 'ok') AS ok, count_if(status = 'failed') AS failed, count_if(status = 'timeout') AS timeout,
  count_if(status = 'out-of-memory') AS `out of memory`,
  count_if(balanced) AS balanced, count_if(size(violations) > 0) AS `breaks rules`
FROM {table} GROUP BY assignor ORDER BY assignor"""


def describe_statuses(rows: Sequence[dict[str, Any]]) -> str:
    """Return the result of `statuses_sql` in a sentence."""
    total = sum(row["rows"] for row in rows)
    wrong = {name: sum(row[name] for row in rows) for name in ("failed", "timeout", "out of memory")}
    each = ", ".join(f"{number:,} {name}" for name, number in wrong.items() if number)
    return f"{sum(wrong.values()):,} of {total:,} rows are not ok: {each}." if each else f"All {total:,} rows are ok."


def format_value(value: Any) -> str:
    """Return a value for people: with thousands separators, and three significant digits below 1,000."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value == int(value) and abs(value) < 1e15:
            return f"{value:,.0f}"
        return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")
    return str(value)
