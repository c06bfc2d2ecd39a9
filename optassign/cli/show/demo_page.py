"""The page of `optassign demo`: figures side by side, imbalance over time, an explained move, next steps."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import make_headline, make_table, wrap_lines
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.explain import explain_task
from optassign.judging.explanation_text import pluralize, task_to_lines
from optassign.measuring.client_names import ClientNames
from optassign.simulation.timed.simulator import SimulatedRun, summarise

PLOT_ROWS = 4
"""Rows of a plot: two plots and their texts fit a terminal."""
PLOT_MARGIN = 12
"""Columns to the left and right of a plot, for the scale."""


_NAMES = ("Kafka's default", "optassign")
_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("active tasks balanced after", "balanced_at_s", lambda s: _format_time(s)),
    ("all copies restored after", "last_change_at", lambda s: _format_time(s)),
    ("active task migrations", "moves", lambda n: f"{n:,.0f}"),
    ("  of tasks with state", "moves_logged", lambda n: f"{n:,.0f}"),
    ("processing stopped, summed over tasks", "down_task_s", lambda s: f"{s:.0f} s"),
    ("restored, offsets", "restored", lambda n: f"{n:,.0f}"),
    ("rebalances", "rebalances", lambda n: f"{n:,.0f}"),
)
"""Label, name of the figure, and its format."""
NEXT = (
    ("group.protocol=classic: shadow mode with the plug-in (docs/how-to/adopt.md)", "optassign serve --recordings recordings"),
    (
        "group.protocol=streams: what the broker's assignor would move (docs/how-to/broker.md)",
        "optassign watch --config admin.properties --once --dry-run",
    ),
    ("look only, with nothing installed", "optassign inspect --bootstrap-server localhost:9092 --group orders"),
    ("no Kafka: the cost of a fourth instance here", "optassign demo --snapshot | optassign what-if - --add 1"),
)
"""Application as in README, "Is it for me?" → the next command."""


def render_demo(
    state: ApplicationState, runs: Sequence[SimulatedRun], answer: TaskAssignment, width: int
) -> Iterator[RenderableType]:
    """Render `optassign demo`. `runs`: Kafka's default, then optassign; `answer`: optassign's answer to the snapshot."""
    yield make_headline(f"A third instance joins: {len(state.tasks)} tasks, {pluralize(len(state.clients), 'instance')}")
    configs = state.configs
    about = [
        "Recorded from Kafka Streams 4.3.1, then simulated. An instance restores 100 offsets a second.",
        ", ".join(
            (
                f"num.standby.replicas {configs.num_standby_replicas}",
                f"max.warmup.replicas {configs.max_warmup_replicas}",
                f"probing.rebalance.interval.ms {configs.probing_rebalance_interval_ms}",
            )
        ),
    ]
    yield from wrap_lines(about, width)
    yield Text("")
    table = make_table("")
    for name in _NAMES:
        table.add_column(name, justify="right", no_wrap=True)
    figures = [summarise(run) for run in runs]
    for label, name, show in _ROWS:
        table.add_row(label, *(show(float(each[name] or 0)) for each in figures))
    yield table
    yield from _plot(runs, width)
    yield from _explain(state, answer, width)
    yield Text("")
    yield Text("Next, with your own group", style="bold")
    for reader, command in NEXT:
        yield from wrap_lines([f"  {reader}"], width)
        yield Text(f"    {command}")


def _plot(runs: Sequence[SimulatedRun], width: int) -> Iterator[RenderableType]:
    """Plot the imbalance of each run, on the same axes."""
    end = max(run.measures.last_change_at for run in runs)
    columns = max(20, min(72, width - 2 * PLOT_MARGIN))
    curves = [_sample([(p.at, p.imbalance) for p in run.measures.curve], end, columns) for run in runs]
    most = max(max(curve) for curve in curves)
    yield Text("")
    yield Text("Imbalance over time: copies by which instances are above or below their shares", style="bold")
    for name, run, curve in zip(_NAMES, runs, curves, strict=True):
        rows = _plot_bars(curve, most, PLOT_ROWS)
        for number, row in enumerate(rows):
            left = f"{most:>5} " if number == 0 else " " * 6
            right = (
                f" {name}" if number == 0 else f" 0 after {_format_time(run.measures.last_change_at)}" if number == 1 else ""
            )
            yield Text(f"{left}{row:<{columns}}{right}".rstrip())
        yield Text(f"    0 {'─' * columns}")
    marks = f"{'0 s':<{columns // 2}}{_format_time(end / 2)}"
    yield Text(" " * 6 + f"{marks:<{columns - 7}}{_format_time(end):>7}")


def _sample(curve: Sequence[tuple[float, int]], end: float, columns: int) -> list[int]:
    """Return the value in the middle of each column. `curve`: (since when, value), by time."""
    sampled = []
    for column in range(columns):
        at = end * (column + 0.5) / columns
        sampled.append([value for since, value in curve if since <= at][-1])
    return sampled


def _explain(state: ApplicationState, answer: TaskAssignment, width: int) -> Iterator[RenderableType]:
    """Explain the first task whose active waits for its target instance; without one, the first task."""
    waiting = next((entry.task for entry in answer.report.waiting if entry.role == "active"), state.tasks[0].id)
    names = ClientNames(state)

    def label(process_id: str) -> str:
        return names.short(process_id) or process_id

    yield Text("")
    yield Text(f"Why does task {waiting} move in two steps? (optassign explain --task {waiting})", style="bold")
    yield from wrap_lines((f"  {line}" for line in [*task_to_lines(explain_task(state, answer, waiting), label)][1:]), width)


def _format_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


_EIGHTHS = " ▁▂▃▄▅▆▇█"


def _plot_bars(values: Sequence[float], most: float, rows: int) -> list[str]:
    """Return lines from the top, a column for each value: `most` fills all rows; a value above 0 fills at least an eighth of a
    row.
    """
    heights = [max(round(8 * rows * value / most), int(value > 0)) if most > 0 else 0 for value in values]
    return ["".join(_EIGHTHS[max(0, min(8, height - 8 * row))] for height in heights) for row in reversed(range(rows))]
