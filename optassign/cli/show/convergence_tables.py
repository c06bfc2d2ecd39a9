"""Several answers one after the other, as tables."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import MOST_ROWS, NARROW, headline, marked, rules, table_of
from optassign.judging.explanation_text import pluralize, waiting_to_lines
from optassign.simulation.convergence import Convergence, Step

__all__ = ["convergence_tables"]


def convergence_tables(result: Convergence, assignor: str, width: int) -> Iterator[RenderableType]:
    """What `optassign converge` shows: each rebalance, and what came of it."""
    verdicts = [("settled", True) if result.settled else ("did not settle!", False)]
    if result.settled:
        verdicts.append(("rests", True) if result.rests else ("does not rest: asked again, it answers otherwise!", False))
    if result.violations:
        verdicts.append((f"breaks {rules(result.violations)}!", False))
    yield headline(f"{assignor}: {pluralize(result.rebalances, 'rebalance')}", *verdicts)
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
    yield Text(f"{pluralize(result.moved_active, 'active task')} moved")
    against = ""
    if result.lower_bound is not None:
        ratio = f", {result.restored_offsets / result.lower_bound:.2f} times that" if result.lower_bound else ""
        against = f"; proven minimum {result.lower_bound:,}{ratio}"
    yield Text(f"{result.restored_offsets:,} offsets restored{against}")
    yield from (Text(line) for line in waiting_to_lines(result.history[-1].waiting))


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
