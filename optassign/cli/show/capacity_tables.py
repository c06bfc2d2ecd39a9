"""Tables of a capacity plan: its figures, and those with one instance, standby or warm-up more or fewer."""

from collections.abc import Iterator

from rich.console import RenderableType

from optassign.cli.show.style import NO_END, make_headline, make_table, mark_wrong, wrap_lines
from optassign.formats.durations import format_duration
from optassign.simulation.timed.capacity import CapacityOption, CapacityPlan, CapacityTarget, describe_choice
from optassign.simulation.timed.least import SCANNED, Search

__all__ = ["render_plan"]


def render_plan(plan: CapacityPlan, width: int) -> Iterator[RenderableType]:
    """Render `optassign plan-capacity`. `width` in columns."""
    yield make_headline(f"{plan.scenario} under {plan.assignor}", (describe_choice(plan), plan.chosen is not None))
    yield from wrap_lines([f"target: {'; '.join(_describe_target(plan.target))}"], width)
    table = make_table("")
    for name in ("unbalanced", "load", "disk, offsets", "longest stop", *(("no copy",) if plan.target.zone_loss else ())):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("breaks", overflow="fold")
    for label, option in plan.prices.items():
        figures = _list_figures(option, has_zones=plan.target.zone_loss)
        table.add_row(mark_wrong(label, bool(option.broken)), *figures, ", ".join(option.broken))
    table.caption = f"the worst of all runs; unbalanced: after one event; {NO_END}: still so at the next one"
    if plan.target.zone_loss:
        table.caption += "; no copy: task-seconds without a caught-up copy"
    yield table
    if plan.target.load is None and plan.chosen is not None and plan.chosen.load > 1:
        yield from wrap_lines(["The load is above 100%, so records pile up: limit it by --load"], width)
    yield from wrap_lines(_list_doubts(plan), width)
    if plan.chosen is None:
        yield from wrap_lines((f"{label}: {option.capacity}" for label, option in plan.prices.items()), width)
    yield from wrap_lines(map(_describe_search, plan.searches), width)
    yield from wrap_lines([f"{plan.runs:,} simulation{'' if plan.runs == 1 else 's'}"], width)


def _list_doubts(plan: CapacityPlan) -> Iterator[str]:
    """Yield what speaks against relying on the plan: chance in one seed, or a larger capacity that breaks the target."""
    more = plan.prices.get("1 instance more")
    if plan.chosen is not None and more is not None and more.broken:
        yield f"One instance more breaks {', '.join(more.broken)}, so the plan depends on chance: try more --replications"
    elif plan.replications == 1:
        yield "Each capacity was played with one seed: --replications 6 plays six"


def _list_figures(option: CapacityOption, *, has_zones: bool) -> tuple[str, ...]:
    unbalanced = NO_END if option.balance_s is None else format_duration(option.balance_s)
    figures = unbalanced, f"{option.load:.1%}", f"{option.state:,.0f}", format_duration(option.down_s)
    return (*figures, f"{option.uncopied_task_s:,.0f}") if has_zones else figures


def _describe_target(target: CapacityTarget) -> Iterator[str]:
    if target.balance_s is not None:
        yield f"unbalanced for up to {format_duration(target.balance_s)} after an event"
    if target.load is not None:
        yield f"load up to {target.load:.0%}"
    if target.state is not None:
        yield f"up to {target.state:,.0f} offsets on a disk"
    if target.down_s is not None:
        yield f"no task down for more than {format_duration(target.down_s)}"
    if target.zone_loss:
        yield "also without any one zone, with a caught-up copy of each logged task"


def _describe_search(search: Search) -> str:
    tried = ", ".join(f"{number:,}" for number in search.tried)
    named = {"instances": "instances", "standbys": "standbys", "warmups": "warm-ups"}[search.of]
    if search.broken_above:
        broken = ", ".join(f"{number:,}" for number in search.broken_above)
        return f"{named} tried: {tried}; more are not always better, {broken} break the target; each smaller number was tried"
    if search.by_bisection:
        more = f"numbers in between were not tried; --{search.of} A-B tries up to {SCANNED:,} one by one"
        return f"{named} tried: {tried}, by bisection: {more}"
    return f"{named} tried: {tried}, one by one"
