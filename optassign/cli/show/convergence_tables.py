"""A convergence as a table: a row for each rebalance."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import format_rules, make_headline, make_table, mark_wrong, wrap_lines
from optassign.formats.state import ApplicationState
from optassign.judging.convergences import PlayedRebalance
from optassign.judging.explanation_text import format_minutes, pluralize, waiting_to_lines
from optassign.judging.input_remarks import remark_on_input
from optassign.measuring.client_names import ClientNames
from optassign.simulation.convergence import Convergence
from optassign_models.policy.display import MOST_ROWS, NARROW

__all__ = ["render_convergence"]


def render_convergence(state: ApplicationState, result: Convergence, assignor: str, width: int) -> Iterator[RenderableType]:
    """Render `optassign converge`: each rebalance, and its result."""
    verdicts = [("converged", True) if result.settled else ("did not converge", False)]
    if result.settled:
        verdicts.append(("stable", True) if result.rests else ("not stable: asked again, it assigns otherwise", False))
    if result.violations:
        verdicts.append((f"breaks {format_rules(result.violations)}", False))
    yield make_headline(f"{assignor}: {pluralize(result.rebalances, 'rebalance')}", *verdicts)
    wide = width >= NARROW
    table = make_table()
    for name in (
        "#",
        "moved",
        "again",
        "restored",
        "warm-ups",
        "waits for",
        "imbalance",
        *(("of actives", "seconds") if wide else ()),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for number, played in enumerate(result.history, start=1):
        if MOST_ROWS // 2 < number <= len(result.history) - MOST_ROWS // 2:
            if number == MOST_ROWS // 2 + 1:
                table.add_row(*["…"] * len(table.columns))
        else:
            table.add_row(*_list_cells(number, played, wide))
    yield table
    if any(played.measures.violations for played in result.history):
        yield Text("! breaks a rule", style="dim")
    yield from wrap_lines([_describe_moves(result)], width)
    against = ""
    if result.lower_bound is not None:
        ratio = f", {result.restored_offsets / result.lower_bound:.2f} times that" if result.lower_bound else ""
        against = f"; proven minimum {result.lower_bound:,}{ratio}"
    yield Text(f"{result.restored_offsets:,} offsets restored{against}")
    yield from wrap_lines(_describe_time(state, result), width)
    yield from wrap_lines(remark_on_input(state), width)
    yield from wrap_lines(waiting_to_lines(result.history[-1].waiting, ClientNames(state).label), width)


def _describe_time(state: ApplicationState, result: Convergence) -> Iterator[str]:
    """How long an application would take for it, and the settings that make it so."""
    followups, interval = result.rebalances - 1, state.configs.probing_rebalance_interval_ms
    if followups:
        settings = f"max.warmup.replicas {state.configs.max_warmup_replicas}, probing.rebalance.interval.ms {interval}"
        yield f"{pluralize(followups, 'follow-up')}, {format_minutes(followups * interval)}, with {settings}"


def _describe_moves(result: Convergence) -> str:
    moves = f"{pluralize(result.moved_active, 'active task migration')}, {result.moved_logged:,} of logged tasks"
    if not result.moves_repeated:
        return f"{moves}; no task migrates more than once"
    repeated = f"{pluralize(result.moves_repeated, 'migration')} beyond the first"
    return f"{moves}; {pluralize(result.moved_more_than_once, 'task')} more than once ({repeated})"


def _list_cells(number: int, played: PlayedRebalance, wide: bool) -> list[str | Text]:
    imbalance = played.measures.imbalance
    of_actives = imbalance["active"] + imbalance["stateful_active"] + imbalance["subtopology_active"]
    cells: list[str | Text] = [
        mark_wrong(f"{number}", bool(played.measures.violations)),
        f"{played.measures.active_moves:,}",
        f"{played.moves_repeated:,}",
        f"{played.restored_offsets:,}",
        f"{played.measures.warmups:,}",
        "stalled" if played.stalled else f"{len(played.waiting):,}" if played.followup else "–",
        f"{sum(imbalance.values()):,}",
    ]
    return cells + ([f"{of_actives:,}", f"{played.seconds:.3f}"] if wide else [])
