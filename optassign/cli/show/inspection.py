"""The report of `optassign inspect`: in a terminal, and as one HTML file with its pictures inside."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.output import UsageError
from optassign.cli.show.pictures import save_figure
from optassign.cli.show.style import MOST_ROWS, make_headline, make_table
from optassign.inspecting.inspected import UNKNOWN_ASSIGNOR, Inspected
from optassign.inspecting.outlook import EVENTS, OPTASSIGN, GroupOutlook
from optassign.inspecting.report import GroupReport, InspectedInstance, format_bytes, format_seconds, list_advice
from optassign.printable import escape_unprintable
from optassign.recordings.recording import Recording, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_BARS = 60
"""Instances that the page draws; the table has all."""
LONGEST_WORD = 40
"""Characters up to which words are not broken: longer names of topics would take the room of other columns."""


_NAMES = {"high-availability": "Kafka's default", "sticky": "Kafka's StickyTaskAssignor", "broker": "the broker's assignor"}
_UNKNOWN = "–"


def render_report(report: GroupReport, width: int) -> Iterator[RenderableType]:
    """Render the report, section by section."""
    state = report.inspected.snapshot
    yield make_headline(
        f"{state.application}: {len(state.tasks):,} tasks on {len(state.clients):,} instances",
        ("balanced", True) if not report.imbalance else (f"imbalance {report.imbalance}", False),
    )
    yield Text(" · ".join(_list_facts(report)))
    yield from _render_instances(report, width)
    yield from _render_subtopologies(report, width)
    yield Text("\nThe last rebalance", style="bold")
    yield Text(f"Assigned by {_describe_assignor(report.inspected)}, read at {state.taken_at}.")
    figures = make_table("")
    for name in ("applied", "optassign", "least possible"):
        figures.add_column(name, justify="right")
    for row in list_figures(report):
        figures.add_row(*row)
    yield figures
    if report.outlook is not None:
        yield from _render_outlook(report.outlook, report.bytes_per_offset, width)
    yield Text("\nWhat to do next", style="bold")
    for number, advice in enumerate(list_advice(report), start=1):
        yield Text(f"{number}. {advice}")
    for remark in report.inspected.remarks:
        yield Text(f"Note: {remark}", style="dim")


def _describe_assignor(inspected: Inspected) -> str:
    """Return the assignor of the applied answer in words."""
    name = inspected.applied.assignor
    if name == UNKNOWN_ASSIGNOR:
        return "an assignor that is not Kafka's own, or by Kafka's with other settings than stated"
    return f"{_NAMES.get(name, name)} ({name})"


def list_figures(report: GroupReport) -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of the last rebalance: figure, value as applied, value of optassign's answer, proven minimum."""
    applied, not_applied = report.recording.summary, report.recording.not_applied
    own = not_applied.summary if not_applied is not None else applied
    handed = len(report.inspected.handed_over)
    yield _row("active tasks moved", applied.moved_active, own.moved_active)
    if handed:
        yield _row("handed over: taken from their owners in the pass before", handed, handed)
    yield _row("offsets to restore", applied.restored, own.restored)
    if (ratio := report.bytes_per_offset) is not None:
        yield "  in bytes, about", format_bytes(ratio * (applied.restored or 0)), format_bytes(ratio * (own.restored or 0)), ""
    yield _row("restore work until balanced", None, own.restore_work, own.restore_work_bound)
    yield _row("warm-ups", applied.warmups, own.warmups)
    yield "follow-up asked for", _say_followup(applied), _say_followup(own), ""


def _row(what: str, applied: int | None, own: int | None, least: int | None = None) -> tuple[str, str, str, str]:
    first, second, third = (_UNKNOWN if each is None else f"{each:,}" for each in (applied, own, least))
    return what, first, second, third


def _say_followup(summary: Summary) -> str:
    return "no" if summary.followup_ms is None else f"in {format_seconds(summary.followup_ms / 1000)}"


def _list_facts(report: GroupReport) -> Iterator[str]:
    state = report.inspected.snapshot
    threads = sum(client.threads for client in state.clients)
    yield f"group.protocol={report.inspected.protocol}"
    yield f"{threads:,} threads"
    yield f"{state.configs.num_standby_replicas} standbys of each logged task"
    yield f"{report.inspected.static_members} static members"
    for zone in report.zones:
        yield f"{zone.tag}: {', '.join(zone.values)} ({zone.tasks_in_one} tasks with all copies in one)"


def _render_instances(report: GroupReport, width: int) -> Iterator[RenderableType]:
    rows = []
    for each in report.instances[:MOST_ROWS]:
        numbers = (each.threads, each.active, each.standby, each.warmup, each.state)
        size = _UNKNOWN if each.bytes is None else format_bytes(each.bytes)
        place = escape_unprintable(each.place)
        rows.append((escape_unprintable(each.name), *(f"{number:,}" for number in numbers), size, place))
    heads = ("instance", "threads", "active", "standby", "warm-up", "offsets", "bytes", "where")
    yield _make_whole_table(width, heads, rows, "where")
    if len(report.instances) > MOST_ROWS:
        yield Text(f"and {len(report.instances) - MOST_ROWS:,} more")


def _render_subtopologies(report: GroupReport, width: int) -> Iterator[RenderableType]:
    rows = []
    for each in report.subtopologies[:MOST_ROWS]:
        state = _UNKNOWN if each.state is None else f"{each.state:,}"
        size = _UNKNOWN if each.bytes is None else format_bytes(each.bytes)
        rows.append((each.name, each.kind, f"{each.tasks:,}", state, size, ", ".join(each.changelogs)))
    heads = ("subtopology", "kind", "tasks", "offsets", "bytes", "changelogs")
    yield _make_whole_table(width, heads, rows, "kind", "changelogs")


def _make_whole_table(width: int, heads: Sequence[str], rows: Sequence[Sequence[str]], *left: str) -> RenderableType:
    """Return a table whose lines break only between words, if the width allows. The first column and `left` hold text."""
    table, texts = make_table(), (heads[0], *left)
    columns = [(head, [row[at] for row in rows]) for at, head in enumerate(heads)]
    least = [
        max(map(len, [*head.split(), *(" ".join(cells).split() if head in texts else cells)]), default=0)
        for head, cells in columns
    ]
    whole = [
        max(size, *map(len, cells)) if cells and head in texts else size
        for (head, cells), size in zip(columns, least, strict=True)
    ]
    if sum(whole) + 3 * (len(heads) - 1) > width:
        table.padding = (0, 0, 0, 0)
    for head, size in zip(heads, least, strict=True):
        if head in texts:
            table.add_column(head, overflow="fold", min_width=min(size, LONGEST_WORD))
        else:
            table.add_column(head, justify="right", width=size)
    for row in rows:
        table.add_row(*row)
    return table


def _render_outlook(outlook: GroupOutlook, bytes_per_offset: float | None, width: int) -> Iterator[RenderableType]:
    yield Text("\nWhat comes next, by the simulator", style="bold")
    yield Text(describe_assumptions(outlook))
    heads = ("", "stable after", "tasks moved", "down, task-s", "longest, s", "restored", "rebalances")
    costs = []
    for event, *cells in _list_costs(outlook, bytes_per_offset):
        costs += [(event, *[""] * len(cells[1:]))] if event else []
        costs.append((f"  {cells[0]}", *cells[1:]))
    yield _make_whole_table(width, heads, costs)
    slots = sorted({number for choice in outlook.warmups for number in choice.seconds})
    rows = []
    for choice in outlook.warmups:
        times = (format_seconds(choice.seconds[number]) if number in choice.seconds else "" for number in slots)
        rows.append((_name(choice.assignor), *times, str(choice.best)))
    yield _make_whole_table(width, ("a scale-out with max.warmup.replicas of", *map(str, slots), "pays"), rows)


def describe_assumptions(outlook: GroupOutlook) -> str:
    """Return the assumed inputs of the simulator with their options, and the tuned settings."""
    assumed = outlook.assumptions
    text = (
        f"An instance restores {assumed.restore_per_s:,.0f} offsets a second (--restore-rate), "
        f"is missed after {assumed.session_timeout_s:g} s (--session-timeout), "
        f"and restarts in {assumed.restart_s:g} s (--restart-time)."
    )
    if outlook.tuned is not None:
        text += (
            f" Tuned: max.warmup.replicas={outlook.tuned.max_warmup_replicas}, "
            f"probing.rebalance.interval.ms={outlook.tuned.probing_rebalance_interval_ms}."
        )
    return text


def _list_costs(outlook: GroupOutlook, bytes_per_offset: float | None) -> Iterator[tuple[str, ...]]:
    """Yield rows: event, assignor, time, moves, downtime, longest, restored (bytes if known, otherwise offsets), rebalances."""
    last = ""
    for cost in outlook.costs:
        event = "" if cost.event == last else EVENTS[cost.event]
        last = cost.event
        yield (
            event,
            _name(cost.assignor) + (", tuned" if cost.tuned else ""),
            format_seconds(cost.seconds),
            f"{cost.moves:,}",
            f"{cost.down_task_s:,.0f}",
            f"{cost.longest_down_s:,.0f}",
            f"{cost.restored:,}" if bytes_per_offset is None else format_bytes(bytes_per_offset * cost.restored),
            f"{cost.rebalances:,}",
        )


def _name(assignor: str) -> str:
    return "optassign" if assignor == OPTASSIGN else "Kafka's default" if assignor == "high-availability" else assignor


def describe_rebalance(inspected: Inspected, recording: Recording, before: Inspected | None) -> str:
    """Return one line about a rebalance. `before`: the previous one seen, if any."""
    applied, not_applied = recording.summary, recording.not_applied
    parts = [f"{len(inspected.snapshot.clients):,} instances", f"assigned by {inspected.applied.assignor}"]
    if before is not None:
        owners = {task: client.process_id for client in before.applied.clients for task in client.active}
        now = {task: client.process_id for client in inspected.applied.clients for task in client.active}
        moved = sum(owners.get(task, client) != client for task, client in now.items())
        parts.append(f"{moved:,} active tasks elsewhere than before")
    parts.append(f"{applied.restored or 0:,} offsets to restore")
    if applied.warmups:
        parts.append(f"{applied.warmups:,} warm-ups")
    if not_applied is not None:
        parts.append(f"optassign: {not_applied.summary.moved_active:,} moved, {not_applied.summary.restored or 0:,} to restore")
    return f"{recording.recorded_at} {', '.join(parts)}"


_ACTIVE, _STANDBY, _WARMUP = "#1f5a94", "#8fbbe0", "#f2a65a"


def check_libraries() -> None:
    """Raise UsageError if a library for the page is not installed."""
    try:
        import jinja2
        import matplotlib  # noqa: F401 - checks that it is installed
    except ImportError:
        raise UsageError("--html needs jinja2 and matplotlib: pip install 'optassign[inspect,plots]'") from None
    del jinja2


def make_page(report: GroupReport) -> str:
    """Return the report as an HTML page, which loads no other file and runs no script."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("optassign.cli.show").joinpath("inspection.html").read_text(encoding="utf-8"))
    outlook = report.outlook
    slots = [] if outlook is None else sorted({number for choice in outlook.warmups for number in choice.seconds})
    return template.render(
        report=report,
        state=report.inspected.snapshot,
        assignor=_describe_assignor(report.inspected),
        figures=list(list_figures(report)),
        costs=[] if outlook is None else list(_list_costs(outlook, report.bytes_per_offset)),
        assumptions="" if outlook is None else describe_assumptions(outlook),
        format_bytes=format_bytes,
        slots=slots,
        warmups=[]
        if outlook is None
        else [
            (
                _name(choice.assignor),
                [format_seconds(choice.seconds[number]) if number in choice.seconds else "" for number in slots],
                choice.best,
            )
            for choice in outlook.warmups
        ],
        advice=list(list_advice(report)),
        bars=_draw(lambda path: _draw_instances(report.instances[:MOST_BARS], path)),
        timeline=None if outlook is None else _draw_timeline(report),
    )


def _draw_timeline(report: GroupReport) -> str:
    from optassign.plots import plot_simulations

    assert report.outlook is not None
    runs = report.outlook.runs
    return _draw(lambda path: save_figure(plot_simulations(runs), path))


def _draw(draw: Callable[[str], None]) -> str:
    """Return the picture that `draw` writes to a path, as an `<svg>` element."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "picture.svg")
        draw(str(path))
        text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _draw_instances(instances: Sequence[InspectedInstance], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.0), layout="constrained")
    panel: Any = figure.subplots()
    places = range(len(instances))
    bottom = [0] * len(instances)
    for role, colour in (("active", _ACTIVE), ("standby", _STANDBY), ("warmup", _WARMUP)):
        counts = [getattr(each, role) for each in instances]
        if any(counts):
            panel.bar(places, counts, 0.8, bottom=bottom, color=colour, label="warm-up" if role == "warmup" else role)
        bottom = [low + count for low, count in zip(bottom, counts, strict=True)]
    panel.set_xticks(list(places), [each.name[:12] for each in instances], rotation=60 if len(instances) > 8 else 0, fontsize=8)
    panel.set_ylabel("tasks")
    panel.legend(loc="upper right", fontsize=8, frameon=False, ncols=3)
    save_figure(figure, path)
