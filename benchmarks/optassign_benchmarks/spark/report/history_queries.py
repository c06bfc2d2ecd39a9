"""The queries of the report on random histories: the grade table, and what broke a rule or did not settle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optassign.simulation.histories.columns import GROUPS, Column
from optassign_benchmarks.spark.report.query import Query, describe_statuses

__all__ = ["HISTORIES"]

_BROKEN = "aggregate(map_values(violations), 0L, (total, number) -> total + number)"


def _select_column(column: Column, seen: set[str]) -> str:
    """A sum of the column, or a quotient of two, under its label; shares in per cent."""
    total = f"sum({_BROKEN if column.sum == 'violations' else column.sum})"
    label = column.label if column.label not in seen else f"{column.label} ({column.key})"
    seen.add(label)
    if not column.per:
        return f"{total} AS `{label}`"
    value = f"try_divide({total}, sum({column.per}))"
    return f"100 * {value} AS `{label}, %`" if column.is_share else f"{value} AS `{label}`"


def _grade_sql(columns: Sequence[Column]) -> str:
    seen: set[str] = set()
    selected = ",\n  ".join(_select_column(column, seen) for column in columns)
    return f"""
SELECT assignor, count(*) AS histories,
  {selected}
FROM {{histories}} WHERE status = 'ok' GROUP BY assignor ORDER BY assignor"""


_ROWS = """
SELECT assignor, count(*) AS rows,
  count_if(status = 'ok') AS ok, count_if(status = 'failed') AS failed, count_if(status = 'timeout') AS timeout,
  count_if(status = 'out-of-memory') AS `out of memory`,
  count_if(size(violations) > 0) AS `breaks rules`, count_if(unsettled > 0) AS `does not settle`,
  sum(seconds) AS `s in all`
FROM {histories} GROUP BY assignor ORDER BY assignor"""
_WRONG = """
SELECT suite, seed, assignor, violations, unsettled FROM {histories}
WHERE assignor IN ('cp-sat', 'greedy') AND (size(violations) > 0 OR unsettled > 0) ORDER BY suite, seed, assignor LIMIT 100"""
_NOT_OK = """
SELECT key, status, error, host FROM {histories} WHERE status <> 'ok' ORDER BY key LIMIT 100"""


def _tell_rules(rows: Sequence[dict[str, Any]]) -> str:
    told = [
        f"`{row['assignor']}` breaks a rule in {row['breaks rules']:,} and does not settle in {row['does not settle']:,}"
        for row in rows
    ]
    return f"{describe_statuses(rows)} Of its histories {'; '.join(told)}."


HISTORIES = (
    Query("Rows", "One row for each history and assignor.", _ROWS, headline=_tell_rules),
    *(
        Query(title, "Means over all histories, as docs/reference/simulator.md defines them.", _grade_sql(columns))
        for title, columns in GROUPS.items()
    ),
    Query(
        "Histories in which ours broke a rule or did not settle",
        "`optassign simulate --suite SUITE --seed SEED --count 1` plays one again.",
        _WRONG,
        optional=True,
    ),
    Query("Rows that are not ok", "The first hundred.", _NOT_OK, optional=True),
)
