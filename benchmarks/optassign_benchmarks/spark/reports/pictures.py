"""The pictures of the report, as SVG with the text colour of the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["PICTURES", "Rows"]


Rows = Sequence[dict[str, Any]]
"""The rows of the picture's table: column → value."""

_TEXT = "#010203"
"""A unique colour, which is replaced by the colour of the page's text."""
_COLOURS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    *("#e377c2", "#17becf", "#bcbd22", "#7f7f7f", "#3f51b5", "#00897b"),
)
_MARKS = "osD^vPX*<>hp"
_STYLES = len(_MARKS)


def _draw_seconds(rows: Rows) -> str:
    """Return a chart of each assignor's median seconds over the number of tasks."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for i, name in enumerate(_assignor_names(rows)):
            mine = sorted((row for row in rows if row["assignor"] == name), key=lambda row: row["tasks"])
            x = [row["tasks"] for row in mine]
            axes.plot(
                x, [row["median"] for row in mine], marker=_MARKS[i % _STYLES], color=_COLOURS[i % _STYLES], label=name, ms=5
            )
            axes.fill_between(
                x, [r["least"] for r in mine], [r["most"] for r in mine], color=_COLOURS[i % _STYLES], alpha=0.12, lw=0
            )
        axes.set(xscale="log", yscale="log", xlabel="tasks", ylabel="seconds; line: median, band: minimum to maximum")
        _set_size_ticks(axes, rows)
        axes.yaxis.set_major_formatter(_format_tick)
        figure.legend(loc="outside right upper", frameon=False)

    return _to_svg(draw, 8.6, 4.6)


def _draw_restored(rows: Rows) -> str:
    drawn = [row for row in rows if row["median"] is not None]
    return _draw_dots(drawn, "median", "most", "restored ÷ proven minimum; dot: median, line: to the maximum", least=1.0)


def _draw_rebalances(rows: Rows) -> str:
    by: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        by.setdefault((row["shape"], row["assignor"]), []).append((row["rebalances, median"], row["most"]))
    merged = [
        {"shape": shape, "assignor": name, "median": max(m for m, _ in values), "most": max(most for _, most in values)}
        for (shape, name), values in sorted(by.items())
    ]
    return _draw_dots(merged, "median", "most", "rebalances; dot: median of the slowest size, line: to the maximum", least=1.0)


def _draw_gaps(rows: Rows) -> str:
    bounded = [row for row in rows if row["gap, most"] is not None]
    if not bounded:
        return ""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        keys = sorted({(row["assignor"], row["stage"], row["goal"]) for row in bounded if row["gap, most"] > 0})
        for i, key in enumerate(keys):
            mine = sorted((r for r in bounded if (r["assignor"], r["stage"], r["goal"]) == key), key=lambda row: row["tasks"])
            style = {"marker": _MARKS[i % _STYLES], "color": _COLOURS[i % _STYLES], "ls": "-" if i < _STYLES else "--", "ms": 5}
            axes.plot([r["tasks"] for r in mine], [r["gap, most"] for r in mine], label=f"{key[0]}: {key[1]} {key[2]}", **style)
        axes.set_yscale("symlog", linthresh=1e-3)
        axes.set(xscale="log", xlabel="tasks", ylabel="greatest gap, share of the value (0: all proven)", ylim=(0, None))
        _set_size_ticks(axes, rows)
        axes.yaxis.set_major_formatter(_format_tick)
        if keys:
            figure.legend(loc="outside right upper", frameon=False)

    return _to_svg(draw, 9.6, 4.2)


def _draw_measures(rows: Rows) -> str:
    """Return a chart of assignors from top to bottom, with a panel for each measure and a mark for each shape."""
    names, shapes = _assignor_names(rows), sorted({row["shape"] for row in rows})
    shown = list(rows[0])[list(rows[0]).index("balanced") + 1 :]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for panel, measure in zip(panels, shown, strict=True):
            for i, shape in enumerate(shapes):
                mine = [row for row in rows if row["shape"] == shape]
                style = {"marker": _MARKS[i % _STYLES], "color": _COLOURS[i % _STYLES], "ls": "", "ms": 5, "alpha": 0.8}
                label = shape if panel is panels[0] else None
                y = [names.index(row["assignor"]) for row in mine]
                panel.plot([row[measure] for row in mine], y, label=label, clip_on=False, **style)
            panel.set_title(measure, fontsize=9)
            _start_x_axis_at_zero(panel, [row[measure] for row in rows if row[measure] is not None])
        panels[0].set_yticks(range(len(names)), names)
        panels[0].invert_yaxis()
        figure.supxlabel("means per 100 tasks; subtopology balance in clients", fontsize=9)
        figure.legend(loc="outside right upper", frameon=False)

    return _to_svg(draw, 2.4 + 1.45 * len(shown), 1.4 + 0.28 * len(names))


def _draw_savings(rows: Rows) -> str:
    return _draw_bars(rows, "restored then", "restored now", "offsets restored")


def _draw_episodes(rows: Rows) -> str:
    return _draw_bars([row for row in rows if row["episodes"]], "rebalances then", "rebalances now", "rebalances")


def _keep_whole(rows: Rows, then: str, *by: str) -> Rows:
    """Return the rows whose recorded value `then` is the most of their group: the assignors that answered all its recordings.

    The sums of other assignors are of fewer recordings, so they cannot be compared.
    """
    most: dict[tuple[Any, ...], Any] = {}
    for row in rows:
        key = tuple(row[name] for name in by)
        most[key] = max(most.get(key, row[then]), row[then])
    return [row for row in rows if row[then] == most[tuple(row[name] for name in by)]]


def _draw_days(rows: Rows) -> str:
    days = sorted({row["day"] for row in rows})
    if len(days) < 2:
        return ""
    rows = _keep_whole(rows, "restored then", "application", "day")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        names = _assignor_names(rows)
        recorded = {(r["application"], r["day"]): r["restored then"] for r in rows}
        then = [sum(value for (_, day), value in recorded.items() if day == d) for d in days]
        axes.plot(days, then, color=_TEXT, lw=2, marker="o", ms=3, label="recorded")
        for i, name in enumerate(names):
            now = [sum(r["restored now"] for r in rows if r["day"] == d and r["assignor"] == name) for d in days]
            axes.plot(days, now, color=_COLOURS[i % _STYLES], marker=_MARKS[i % _STYLES], ms=4, label=name)
        axes.set(ylabel="offsets restored", yscale="symlog")
        step = max(1, len(days) // 10)
        axes.set_xticks(range(0, len(days), step), days[::step], rotation=30, ha="right")
        figure.legend(loc="outside right upper", frameon=False)

    return _to_svg(draw, 8.6, 3.8)


PICTURES: dict[str, Callable[[Rows], str]] = {
    "seconds": _draw_seconds,
    "restored": _draw_restored,
    "rebalances": _draw_rebalances,
    "gaps": _draw_gaps,
    "measures": _draw_measures,
    "savings": _draw_savings,
    "episodes": _draw_episodes,
    "days": _draw_days,
}
"""Name → function that returns the picture as SVG from the rows of its table, or an empty text without values to draw."""


def _draw_dots(rows: Rows, value: str, upto: str, label: str, least: float) -> str:
    """Return a chart of assignors from top to bottom, with a panel for each shape: a dot at `value`, a line up to `upto`.

    The result is SVG, empty without rows. The x axis is logarithmic. `least`: the best possible value, marked by a dotted
    line. `label`: of the x axis.
    """
    shapes, names = sorted({row["shape"] for row in rows}), _assignor_names(rows)
    if not rows:
        return ""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(shapes), sharey=True, sharex=True, squeeze=False)[0]
        for panel, shape in zip(panels, shapes, strict=True):
            for row in (row for row in rows if row["shape"] == shape):
                y = names.index(row["assignor"])
                colour = _COLOURS[y % _STYLES]
                panel.plot([row[value], row[upto]], [y, y], color=colour, lw=1.5)
                panel.plot([row[value]], [y], marker="o", color=colour, ms=6)
            panel.axvline(least, color=_TEXT, lw=0.6, ls=":")
            panel.set_title(shape, fontsize=10)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(_format_tick)
        panels[0].set_yticks(range(len(names)), names)
        panels[0].invert_yaxis()
        figure.supxlabel(label, fontsize=9)

    return _to_svg(draw, max(6.0, 1.6 + 2.1 * len(shapes)), 1.4 + 0.28 * len(names))


def _draw_bars(rows: Rows, then: str, now: str, label: str) -> str:
    """Return a bar chart with the recorded value and each assignor's value, for each of the first 12 applications."""
    if not rows:
        return ""
    rows = _keep_whole(rows, then, "application")
    applications, names = sorted({row["application"] for row in rows}), _assignor_names(rows)
    shown = applications[:12]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        width = 0.8 / (len(names) + 1)
        first = {row["application"]: row[then] for row in rows}
        axes.bar(
            [i - 0.4 for i in range(len(shown))],
            [first[a] for a in shown],
            width,
            align="edge",
            color="#888888",
            label="recorded",
        )
        for n, name in enumerate(names, start=1):
            values = {row["application"]: row[now] for row in rows if row["assignor"] == name}
            x = [i - 0.4 + n * width for i in range(len(shown))]
            axes.bar(x, [values.get(a, 0) for a in shown], width, align="edge", color=_COLOURS[(n - 1) % _STYLES], label=name)
        axes.set_xticks(range(len(shown)), [a or "(unknown)" for a in shown], rotation=20 if len(shown) > 4 else 0)
        axes.set(ylabel=label)
        axes.yaxis.set_major_formatter(_format_tick)
        figure.legend(loc="outside right upper", frameon=False)

    return _to_svg(draw, 8.6, 3.8)


def _format_tick(value: float, _: int) -> str:
    """Return the label of a tick, without an exponent."""
    return f"{value:,.10g}"


def _start_x_axis_at_zero(axes: Any, values: Sequence[float]) -> None:
    """Start the x axis at 0, with few ticks; logarithmic above 1 if the values differ by more than a factor of 10."""
    most = max(values, default=0.0)
    if most > 10 * min((value for value in values if value > 0), default=most):
        axes.set_xscale("symlog", linthresh=1)
        powers = range(int(math.log10(max(most, 1))) + 1)
        step = 1 + len(powers) // 4
        axes.set_xticks([0, *(10**power for power in powers[::step])])
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(_format_tick)


def _set_size_ticks(axes: Any, rows: Rows) -> None:
    """Set the ticks of the x axis to the numbers of tasks in the rows."""
    sizes = sorted({row["tasks"] for row in rows})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xticks([], minor=True)


def _assignor_names(rows: Rows) -> list[str]:
    return sorted({row["assignor"] for row in rows})


def _to_svg(draw: Callable[[Any], None], width: float, height: float) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text: it can be searched for, and takes the page's font
        "svg.hashsalt": "optassign",  # the same picture gives the same file
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.alpha": 0.25,
        **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), _TEXT),
        "figure.facecolor": "none",
        "axes.facecolor": "none",
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].replace(_TEXT, "currentColor")
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL).strip()
