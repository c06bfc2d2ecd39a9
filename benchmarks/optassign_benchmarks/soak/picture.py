"""A soak as a picture: memory, descriptors, threads and disk over time, a line for each process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optassign_benchmarks.soak.samples import Sample

__all__ = ["draw_soak"]

_COLOURS = {"service": "#1f5a94", "worker": "#66a182", "application": "#d1495b", "broker": "#7f7f7f"}
_FOLDERS = ("#1f5a94", "#edae49", "#d1495b", "#7f7f7f")
_PANELS = (
    ("memory", "memory, MiB", 1 << 20),
    ("descriptors", "descriptors", 1),
    ("threads", "threads", 1),
    ("disk", "disk, MiB", 1 << 20),
)
_MOST_POINTS = 120
"""The points of a line: more cannot be told apart."""


def draw_soak(samples: Sequence[Sample], actions: Sequence[float], file: Path) -> None:
    """Draw into a file, of the kind that its suffix says (PNG, SVG …). actions: seconds at which something was done."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines: dict[tuple[str, str, int | None], list[Sample]] = defaultdict(list)
    for sample in samples:
        lines[sample.kind, sample.name, sample.pid].append(sample)
    figure = Figure(figsize=(9.6, 8.0), layout="constrained")
    panels = figure.subplots(len(_PANELS), 1, sharex=True)
    for panel, (quantity, label, unit) in zip(panels, _PANELS, strict=True):
        _draw_lines(panel, lines, quantity, unit)
        panel.set_ylabel(label)
        panel.set_ylim(0, 1.3 * panel.get_ylim()[1])  # room for the legend
        panel.legend(loc="upper left", ncols=4, fontsize=8, frameon=False)
    panels[-1].eventplot(
        [time / 60 for time in actions], lineoffsets=0, linelengths=0.12 * panels[-1].get_ylim()[1], colors="#707070"
    )
    panels[-1].set_xlabel("minutes; grey ticks: an instance or the service is hurt, or comes back")
    with mpl.rc_context({"svg.hashsalt": "soak", "svg.fonttype": "none"}):
        figure.savefig(file, dpi=130, metadata={"Date": None} if file.suffix == ".svg" else None)


def _draw_lines(panel: Any, lines: dict[tuple[str, str, int | None], list[Sample]], quantity: str, unit: int) -> None:
    named: set[str] = set()
    for (kind, _, _), one in lines.items():
        if getattr(one[0], quantity) is None:
            continue
        colour = _COLOURS.get(kind) or _FOLDERS[len(named) % len(_FOLDERS)]
        shown = one[:: max(1, len(one) // _MOST_POINTS)]
        panel.plot(
            [sample.at / 60 for sample in shown],
            [getattr(sample, quantity) / unit for sample in shown],
            color=colour,
            linewidth=0.9,
            label=None if kind in named else kind,
        )
        named.add(kind)
