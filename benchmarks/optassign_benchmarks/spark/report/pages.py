"""A report as one HTML file, which loads no other file, and as Markdown without pictures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from optassign_benchmarks.spark.report.report import Report, Section
from optassign_benchmarks.spark.report.values import format_value

__all__ = ["to_html", "to_markdown"]

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
"""Columns in which every value but 0 is marked."""
_LONG = 40
"""Characters from which a text may break."""
_SOURCE = (
    "Every table is what the query below it says about the rows of the run, which are in Parquet files. Each can be pasted as"
    " it stands into `spark-sql`, or into `spark.sql(…)` of a notebook. Questions of your own are shorter with views:"
)


def to_html(report: Report) -> str:
    """The report as HTML; it begins with what won."""
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


def to_markdown(report: Report) -> str:
    """The report as Markdown; it begins with what won."""
    parts = [f"# {report.title}", *report.list_headlines(), *report.list_facts()]
    for section in report.sections:
        parts += [f"## {section.query.title}", section.query.about, _section_to_markdown(section)]
        parts.append(f"<details><summary>Query</summary>\n\n```sql\n{section.sql}\n```\n\n</details>")
    parts += ["## Where the numbers come from", _SOURCE, f"```sql\n{report.views_sql()}\n```"]
    return "\n\n".join(parts) + "\n"


def _section_to_html(number: int, section: Section) -> str:
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


def _cells_to_html(section: Section, row: Sequence[Any], before: Sequence[Any], numeric: Sequence[bool]) -> list[str]:
    """The cells of a row. Cells equal to the row before, from the first column on, are paler."""
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
    for mark, tag in (("`", "code"), ("**", "strong"), ("*", "em")):
        pieces = escaped.split(mark)
        if len(pieces) % 2:
            escaped = "".join(f"<{tag}>{piece}</{tag}>" if i % 2 else piece for i, piece in enumerate(pieces))
    return escaped
