"""Charts of the Grafana dashboard's panels from Prometheus, for machines without Grafana."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Series = Sequence[Mapping[str, Any]]


def draw_dashboard(dashboard: Mapping[str, Any], ask: Callable[[str], Series], file: Path) -> set[str]:
    """Draw each panel at its place into a PNG, and return the titles of panels without data.

    ask: returns the series of a query over time, in the form of Prometheus's `query_range`.
    """
    panels = dashboard["panels"]
    figure = Figure(figsize=(13, 3.4 * ((len(panels) + 1) // 2)), layout="constrained")
    axes = figure.subplots((len(panels) + 1) // 2, 2).flat
    empty = set()
    for axis, panel in zip(axes, panels, strict=False):
        drawn = 0
        for target in panel["targets"]:
            for series in ask(target["expr"]):
                points = [
                    (datetime.fromtimestamp(float(at), UTC), float(value)) for at, value in series["values"] if value != "NaN"
                ]
                at, values = zip(*points, strict=True) if points else ((), ())
                if panel["type"] == "state-timeline":
                    axis.plot(at, [drawn] * len(at), "s", label=_label(target, series))
                else:
                    axis.plot(at, values, ".", label=_label(target, series))  # no line, so that gaps are visible
                drawn += bool(points)
        axis.set_title(panel["title"])
        if drawn:
            axis.legend(fontsize=7)
        else:
            empty.add(panel["title"])
            axis.text(0.5, 0.5, "No data", ha="center", transform=axis.transAxes)
    figure.savefig(file, dpi=70)
    return empty


def _label(target: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    """Return the legend in Grafana's format."""
    labels: Mapping[str, str] = series["metric"]
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), target.get("legendFormat", ""))
