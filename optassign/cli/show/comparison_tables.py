"""Several answers to one rebalance, side by side: as tables for a terminal, and as Markdown."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import marked, rules, table_of
from optassign.judging.comparison import PREVIOUS, Column, Comparison, Played
from optassign.measuring.balance import WINDOW_NAMES, WindowName

__all__ = ["comparison_markdown", "comparison_tables"]

_NAMES: dict[WindowName, str] = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active, per subtopology",
    "subtopology_copies": "copies, per subtopology",
}
_Cell = tuple[str, bool]
"""What stands there, and whether it is not as it should be."""
_Row = tuple[str, list[_Cell]]


def comparison_tables(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    """What `optassign compare` shows: as many assignors in one table as fit the width, then the others."""
    rows = [row for row in _rows(comparison) if any(text for text, _ in row[1])]
    label = max(len(name) for name, _ in rows)
    for chunk in _chunks(comparison, rows, width - label):
        table = table_of("", left=1)
        for at in chunk:
            table.add_column(comparison.columns[at].name, justify="right", no_wrap=True)
        for name, cells in rows:
            table.add_row(name, *(marked(*cells[at]) for at in chunk))
        yield table
        yield Text("")
    yield from (Text(line, style=style) for line, style in _remarks(comparison))


def comparison_markdown(comparison: Comparison) -> str:
    """The same as one Markdown table, with what is wrong in bold."""
    rows = [row for row in _rows(comparison) if any(text for text, _ in row[1])]
    names = [column.name for column in comparison.columns]
    lines = [["", *names], ["---", *["---:" for _ in names]]]
    lines += [[name.strip(), *(f"**{text}**" if wrong else text for text, wrong in cells)] for name, cells in rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    remarks = "\n".join(f"- {line}" for line, _ in _remarks(comparison))
    return f"{table}\n\n{remarks}\n"


def _chunks(comparison: Comparison, rows: Sequence[_Row], width: int) -> Iterator[list[int]]:
    """Columns that fit beside each other; what was assigned before stands in each table, to compare with."""
    wide = [
        max(len(column.name), *(len(cells[at][0]) + cells[at][1] for _, cells in rows)) + 2
        for at, column in enumerate(comparison.columns)
    ]
    chunk, left = [0], width - wide[0]
    for at in range(1, len(wide)):
        if wide[at] > left and len(chunk) > 1:
            yield chunk
            chunk, left = [0], width - wide[0]
        chunk.append(at)
        left -= wide[at]
    yield chunk


def _remarks(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Lines below the table, each with its style."""
    if comparison.bound is not None:
        yield f"proven minimum of restore work until balanced: {comparison.bound:,} offsets ({comparison.bound_by})", ""
    yield f"{PREVIOUS}: what was assigned before, as if it were the answer; not judged", "dim"
    if any(column.is_baseline and column.measures.violations for column in comparison.columns):
        yield "baselines never promised to keep R3 to R8: what they break is shown, and no error", "dim"
    for column in comparison.columns:
        yield from ((f"{column.name}: {note}", "dim") for note in column.answer.report.notes)
    for name, why in comparison.left_out.items():
        yield f"{name} is left out: {why}", ""
    for name, why in comparison.failures.items():
        yield f"{name} has no answer: {why}", "bold red"


def _rows(comparison: Comparison) -> Iterator[_Row]:
    columns, bound = comparison.columns, comparison.bound
    measures = [column.measures for column in columns]

    def plain(texts: Sequence[str]) -> list[_Cell]:
        return [(text, False) for text in texts]

    yield "rules broken", [(rules(m.violations) or "none", bool(m.violations)) for m in measures]
    for window in WINDOW_NAMES:
        yield f"excess: {_NAMES[window]}", [(f"{m.excess[window]:,}", m.excess[window] > 0) for m in measures]
    for window in WINDOW_NAMES[:3]:
        yield f"spread: {_NAMES[window]}", plain([f"{m.spread[window]:.3g}" for m in measures])
    yield "clients per subtopology, max − min", plain([f"{m.subtopology_balance:,}" for m in measures])
    yield "active tasks moved", plain([f"{m.active_moves:,}" for m in measures])
    yield "  of them logged", plain([f"{m.active_moves_logged:,}" for m in measures])
    yield "standbys moved", plain([f"{m.standby_moves:,}" for m in measures])
    yield "restored now, offsets", plain([f"{m.restore_work:,}" for m in measures])
    yield "  and by warm-ups", plain([f"{m.warmup_work:,}" for m in measures])
    yield "restored with the plan, offsets", plain(["" if _unplanned(c) else f"{c.planned_work:,}" for c in columns])
    if bound is not None:
        yield "  ÷ proven minimum", plain(["" if _unplanned(c) else _ratio(c, c.planned_work, bound) for c in columns])
    yield "copies not caught up", plain([f"{m.cold_copies:,}" for m in measures])
    yield "active tasks not caught up", plain([f"{m.cold_actives:,}" for m in measures])
    yield "warm-ups", plain([f"{m.warmups:,}" for m in measures])
    yield "follow-up", plain([_followup(column) for column in columns])
    if any(m.tag_values_reachable for m in measures):
        yield "tag values reached", plain([f"{m.tag_values_reached:,} of {m.tag_values_reachable:,}" for m in measures])
    if any(m.rack_crossings is not None for m in measures):
        yield "rack crossings", plain(["" if m.rack_crossings is None else f"{m.rack_crossings:,}" for m in measures])
    yield "weighted load, max ÷ mean", plain([f"{m.weighted_load:.3g}" for m in measures])
    yield "seconds", plain(["" if column.seconds is None else f"{column.seconds:.3f}" for column in columns])
    yield from _rows_of_play(columns, bound)


def _rows_of_play(columns: Sequence[Column], bound: int | None) -> Iterator[_Row]:
    """What came of each to the end; nothing where it was not played."""

    def row(name: str, cell: Callable[[Played], _Cell]) -> _Row:
        return name, [cell(column.played) if column.played else ("", False) for column in columns]

    yield row("to the end: rebalances", lambda p: (f"{p.rebalances:,}", not p.settled))
    yield row("  settles", lambda p: ("yes", False) if p.settled else ("no", True))
    yield row("  rests", lambda p: ("yes", False) if p.rests else ("no", True))
    yield row("  balanced in the end", lambda p: ("yes", False) if p.balanced else ("no", True))
    yield row("  active tasks moved", lambda p: (f"{p.moved_active:,}", False))
    yield row("  restored, offsets", lambda p: (f"{p.restored_offsets:,}", False))
    if bound is not None:
        ratios = [_ratio(c, c.played.restored_offsets, bound) if c.played else "" for c in columns]
        yield "  ÷ proven minimum", [(ratio, False) for ratio in ratios]
    yield row("  rules broken", lambda p: (rules(p.violations) or "none", bool(p.violations)))
    yield row("  seconds a rebalance, median", lambda p: (f"{p.seconds:.3f}", False))


def _unplanned(column: Column) -> bool:
    """It means to go on, and does not say where: what it restores in the end is not known."""
    return column.followup and column.answer.plan is None


def _ratio(column: Column, work: int, bound: int) -> str:
    if column.name == PREVIOUS:
        return ""
    if not bound:
        return "1.00" if not work else "–"
    return f"{work / bound:.2f}"


def _followup(column: Column) -> str:
    if column.name == PREVIOUS:
        return ""
    if not column.followup:
        return "none"
    return f"waits for {column.waiting:,}" if column.waiting else "asked for"
