"""`python docs/site/weights_picture.py`: draw what a weight buys, from the study `weights` of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drawing import Colours, svg, text, write_all

from optassign_benchmarks.results import read_study

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 62, 600, 58, 300
MOST = 24
"""Copies per thread, at the top of the picture."""


@dataclass(frozen=True)
class DrawnPlan:
    """One plan: restore work as a share of the first plan's, and copies per thread, most − least."""

    stickiness: float
    work: float
    apart: float

    @property
    def place(self) -> tuple[float, float]:
        """Where it is drawn."""
        return LEFT + self.work * (RIGHT - LEFT), BOTTOM - self.apart / MOST * (BOTTOM - TOP)


def main() -> None:
    """Draw the rows of the study."""
    (table,) = read_study("weights").tables
    fronts: dict[str, list[DrawnPlan]] = {}
    for cells in table.rows:
        row = dict(zip(table.columns, map(str, cells), strict=True))
        tasks, clients = row["tasks × clients"].split(" × ")
        plan = DrawnPlan(
            stickiness=float(row["stickiness"]),
            work=float(row["of the first row"].removesuffix("%")) / 100,
            apart=float(row["copies per thread, most − least"]),
        )
        fronts.setdefault(f"{tasks} tasks on {clients} instances", []).append(plan)
    write_all({"weights": lambda colours: draw(fronts, colours)})


def draw(fronts: Mapping[str, Sequence[DrawnPlan]], colours: Colours) -> str:
    """Draw a line for each size; the larger one tells the stickiness of its points."""
    parts = [text(LEFT - 40, 24, "Restore work against imbalance, by stickiness", colours.text, size=15, weight=600)]
    for share in range(0, 101, 25):
        x = LEFT + share / 100 * (RIGHT - LEFT)
        parts.append(f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{BOTTOM}" stroke="{colours.grid}"/>')
        parts.append(text(x, BOTTOM + 18, f"{share}%", colours.faint, anchor="middle"))
    for apart in range(0, MOST + 1, 6):
        y = BOTTOM - apart / MOST * (BOTTOM - TOP)
        parts.append(text(LEFT - 10, y + 4, str(apart), colours.faint, anchor="end"))
    parts.append(text(LEFT, TOP - 12, "copies per thread, most − least", colours.faint))
    parts.append(text(RIGHT, BOTTOM + 40, "offsets to restore, of those with stickiness 0.1", colours.faint, anchor="end"))
    for (name, points), colour, row in zip(fronts.items(), (colours.other, colours.ours), (0, 1), strict=True):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point.place for point in points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(RIGHT, TOP + 16 + 18 * row, name, colour, anchor="end", weight=600))
        for point in points:
            x, y = point.place
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
            if row and point.stickiness >= 10:
                above = 10 if point is points[-1] else 2  # the last two are near to each other
                parts.append(text(x + 8, y - above, f"{point.stickiness:,.0f}", colours.text))
    return svg(WIDTH, HEIGHT, parts, "weights_picture.py")


if __name__ == "__main__":
    main()
