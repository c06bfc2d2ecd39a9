"""Cells of a study's tables: what the rows of a line add up to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from optassign_benchmarks.runner import StudyRow

__all__ = [
    "by_case",
    "count",
    "count_violations",
    "describe_rebalances",
    "first",
    "format_ratio",
    "median",
    "of",
    "ratio",
    "total",
]

Cell = Callable[[list[StudyRow]], object]


def total(name: str) -> Callable[[list[StudyRow]], Any]:
    """The sum of a measure."""
    return lambda rows: sum(row[name] for row in rows)


def count(holds: Callable[[StudyRow], object]) -> Cell:
    """The number of rows for which it holds."""
    return lambda rows: sum(bool(holds(row)) for row in rows)


def first(name: str) -> Cell:
    """The value of the only row of a line."""
    return lambda rows: rows[0][name]


def of(assignor: str, cell: Cell) -> Cell:
    """The cell of one assignor's rows."""
    return lambda rows: cell([row for row in rows if row["assignor"] == assignor])


def count_violations(rows: list[StudyRow]) -> int:
    """The number of broken rules in whole convergences."""
    return sum(sum(row["converged_violations"].values()) for row in rows)


def by_case(rows: Iterable[StudyRow]) -> Iterator[dict[str, StudyRow]]:
    """Each case's rows, by assignor."""
    cases: dict[str, dict[str, StudyRow]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["assignor"]] = row
    return iter(cases.values())


def ratio(row: StudyRow) -> float:
    """Restored offsets ÷ the minimum of the case; of something to nothing it is infinite."""
    restored, minimum = row["converged_restored_offsets"], row["minimum"] or 0
    return restored / minimum if minimum else math.inf if restored else 1.0


def format_ratio(restored: int, minimum: int | None) -> str:
    """The same as a text."""
    if minimum is None:
        return "–"
    if not minimum:
        return "1.00" if not restored else f"{restored:,} ÷ 0"
    return f"{restored / minimum:.2f}"


def describe_rebalances(row: StudyRow) -> str:
    """The number of rebalances, and whether the group did not settle."""
    return f"{row['converged_rebalances']}{'' if row['converged_settled'] else ' (not settled)'}"


def median(name: str) -> Cell:
    """The median of a measure."""
    return lambda rows: statistics.median(row[name] for row in rows)
