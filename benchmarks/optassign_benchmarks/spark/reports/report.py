"""The report on a run: the results of its queries on the Parquet files, as one self-contained HTML file, and as Markdown
without pictures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optassign_benchmarks.spark.presets import HistorySweep
from optassign_benchmarks.spark.replay_queries import REPLAY
from optassign_benchmarks.spark.reports.pictures import PICTURES
from optassign_benchmarks.spark.reports.query import Query, format_value, list_tables, name_tables, select_run, to_pasteable
from optassign_benchmarks.spark.runs import Run
from optassign_benchmarks.spark.storage import Storage
from optassign_benchmarks.spark.sweep_queries import HISTORIES, SWEEP
from optassign_benchmarks.spark.tables import (
    CONVERGED,
    FAILED,
    HISTORY,
    REPLAYED,
    RESULT,
    finish_rewriting,
    list_parts,
    read_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ARRANGED = (
    "The generator arranges each existing group so that it is balanced by optassign's measure. An assignor with another measure"
    " of balance rearranges the group first."
)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A table, its query, and its picture."""

    query: Query
    sql: str
    """The query as one self-contained statement."""
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    svg: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report on a run."""

    run: Run
    sections: tuple[ReportSection, ...]
    selected: dict[str, str]
    """Table → SQL of the run's rows in it; only tables with rows."""

    @property
    def title(self) -> str:
        """Return the heading of the report."""
        return f"Benchmark {self.run.name}" if self.run.kind == "sweep" else f"Replay of recorded rebalances: {self.run.name}"

    def list_headlines(self) -> list[str]:
        """Return sentences in Markdown about the best assignors and any failures."""
        found = [
            section.query.headline([dict(zip(section.head, row, strict=True)) for row in section.rows])
            for section in self.sections
            if section.query.headline is not None and section.rows
        ]
        return found or ["The run has no rows yet."]

    def list_facts(self) -> list[str]:
        """Return sentences about the scope of the numbers: versions, limits, and requests."""
        run, limits = self.run, self.run.limits
        memory = f"{limits.memory_limit:,} MiB of memory" if limits.memory_limit else "unlimited memory"
        about = (
            f"Run `{run.id}`: optassign {run.optassign}, {run.solver}. Each answer may solve for {limits.time_limit:g} s and"
            f" use {memory}. The run cancels an answer after {limits.answer_limit:g} s, and a convergence after"
            f" {limits.convergence_limit:g} s."
        )
        if isinstance(run.sweep, HistorySweep):
            sweep = run.sweep
            last = sweep.seed + sweep.count - 1
            return [
                about,
                f"The run plays suite `{sweep.histories}`, seeds {sweep.seed:,} to {last:,} (docs/reference/simulator.md).",
            ]
        if run.sweep is None:
            return [about, f"The run replays the recordings of `{run.recordings}` at {run.scale} × their size."]
        played = (
            f"The run continues snapshots of up to {run.sweep.converge_up_to:,} tasks until the group is stable"
            " (`converge_up_to`)."
        )
        return [about, played, _ARRANGED]

    def views_sql(self) -> str:
        """Return statements that make a view of each table's rows."""
        return "\n".join(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql};" for name, sql in self.selected.items())


def make_report(spark: SparkSession, storage: Storage, run: Run) -> RunReport:
    """Run all queries on the tables of the run, reading each once, and return the report. Without matplotlib it has no
    pictures."""
    finish_rewriting(storage, run.id)
    names = (RESULT, HISTORY) if run.kind == "sweep" else (REPLAYED, CONVERGED, FAILED)
    present = [name for name in names if list_parts(storage, name, run.id)]
    tables = {name: read_rows(spark, storage, name, run.id).cache() for name in present}
    for name, table in tables.items():
        table.createOrReplaceTempView(name)  # Spark finds cached rows behind a view, not behind an argument of a query
    selected = {name: select_run(storage.folder, name, run.id) for name in present}
    sections = []
    for query in _list_queries(run):
        if not set(list_tables(query.sql)) <= set(present):
            continue
        answer = spark.sql(name_tables(query.sql))
        head, rows = tuple(answer.columns), tuple(tuple(row) for row in answer.collect())
        if rows or not query.optional:
            picture, sql = _draw_picture(query, head, rows), query.sql
            if query.most_rows is not None:
                rows, sql = rows[: query.most_rows], f"{sql} LIMIT {query.most_rows}"
            sections.append(ReportSection(query, to_pasteable(sql, selected), head, rows, picture))
    for name, table in tables.items():
        table.unpersist()
        spark.catalog.dropTempView(name)
    return RunReport(run, tuple(sections), selected)


def _list_queries(run: Run) -> Sequence[Query]:
    if isinstance(run.sweep, HistorySweep):
        return HISTORIES
    return SWEEP if run.kind == "sweep" else REPLAY


def _draw_picture(query: Query, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not query.picture or not rows:
        return ""
    try:
        return PICTURES[query.picture]([dict(zip(head, row, strict=True)) for row in rows])
    except ImportError:
        return ""


# Heads of columns break into lines, so that the widest table fits; a long table scrolls under its head.
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .4rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0 .8rem; } .lead { font-size: 1.05rem; margin: .3rem 0; } .facts { color: GrayText; margin: .3rem 0; }
nav ul { columns: 2; padding-left: 1.2rem; margin: .6rem 0; }
.table { overflow: auto; max-height: 40rem; width: fit-content; max-width: 100%; }
svg { max-width: 100%; height: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: 13px; line-height: 1.35; }
th, td { padding: .16rem .55rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; line-height: 1.2; }
th { border-bottom: 2px solid var(--line); position: sticky; top: 0; background: Canvas; }
td.text { white-space: normal; overflow-wrap: anywhere; } td.same { opacity: .35; }
tbody tr:hover { background: var(--soft); }
.number { text-align: right; } td.wrong { font-weight: 700; color: #c0392b; }
details { margin: .5rem 0; font-size: 13px; } pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
@media print { .table { max-height: none; overflow: visible; } }
"""
_WRONG = frozenset({"failed", "timeout", "out of memory", "more than 0", "not ended", "cut short"})
"""Columns in which every value except 0 is marked."""
_LONG = 40
"""Number of characters from which a text may break."""
_SOURCE = (
    "The query below a table computes it from the run's rows, which are in Parquet files. Paste a query unchanged into"
    " `spark-sql`, or into `spark.sql(…)` in a notebook. For queries of your own, create these views first:"
)


def to_html(report: RunReport) -> str:
    """Return the report as HTML, with the headlines first."""
    title = html.escape(report.title)
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
        f"<h1>{title}</h1>",
        *(f'<p class="lead">{_inline_to_html(line)}</p>' for line in report.list_headlines()),
        *(f'<p class="facts">{_inline_to_html(fact)}</p>' for fact in report.list_facts()),
        "<nav><ul>",
        *(f'<li><a href="#t{i}">{html.escape(s.query.title)}</a></li>' for i, s in enumerate(report.sections, start=1)),
        "</ul></nav>",
        *(_section_to_html(i, section) for i, section in enumerate(report.sections, start=1)),
        f"<h2>Where the numbers come from</h2><p>{_inline_to_html(_SOURCE)}</p>",
        f"<pre>{html.escape(report.views_sql())}</pre>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def to_markdown(report: RunReport) -> str:
    """Return the report as Markdown, with the headlines first."""
    parts = [f"# {report.title}", *report.list_headlines(), *report.list_facts()]
    for section in report.sections:
        parts += [f"## {section.query.title}", section.query.about, _section_to_markdown(section)]
        parts.append(f"<details><summary>Query</summary>\n\n```sql\n{section.sql}\n```\n\n</details>")
    parts += ["## Where the numbers come from", _SOURCE, f"```sql\n{report.views_sql()}\n```"]
    return "\n\n".join(parts) + "\n"


def _section_to_html(number: int, section: ReportSection) -> str:
    numeric = _find_numeric_columns(section)
    head = "".join(
        f"<th{_class_attribute('number' if right else '')}>{html.escape(name)}</th>"
        for name, right in zip(section.head, numeric, strict=True)
    )
    before: Sequence[Any] = ()
    lines = []
    for row in section.rows:
        lines.append(f"<tr>{''.join(_cells_to_html(section, row, before, numeric))}</tr>")
        before = row
    body = "\n".join(lines)
    picture = f'<div class="picture">{section.svg}</div>' if section.svg else ""
    return (
        f'<h2 id="t{number}">{html.escape(section.query.title)}</h2><p>{_inline_to_html(section.query.about)}</p>{picture}'
        f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
        f"<details><summary>Query</summary><pre>{html.escape(section.sql)}</pre></details>"
    )


def _cells_to_html(section: ReportSection, row: Sequence[Any], before: Sequence[Any], numeric: Sequence[bool]) -> list[str]:
    """Return the cells of a row. Leading cells that equal those of the row before are paler."""
    cells, same = [], bool(before)
    for i, (name, value, right) in enumerate(zip(section.head, row, numeric, strict=True)):
        same = same and before[i] == value
        classes = [
            "number" if right else "",
            "text" if isinstance(value, str) and len(value) > _LONG else "",
            "same" if same else "",
            "wrong" if name in _WRONG and value else "",
        ]
        cells.append(f"<td{_class_attribute(' '.join(filter(None, classes)))}>{html.escape(format_value(value))}</td>")
    return cells


def _class_attribute(classes: str) -> str:
    return f' class="{classes}"' if classes else ""


def _section_to_markdown(section: ReportSection) -> str:
    numeric = _find_numeric_columns(section)
    lines = [section.head, ["---:" if right else "---" for right in numeric]]
    cells = [[format_value(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in section.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, *cells])


def _find_numeric_columns(section: ReportSection) -> list[bool]:
    return [any(isinstance(value, int | float) for value in column) for column in zip(*section.rows, strict=True)] or [
        False
    ] * len(section.head)


def _inline_to_html(text: str) -> str:
    """Return a text with Markdown's backquotes and asterisks as HTML."""
    escaped = html.escape(text, quote=False)
    for mark, tag in (("`", "code"), ("**", "strong"), ("*", "em")):
        pieces = escaped.split(mark)
        if len(pieces) % 2:
            escaped = "".join(f"<{tag}>{piece}</{tag}>" if i % 2 else piece for i, piece in enumerate(pieces))
    return escaped
