"""The report on a run: one HTML file that needs nothing else, and the same as Markdown, both from the Parquet files."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optassign.benchmarks.spark.report.plots import PICTURES
from optassign.benchmarks.spark.report.queries import REPLAY, SWEEP, Query
from optassign.benchmarks.spark.runs import Run
from optassign.benchmarks.spark.storage import Storage
from optassign.benchmarks.spark.tables.parquet import CONVERGED, FAILED, REPLAYED, RESULT, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Report", "Section", "format_value", "make_report"]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0 .8rem; } .facts { color: GrayText; }
nav ul { columns: 2; padding-left: 1.2rem; margin: .6rem 0; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .22rem .7rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.text { white-space: normal; overflow-wrap: anywhere; }
th { border-bottom: 2px solid var(--line); position: sticky; top: 0; background: Canvas; }
tbody tr:hover { background: var(--soft); }
.number { text-align: right; } td.wrong { font-weight: 700; color: #c0392b; }
details { margin: .5rem 0; font-size: 13px; } pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
"""
_WRONG = frozenset({"failed", "timeout", "out of memory", "more than 0"})
"""Columns in which every value but 0 is marked."""


@dataclass(frozen=True, slots=True)
class Section:
    """One table, the query that it comes from, and its picture."""

    query: Query
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    svg: str


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a run."""

    run: Run
    sections: tuple[Section, ...]
    folder: str
    """The folder of the tables, as it was given to the command."""

    def as_html(self) -> str:
        """The report as one HTML file, which loads nothing else."""
        title = html.escape(_make_title(self.run))
        parts = [
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
            f"<h1>{title}</h1>",
            *(f'<p class="facts">{_inline_to_html(fact)}</p>' for fact in _list_facts(self.run)),
            "<nav><ul>",
            *(f'<li><a href="#t{i}">{html.escape(s.query.title)}</a></li>' for i, s in enumerate(self.sections, start=1)),
            "</ul></nav>",
            *(_section_to_html(i, section) for i, section in enumerate(self.sections, start=1)),
            f"<h2>Where the numbers come from</h2><p>{_inline_to_html(_SOURCE)}</p>",
            f"<pre>{html.escape(self._views_sql())}</pre>",
            "</body></html>",
        ]
        return "\n".join(parts) + "\n"

    def as_markdown(self) -> str:
        """The report as Markdown, without pictures."""
        parts = [f"# {_make_title(self.run)}", *_list_facts(self.run)]
        for section in self.sections:
            parts += [f"## {section.query.title}", section.query.about, _section_to_markdown(section)]
            parts.append(f"<details><summary>Query</summary>\n\n```sql\n{section.query.sql.strip()}\n```\n\n</details>")
        parts += ["## Where the numbers come from", _SOURCE, f"```sql\n{self._views_sql()}\n```"]
        return "\n\n".join(parts) + "\n"

    def _views_sql(self) -> str:
        names = (RESULT,) if self.run.kind == "sweep" else (REPLAYED, CONVERGED, FAILED)
        return "\n".join(
            f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM parquet.`{self.folder}/table={name}` WHERE run = '{self.run.id}';"
            for name in names
        )


_ARRANGED = (
    "Groups that exist start from an arrangement by the generator, balanced as optassign measures it: who has another idea of"
    " balance rearranges them first."
)
_SOURCE = (
    "Every table is what the query below it says about the rows of the run, which are in Parquet files. To ask the same or"
    " something else, make these views and write their names for those in braces."
)


def make_report(spark: SparkSession, storage: Storage, run: Run) -> Report:
    """Run all queries on the tables of the run. Without matplotlib the report has no pictures."""
    queries = SWEEP if run.kind == "sweep" else REPLAY
    tables = {
        name: read_rows(spark, storage, name, run.id).cache()
        for name in ((RESULT,) if run.kind == "sweep" else (REPLAYED, CONVERGED, FAILED))
    }
    sections = []
    for query in queries:
        wanted = {name: table for name, table in tables.items() if f"{{{name}}}" in query.sql}
        answer = spark.sql(query.sql, None, **wanted)
        head, rows = tuple(answer.columns), tuple(tuple(row) for row in answer.collect())
        if rows or not query.optional:
            sections.append(Section(query, head, rows, _draw_picture(query, head, rows)))
    for table in tables.values():
        table.unpersist()
    return Report(run, tuple(sections), storage.given)


def _draw_picture(query: Query, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not query.picture or not rows:
        return ""
    try:
        return PICTURES[query.picture]([dict(zip(head, row, strict=True)) for row in rows])
    except ImportError:
        return ""


def _make_title(run: Run) -> str:
    return f"Benchmark {run.name}" if run.kind == "sweep" else f"Replay of recorded rebalances: {run.name}"


def _list_facts(run: Run) -> list[str]:
    limits = run.limits
    memory = f"{limits.memory_limit:,} MiB" if limits.memory_limit else "no limit of memory"
    about = (
        f"Run `{run.id}`: optassign {run.optassign}, {run.solver}. An answer has {limits.time_limit:g} s of solving, is given"
        f" up after {limits.answer_limit:g} s (a convergence after {limits.convergence_limit:g} s), and has {memory}."
    )
    facts = [about]
    if run.kind == "sweep":
        facts.append(_ARRANGED)
    else:
        facts.append(f"Recordings of `{run.recordings}`, at {run.scale} × their size.")
    return facts


def format_value(value: Any) -> str:
    """A value for people: thousands separated, three significant digits below 1,000."""
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
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return str(value)


def _section_to_html(number: int, section: Section) -> str:
    numeric = _find_numeric_columns(section)
    head = "".join(
        f"<th{_class_attribute(right)}>{html.escape(name)}</th>" for name, right in zip(section.head, numeric, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(_cell_to_html(name, value, right) for name, value, right in zip(section.head, row, numeric, strict=True))
        + "</tr>"
        for row in section.rows
    )
    picture = f'<div class="wide">{section.svg}</div>' if section.svg else ""
    return (
        f'<h2 id="t{number}">{html.escape(section.query.title)}</h2><p>{_inline_to_html(section.query.about)}</p>{picture}'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
        f"<details><summary>Query</summary><pre>{html.escape(section.query.sql.strip())}</pre></details>"
    )


def _class_attribute(right: bool) -> str:
    return ' class="number"' if right else ""


def _cell_to_html(name: str, value: Any, right: bool) -> str:
    wrong = " wrong" if name in _WRONG and value else ""
    kind = "number" if right else "text" if isinstance(value, str) and len(value) > 60 else ""
    classes = f' class="{kind}{wrong}"' if kind or wrong else ""
    return f"<td{classes}>{html.escape(format_value(value))}</td>"


def _section_to_markdown(section: Section) -> str:
    numeric = _find_numeric_columns(section)
    lines = [section.head, ["---:" if right else "---" for right in numeric]]
    cells = [[format_value(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in section.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, *cells])


def _find_numeric_columns(section: Section) -> list[bool]:
    return [any(isinstance(value, int | float) for value in column) for column in zip(*section.rows, strict=True)] or [
        False
    ] * len(section.head)


def _inline_to_html(text: str) -> str:
    """HTML of a text in which backquotes and asterisks mean what they mean in Markdown."""
    escaped = html.escape(text, quote=False)
    for mark, tag in (("`", "code"), ("*", "em")):
        pieces = escaped.split(mark)
        if len(pieces) % 2:
            escaped = "".join(f"<{tag}>{piece}</{tag}>" if i % 2 else piece for i, piece in enumerate(pieces))
    return escaped
