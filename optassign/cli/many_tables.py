"""Several answers as tables: to one rebalance under several assignors, and one after the other."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from optassign.balance import WINDOW_NAMES, WindowName
from optassign.cli.comparison import PREVIOUS, Column, Comparison
from optassign.cli.look import MOST_ROWS, NARROW, headline, marked, rules, table_of
from optassign.explain_text import many, waiting_lines
from optassign.simulation.convergence import Convergence, Step

__all__ = ["comparison_tables", "convergence_tables"]

_NAMES: dict[WindowName, str] = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active, per subtopology",
    "subtopology_copies": "copies, per subtopology",
}


def comparison_tables(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    """What `optassign compare` shows."""
    table = table_of("", left=1)
    for column in comparison.columns:
        table.add_column(column.name, justify="right", no_wrap=True)
    for name, cells in _comparison_rows(comparison):
        if any(cells):
            table.add_row(name, *cells)
    yield table
    if comparison.bound is not None:
        yield Text(f"proven minimum of restore work until balanced: {comparison.bound:,} offsets ({comparison.bound_by})")
    yield Text(f"{PREVIOUS}: what was assigned before, as if it were the answer; not judged", style="dim")
    for name, why in comparison.failures.items():
        yield Text(f"{name} has no answer: {why}", style="bold red")


def _comparison_rows(comparison: Comparison) -> Iterator[tuple[str, list[str | Text]]]:
    columns, bound = comparison.columns, comparison.bound
    measures = [column.measures for column in columns]

    def judged(column: Column) -> str | Text:
        return marked(rules(column.measures.violations) or "none", bool(column.measures.violations))

    yield "rules broken", [judged(column) for column in columns]
    for window in WINDOW_NAMES:
        yield f"excess: {_NAMES[window]}", [marked(f"{m.excess[window]:,}", m.excess[window] > 0) for m in measures]
    for window in WINDOW_NAMES[:3]:
        yield f"spread: {_NAMES[window]}", [f"{m.spread[window]:.3g}" for m in measures]
    yield "clients per subtopology, max − min", [f"{m.subtopology_balance:,}" for m in measures]
    yield "active tasks moved", [f"{m.active_moves:,}" for m in measures]
    yield "  of them logged", [f"{m.active_moves_logged:,}" for m in measures]
    yield "standbys moved", [f"{m.standby_moves:,}" for m in measures]
    yield "restored now, offsets", [f"{m.restore_work:,}" for m in measures]
    yield "  and by warm-ups", [f"{m.warmup_work:,}" for m in measures]
    yield "restored with the plan, offsets", [f"{column.planned_work:,}" for column in columns]
    if bound is not None:
        yield "  ÷ proven minimum", [_ratio(column, bound) for column in columns]
    yield "copies not caught up", [f"{m.cold_copies:,}" for m in measures]
    yield "active tasks not caught up", [f"{m.cold_actives:,}" for m in measures]
    yield "warm-ups", [f"{m.warmups:,}" for m in measures]
    yield "follow-up", [_followup(column) for column in columns]
    if any(m.tag_values_reachable for m in measures):
        yield "tag values reached", [f"{m.tag_values_reached:,} of {m.tag_values_reachable:,}" for m in measures]
    if any(m.rack_crossings is not None for m in measures):
        yield "rack crossings", ["" if m.rack_crossings is None else f"{m.rack_crossings:,}" for m in measures]
    yield "weighted load, max ÷ mean", [f"{m.weighted_load:.3g}" for m in measures]
    yield "seconds", ["" if column.seconds is None else f"{column.seconds:.3f}" for column in columns]


def _ratio(column: Column, bound: int) -> str:
    if column.name == PREVIOUS:
        return ""
    if not bound:
        return "1.00" if not column.planned_work else "–"
    return f"{column.planned_work / bound:.2f}"


def _followup(column: Column) -> str:
    if column.name == PREVIOUS:
        return ""
    return f"waits for {column.waiting:,}" if column.followup else "none"


def convergence_tables(result: Convergence, assignor: str, width: int) -> Iterator[RenderableType]:
    """What `optassign converge` shows: each rebalance, and what came of it."""
    verdicts = [("settled", True) if result.settled else ("did not settle!", False)]
    if result.settled:
        verdicts.append(("rests", True) if result.rests else ("does not rest: asked again, it answers otherwise!", False))
    if result.violations:
        verdicts.append((f"breaks {rules(result.violations)}!", False))
    yield headline(f"{assignor}: {many(result.rebalances, 'rebalance')}", *verdicts)
    wide = width >= NARROW
    table = table_of(left=0)
    for name in ("#", "moved", "restored", "warm-ups", "waits for", "excess", *(("of actives", "seconds") if wide else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for number, step in enumerate(result.history, start=1):
        if MOST_ROWS // 2 < number <= len(result.history) - MOST_ROWS // 2:
            if number == MOST_ROWS // 2 + 1:
                table.add_row(*["…"] * len(table.columns))
        else:
            table.add_row(*_step_cells(number, step, wide))
    yield table
    yield Text(f"{many(result.moved_active, 'active task')} moved")
    against = ""
    if result.lower_bound is not None:
        ratio = f", {result.restored_offsets / result.lower_bound:.2f} times that" if result.lower_bound else ""
        against = f"; proven minimum {result.lower_bound:,}{ratio}"
    yield Text(f"{result.restored_offsets:,} offsets restored{against}")
    yield from (Text(line) for line in waiting_lines(result.history[-1].waiting))


def _step_cells(number: int, step: Step, wide: bool) -> list[str | Text]:
    excess = step.measures.excess
    of_actives = excess["active"] + excess["stateful_active"] + excess["subtopology_active"]
    cells: list[str | Text] = [
        marked(f"{number}", bool(step.measures.violations)),
        f"{step.measures.active_moves:,}",
        f"{step.restored_offsets:,}",
        f"{step.measures.warmups:,}",
        "stalled" if step.stalled else f"{len(step.waiting):,}" if step.followup else "–",
        f"{sum(excess.values()):,}",
    ]
    return cells + ([f"{of_actives:,}", f"{step.seconds:.3f}"] if wide else [])
