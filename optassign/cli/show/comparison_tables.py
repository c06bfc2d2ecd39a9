"""Tables of several answers to one rebalance, side by side, for a terminal and in Markdown."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import format_rules, make_table, mark_wrong, wrap_lines
from optassign.judging.comparison import NOT_APPLIED, PREVIOUS, RECORDED, ComparedAnswer, Comparison
from optassign.judging.convergences import Convergence
from optassign.judging.metrics import Measures
from optassign.judging.validation import RULE_NAMES, name_rule
from optassign.measuring.balance import SHARE_NAMES, ShareName
from optassign.measuring.described import list_measures

_SHARE_LABELS: dict[ShareName, str] = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active, per subtopology",
    "subtopology_copies": "copies, per subtopology",
}
_Cell = tuple[str, bool]
"""The text, and whether it is marked as wrong."""
_Row = tuple[str, list[_Cell]]
"""The label, and a cell for each column of the comparison."""


def render_comparison(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    """Render `optassign compare`: as many assignors per table as fit the width."""
    names, rows = _list_names(comparison), _list_filled_rows(comparison)
    label = max(len(name) for name, _ in rows)
    for chunk in _split_columns(names, rows, width - label):
        table = make_table("")
        for at in chunk:
            table.add_column(names[at], justify="right", no_wrap=True)
        for name, cells in rows:
            table.add_row(name, *(mark_wrong(*cells[at]) for at in chunk))
        yield table
        yield Text("")
    for line, style in _list_remarks(comparison):
        yield from wrap_lines([line], width, style=style)


def format_comparison_markdown(comparison: Comparison) -> str:
    """Return the comparison as one Markdown table, with wrong values in bold, and remarks below."""
    names, rows = _list_names(comparison), _list_filled_rows(comparison)
    lines = [["", *names], ["---", *["---:" for _ in names]]]
    lines += [[name.strip(), *(f"**{text}**" if wrong else text for text, wrong in cells)] for name, cells in rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    remarks = "\n".join(f"- {line}" for line, _ in _list_remarks(comparison))
    return f"{table}\n\n{remarks}\n"


def _list_names(comparison: Comparison) -> list[str]:
    """Return the heads of the columns: answers, then failed assignors."""
    return [*(column.name for column in comparison.columns), *comparison.failures]


def _split_columns(names: Sequence[str], rows: Sequence[_Row], width: int) -> Iterator[list[int]]:
    """Yield the column indices of each table that fits `width`; the previous assignment (0) is in all of them."""
    wide = [max(len(name), *(len(cells[at][0]) + cells[at][1] for _, cells in rows)) + 2 for at, name in enumerate(names)]
    chunk, left = [0], width - wide[0]
    for at in range(1, len(wide)):
        if wide[at] > left and len(chunk) > 1:
            yield chunk
            chunk, left = [0], width - wide[0]
        chunk.append(at)
        left -= wide[at]
    yield chunk


def _list_remarks(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the lines below the table, each with its style in a terminal."""
    if comparison.bound is not None:
        yield f"proven minimum of restore work until balanced: {comparison.bound:,} offsets ({comparison.bound_by})", ""
    yield from ((line, "") for line in comparison.remarks)
    if any(wrong for _, cells in _list_filled_rows(comparison) for _, wrong in cells):
        yield "! an imbalance, a broken rule, or a group that does not converge", "dim"
    if comparison.handed_over:
        remark = (
            f"{comparison.handed_over:,} tasks have no owner: the snapshot was taken between the two passes of a rebalance "
            f"(KIP-429), in which tasks change their instance, or after an instance was lost. "
            f"So {PREVIOUS} is known in part only."
        )
        yield remark, ""
    yield f"{PREVIOUS}: the assignment before this rebalance; not judged", "dim"
    if any(column.name == RECORDED for column in comparison.columns):
        yield f"{RECORDED}: the recorded assignment; not judged (`optassign validate` does)", "dim"
    if any(column.name == NOT_APPLIED for column in comparison.columns):
        yield f"{NOT_APPLIED}: the service's own assignment, which was not applied", "dim"
    if any(column.weighted is not None for column in comparison.columns):
        yield "weighted I,S,T: cp-sat under preset weighted, by its weights of instance, subtopology and stickiness", "dim"
    if any(column.is_baseline and column.measures.violations for column in comparison.columns):
        yield "baselines do not promise R3 to R8: a rule that they break is shown, and is no error", "dim"
    for column in comparison.columns:
        yield from ((f"{column.name}: {note}", "dim") for note in column.answer.report.notes)
    broken = sorted({rule for column in comparison.columns for rule in column.measures.violations if rule in RULE_NAMES})
    if broken:
        yield f"rules: {', '.join(map(name_rule, broken))}", "dim"
    for name, why in comparison.left_out.items():
        yield f"{name} is left out: {why}", ""
    for name, why in comparison.failures.items():
        yield f"{name} has no assignment: {why}", "bold red"


def _list_filled_rows(comparison: Comparison) -> list[_Row]:
    """Return the rows with a value in at least one column. A failed assignor fills only the first row."""
    rows = [(name, cells) for name, cells in _list_rows(comparison) if any(text for text, _ in cells)]
    if comparison.handed_over:  # figures of an assignment that is known only in part mean nothing
        rows = [(name, [("–" if cells[0][0] else "", False), *cells[1:]]) for name, cells in rows]
    if not comparison.failures:
        return rows
    failed = len(comparison.failures)
    answers: _Row = ("answer", [("", False)] * len(comparison.columns) + [("failed", True)] * failed)
    return [answers, *((name, cells + [("", False)] * failed) for name, cells in rows)]


def _list_rows(comparison: Comparison) -> Iterator[_Row]:
    columns, bound = comparison.columns, comparison.bound
    measures = [column.measures for column in columns]

    def make_cells(texts: Sequence[str]) -> list[_Cell]:
        return [(text, False) for text in texts]

    for measure in list_measures(Measures):
        values = [getattr(each, measure.name) for each in measures]
        if "{}" in measure.label:
            is_wrong = measure.name == "imbalance"
            for share in SHARE_NAMES if is_wrong else SHARE_NAMES[:3]:
                cells = [_format_value(value[share], is_wrong=is_wrong and value[share] > 0) for value in values]
                yield measure.label.format(_SHARE_LABELS[share]), cells
        elif measure.label:
            yield measure.label, [_format_value(value) for value in values]
        if measure.name == "warmup_work":
            yield from _list_target_rows(columns, bound)
        if measure.name == "warmups":
            yield "follow-up", make_cells([_format_followup(column) for column in columns])
        if measure.name == "tag_values_reachable" and any(values):
            reached = [f"{m.tag_values_reached:,} of {m.tag_values_reachable:,}" for m in measures]
            yield "tag values reached", make_cells(reached)
    yield "seconds", make_cells(["" if column.seconds is None else f"{column.seconds:.3f}" for column in columns])
    yield from _list_played_rows(columns, bound)


def _list_target_rows(columns: Sequence[ComparedAnswer], bound: int | None) -> Iterator[_Row]:
    """Yield the rows about the target of each answer."""

    def make_row(name: str, cell: Callable[[ComparedAnswer], str]) -> _Row:
        return name, [(cell(column), False) for column in columns]

    yield make_row("restored until the target, offsets", lambda c: "" if c.planned_work is None else f"{c.planned_work:,}")
    if bound is not None:
        yield make_row(
            "  ÷ proven minimum", lambda c: "" if c.planned_work is None else _format_ratio(c, c.planned_work, bound)
        )
    yield make_row("weighted cost of the target", lambda c: "" if c.weighted is None else _format_cost(c.weighted.value))
    yield make_row("  its bound", lambda c: "" if c.weighted is None else _format_cost(c.weighted.bound))


def _list_played_rows(columns: Sequence[ComparedAnswer], bound: int | None) -> Iterator[_Row]:
    """Yield the rows of --converge; cells of answers without a convergence are empty."""
    for measure in list_measures(Convergence):
        if measure.label:
            yield (
                measure.label,
                [_format_value(getattr(c.played, measure.name), measure.unit) if c.played else ("", False) for c in columns],
            )
        if measure.name == "restored_offsets" and bound is not None:
            ratios = [_format_ratio(c, c.played.restored_offsets, bound) if c.played else "" for c in columns]
            yield "  ÷ proven minimum", [(ratio, False) for ratio in ratios]


def _format_value(value: object, unit: str = "", *, is_wrong: bool = False) -> _Cell:
    """Return a measure as a cell: broken rules and *no* are marked as wrong, numbers if `is_wrong`; None is empty."""
    if isinstance(value, bool):
        return ("yes", False) if value else ("no", True)
    if isinstance(value, Mapping):
        return format_rules(value, names=False) or "none", bool(value)
    if isinstance(value, float):
        return f"{value:.3f}" if unit == "s" else f"{value:.3g}", is_wrong
    return "" if value is None else f"{value:,}", is_wrong


def _format_ratio(column: ComparedAnswer, work: int, bound: int) -> str:
    if column.name == PREVIOUS:
        return ""
    if not bound:
        return "1.00" if not work else "–"
    return f"{work / bound:.2f}"


def _format_cost(cost: float | None) -> str:
    return "–" if cost is None else f"{cost:,.3f}".rstrip("0").rstrip(".")


def _format_followup(column: ComparedAnswer) -> str:
    if column.name == PREVIOUS:
        return ""
    if not column.followup:
        return "none"
    return f"waits for {column.waiting:,}" if column.waiting else "requested"
