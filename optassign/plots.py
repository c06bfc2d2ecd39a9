"""Plots as matplotlib figures: tasks per client under each assignor, the price of balance, simulated runs over time."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from optassign.assignor import find_traits, is_own
from optassign.errors import ArgumentError, MissingPackageError
from optassign.judging.comparison import PREVIOUS, ComparedAnswer, Comparison
from optassign.measuring.balance import compute_shares
from optassign.simulation.timed.measures import Point
from optassign.simulation.timed.scenario import EventKind
from optassign.simulation.timed.simulator import SimulatedRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optassign.analysis.front import ParetoFront
    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState

_LINE_WIDTH = 1.1
"""Width of the uppermost curve of a plot, in points: the usual width of the plots here."""
_LINE_BROADER = 1.3
"""Width that each curve has in addition to the curve drawn over it, in points. Equal curves stay visible on both sides."""

MOST_ACROSS = 3
"""Most panels in a row: with more, each is too narrow."""
DRAWN_TASKS = 60
"""Most tasks for which `plot_simulations` draws a row for each task: more rows are too thin."""
ROOM_OF_A_NAME = 0.04
"""Least distance of two named events, as a share of the simulated time: closer names would overlap."""


_ACTIVE, _STANDBY, _WARMUP, _BEFORE, _END = "#1f5a94", "#8fbbe0", "#f2a65a", "#333333", "#b3202a"


def plot_comparison(state: "ApplicationState", comparison: Comparison) -> "Figure":
    """Plot the tasks of each client under each assignor.

    Panels share their axes: clients by process id, tasks per client. Bars: after this rebalance. Solid line: active tasks
    before. Dotted lines: the bounds of the share of active tasks. Red dots: active tasks after convergence, if played.

    Raises:
        MissingPackageError: without matplotlib.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> figure = optassign.plot_comparison(state, optassign.compare(state, ["cp-sat", "sticky"]))
        >>> len(figure.axes)
        2
    """
    columns = [column for column in comparison.columns if column.name != PREVIOUS]
    before = _TaskCounts(state, comparison.columns[0].answer)
    across = min(MOST_ACROSS, max(1, len(columns)))
    down = max(1, math.ceil(len(columns) / across))
    figure = _make_figure(figsize=(4.6 * across, 2.5 * down + 0.8))
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, column in zip(panels, columns, strict=False):
        _draw_panel(panel, state, column, before)
    for panel in panels[len(columns) :]:
        panel.set_visible(False)
    for panel in panels[::across]:
        panel.set_ylabel("tasks per client")
    handles = {label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles), frameon=False)
    title = f"{state.application or 'snapshot'}: {len(state.tasks):,} tasks on {len(state.clients):,} clients"
    figure.suptitle(title, fontsize=12)
    return figure


def _draw_panel(panel: Any, state: "ApplicationState", column: ComparedAnswer, before: "_TaskCounts") -> None:
    after = _TaskCounts(state, column.answer)
    x = range(len(state.clients))
    width = 0.8 if len(state.clients) <= 60 else 1.0
    panel.bar(x, after.active, width, color=_ACTIVE, label="active")
    panel.bar(x, after.standby, width, bottom=after.active, color=_STANDBY, label="standby")
    top = [a + s for a, s in zip(after.active, after.standby, strict=True)]
    if any(after.warmup):
        panel.bar(x, after.warmup, width, bottom=top, color=_WARMUP, label="warm-up")
    panel.step(x, before.active, where="mid", color=_BEFORE, linewidth=1.2, label="active before")
    allowed = compute_shares(state).active
    for bound, label in (("low", "share of active tasks"), ("high", None)):
        limits = [getattr(allowed[client.process_id], bound) for client in state.clients]
        panel.step(x, limits, where="mid", color=_BEFORE, linewidth=0.8, linestyle=":", label=label)
    if column.played is not None:
        end = _TaskCounts(state, column.played.final)
        size = 14 if len(state.clients) <= 60 else 3
        panel.scatter(x, end.active, s=size, color=_END, zorder=3, label="active in the end")
    panel.set_title(f"{column.name}: {column.measures.active_moves:,} moved", fontsize=10)
    panel.set_xlabel("clients by process id", fontsize=8)
    panel.tick_params(labelsize=8)
    panel.set_xticks([])
    panel.spines[["top", "right"]].set_visible(False)


class _TaskCounts:
    """Tasks per client by role, in the order of the snapshot's clients."""

    def __init__(self, state: "ApplicationState", answer: "TaskAssignment") -> None:
        assigned = [answer.by_process_id.get(client.process_id) for client in state.clients]
        self.active = [len(client.active) if client else 0 for client in assigned]
        self.standby = [len(client.standby) if client else 0 for client in assigned]
        self.warmup = [len(client.warmup) if client else 0 for client in assigned]


_COLOURS = ("#1f5a94", "#d1495b", "#66a182", "#edae49", "#6f4e9c", "#7f7f7f")
_DOWN = "#b3202a"
_TOP = "cp-sat"
_MARKED = (*get_args(EventKind), "back", "left")
"""Events of a run that get a mark: those of the scenario, and instances that return or have left after a drain."""
_CURVES: tuple[tuple[str, Callable[[Point], float]], ...] = (
    ("imbalance of actives, by client", lambda point: point.client_imbalance),
    ("tasks not processed", lambda point: point.down),
    ("records that wait", lambda point: point.backlog),
    ("standbys missing", lambda point: point.standbys_missing),
)


def plot_front(front: "ParetoFront", title: str) -> "Figure":
    """Plot the imbalance of each target of a Pareto front over its restore work, in offsets.

    Raises:
        MissingPackageError: without matplotlib.

    Examples:
        >>> import optassign
        >>> from optassign.analysis.front import trace_pareto_front
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> figure = optassign.plot_front(trace_pareto_front(state), "scale-out")
    """
    figure = _make_figure(figsize=(6.4, 4.0))
    panel = figure.subplots()
    work, imbalance = [point.restore_work for point in front.points], [point.imbalance for point in front.points]
    panel.plot(work, imbalance, marker="o", markersize=4, linewidth=1.1, color=_ACTIVE)
    panel.set_xlabel("restore work, offsets")
    panel.set_ylabel("imbalance of all shares")
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.tick_params(labelsize=8)
    panel.set_title(f"{title}: what balance costs", fontsize=11)
    return figure


def plot_simulations(runs: Sequence[SimulatedRun]) -> "Figure":
    """Plot simulations of one scenario under several assignors.

    Above: four curves, a line for each assignor. Below, for up to sixty tasks: a panel for each assignor with a row for each
    task. A row has the colour of the task's client, and is red while no client processes the task.

    Raises:
        ArgumentError: if `runs` is empty.
        MissingPackageError: without matplotlib.

    Examples:
        >>> import optassign
        >>> runs = [optassign.simulate("crash", name) for name in ("cp-sat", "sticky")]
        >>> figure = optassign.plot_simulations(runs)
    """
    if not runs:
        raise ArgumentError("runs", "none", "at least one")
    with_rows = runs if len(runs[0].tasks) <= DRAWN_TASKS else ()
    heights = [1.6] * len(_CURVES) + [max(1.6, 0.09 * len(played.tasks)) for played in with_rows]
    figure = _make_figure(figsize=(9.6, sum(heights) + 0.8))
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}).ravel()
    unit, name = _choose_unit(runs[0].scenario.duration_s)
    for panel, (label, value) in zip(panels, _CURVES, strict=False):
        _draw_curve(panel, runs, label, value, unit)
    for panel in panels:
        for at in sorted({event["at"] for event in _list_marks(runs[0])}):
            panel.axvline(at / unit, color=_BEFORE, linewidth=0.6, linestyle=":")
    _name_events(panels[0], runs[0], unit)
    panels[0].legend(loc="upper right", fontsize=8, frameon=False)
    for panel, played in zip(panels[len(_CURVES) :], with_rows, strict=True):
        _draw_holders(panel, played, unit)
    panels[-1].set_xlabel(name)
    figure.suptitle(f"{runs[0].scenario.name}, seed {runs[0].scenario.seed}", fontsize=11)
    return figure


def _make_figure(figsize: tuple[float, float]) -> "Figure":
    """Return a figure without a window. MissingPackageError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError("a plot", "matplotlib", "'optassign[plots]'") from None
    return Figure(figsize=figsize, layout="constrained")


def _choose_unit(seconds: float) -> tuple[float, str]:
    """Return the unit of the time axis for a run of `seconds`: its length in seconds, and its name."""
    if seconds >= 4 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds >= 300 else (1.0, "seconds")


def _list_marks(played: SimulatedRun) -> list[dict[str, Any]]:
    """Return the events that get a mark (`_MARKED`), also each restart of a rolling restart and each return."""
    return [event for event in played.events if event["event"] in _MARKED]


def _name_events(panel: Any, played: SimulatedRun, unit: float) -> None:
    """Write the names of marked events above a panel; an event too close to the last named event stays unnamed."""
    last = -math.inf
    for event in _list_marks(played):
        if event["at"] - last >= played.scenario.duration_s * ROOM_OF_A_NAME:
            place = (event["at"] / unit, 1.02)
            panel.annotate(event["event"], place, xycoords=("data", "axes fraction"), fontsize=7, rotation=30, color=_BEFORE)
            last = event["at"]


def _draw_curve(panel: Any, runs: Sequence[SimulatedRun], label: str, value: Callable[[Point], float], unit: float) -> None:
    coloured = list(zip(_COLOURS * len(runs), runs, strict=False))
    # Optimising assignors are drawn last, cp-sat after all others. Each line is thinner than the lines below it, so equal
    # curves all remain visible.
    coloured.sort(key=lambda each: (is_own(name := each[1].assignor) and find_traits(name).optimises, name == _TOP))
    for below, (colour, played) in enumerate(coloured):
        times = [point.at / unit for point in played.measures.curve]
        values = [value(point) for point in played.measures.curve]
        end = played.scenario.duration_s / unit
        width = _LINE_WIDTH + _LINE_BROADER * (len(coloured) - 1 - below)
        panel.step([*times, end], [*values, values[-1]], where="post", color=colour, linewidth=width, label=played.assignor)
    panel.set_ylabel(label, fontsize=8)
    panel.set_ylim(bottom=0)
    panel.margins(x=0)
    panel.tick_params(labelsize=8)


def _draw_holders(panel: Any, played: SimulatedRun, unit: float) -> None:
    from matplotlib import colormaps

    colours = colormaps["tab20"]
    holders = [*played.measures.holders, (played.scenario.duration_s, (), ())]  # the end, for pairs
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for (begin, owner, running), (end, _, _) in pairwise(holders):
        for task, (client, runs) in enumerate(zip(owner, running, strict=True)):
            if runs and client < 0:  # the task does not exist at that time
                continue
            colour = _DOWN if not runs else str(client % 20)
            bars.setdefault((task, colour), []).append((begin / unit, (end - begin) / unit))
    for (task, colour), spans in sorted(bars.items()):
        face = colour if colour == _DOWN else colours(int(colour))
        panel.broken_barh(spans, (task + 0.05, 0.9), facecolors=face, linewidth=0)
    panel.set_ylim(len(played.tasks), 0)
    panel.set_yticks([])
    panel.set_ylabel(f"tasks by client\n{played.assignor}", fontsize=8)
    panel.tick_params(labelsize=8)
