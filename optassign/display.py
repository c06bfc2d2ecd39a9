"""Results as data frames, and as small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from optassign.errors import MissingPackageError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["DataFrame", "make_frame", "make_html"]

SHOWN_ROWS = 20
"""Rows of a table in a notebook; the data frame has all."""


_LEFT, _RIGHT = "text-align:left", "text-align:right"


def make_frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> DataFrame:
    """Return a data frame of the rows, with these columns in this order. MissingPackageError without pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingPackageError("to_frame()", "pandas", "pandas") from None
    return pandas.DataFrame(list(rows), columns=list(columns))


def make_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table with at most `SHOWN_ROWS` rows and a line that counts the others; all text is escaped."""
    listed = list(rows)
    head = "".join(f'<th style="{_LEFT}">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_make_cell, row))}</tr>" for row in listed[:SHOWN_ROWS])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    left_out = f"<p>{len(listed) - SHOWN_ROWS:,} more rows: see to_frame()</p>" if len(listed) > SHOWN_ROWS else ""
    return f"<div><p>{escape(title)}</p>{table}{left_out}</div>"


def _make_cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return f'<td style="{_LEFT}">{ ({True: "yes", False: "no"}[value] if isinstance(value, bool) else "–") }</td>'
    if isinstance(value, int | float):
        return f'<td style="{_RIGHT}">{value:,}</td>' if isinstance(value, int) else f'<td style="{_RIGHT}">{value:,.6g}</td>'
    return f'<td style="{_LEFT}">{escape(str(value))}</td>'
