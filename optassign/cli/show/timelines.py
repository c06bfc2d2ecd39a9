"""Simulated runs as a picture: who has which task over time, and the curves of what users feel."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from optassign.cli.show.pictures import save_figure
from optassign.simulation.timed.measures import Point
from optassign.simulation.timed.simulator import Played
from optassign_models.policy.display import DRAWN_TASKS

__all__ = ["draw_timelines"]

_COLOURS = ("#1f5a94", "#d1495b", "#66a182", "#edae49", "#6f4e9c", "#7f7f7f")
_DOWN = "#b3202a"
_CURVES: tuple[tuple[str, Callable[[Point], float]], ...] = (
    ("imbalance of actives, by client", lambda point: point.client_imbalance),
    ("tasks not processed", lambda point: point.down),
    ("records that wait", lambda point: point.backlog),
    ("standbys missing", lambda point: point.standbys_missing),
)


def draw_timelines(runs: Sequence[Played], path: str) -> None:
    """Draw into a file, whose suffix says of what kind. UsageError for an unknown suffix, InputError if it cannot be written.

    Above: the four curves, a line for each assignor. Below, for up to sixty tasks, a panel for each assignor: a row for each
    task, in the colour of the client that has it, red where no client processes it.
    """
    from matplotlib.figure import Figure

    with_rows = runs if len(runs[0].tasks) <= DRAWN_TASKS else ()
    heights = [1.6] * len(_CURVES) + [max(1.6, 0.09 * len(played.tasks)) for played in with_rows]
    figure = Figure(figsize=(9.6, sum(heights) + 0.8), layout="constrained")
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}).ravel()
    unit, name = _choose_unit(runs[0].scenario.duration_s)
    for panel, (label, value) in zip(panels, _CURVES, strict=False):
        _draw_curve(panel, runs, label, value, unit)
    panels[0].legend(loc="upper right", fontsize=8, frameon=False)
    for panel, played in zip(panels[len(_CURVES) :], with_rows, strict=True):
        _draw_holders(panel, played, unit)
    panels[-1].set_xlabel(name)
    figure.suptitle(f"{runs[0].scenario.name}, seed {runs[0].scenario.seed}", fontsize=11)
    save_figure(figure, path)


def _choose_unit(seconds: float) -> tuple[float, str]:
    """Seconds of a unit of the axis, and its name."""
    if seconds >= 4 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds >= 300 else (1.0, "seconds")


def _draw_curve(panel: Any, runs: Sequence[Played], label: str, value: Callable[[Point], float], unit: float) -> None:
    for colour, played in zip(_COLOURS * len(runs), runs, strict=False):
        times = [point.at / unit for point in played.felt.curve]
        values = [value(point) for point in played.felt.curve]
        end = played.scenario.duration_s / unit
        panel.step([*times, end], [*values, values[-1]], where="post", color=colour, linewidth=1.1, label=played.assignor)
    panel.set_ylabel(label, fontsize=8)
    panel.set_ylim(bottom=0)
    panel.margins(x=0)
    panel.tick_params(labelsize=8)


def _draw_holders(panel: Any, played: Played, unit: float) -> None:
    """A row for each task."""
    from matplotlib import colormaps

    colours = colormaps["tab20"]
    holders = [*played.felt.holders, (played.scenario.duration_s, (), ())]
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for (begin, owner, running), (end, _, _) in pairwise(holders):
        for task, (client, runs) in enumerate(zip(owner, running, strict=True)):
            colour = _DOWN if not runs else str(client % 20)
            bars.setdefault((task, colour), []).append((begin / unit, (end - begin) / unit))
    for (task, colour), spans in sorted(bars.items()):
        face = colour if colour == _DOWN else colours(int(colour))
        panel.broken_barh(spans, (task + 0.05, 0.9), facecolors=face, linewidth=0)
    panel.set_ylim(len(played.tasks), 0)
    panel.set_yticks([])
    panel.set_ylabel(f"tasks by client\n{played.assignor}", fontsize=8)
    panel.tick_params(labelsize=8)
