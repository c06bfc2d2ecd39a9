"""Pictures as SVG, made on the server: colours are classes of the style sheet, so that they follow light and dark."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from optassign.printable import shorten_name
from optassign.service.views.heat_map import HeatMap
from optassign.service.views.types import ClientRow
from optassign_models.policy.constants import (
    CHART_HEIGHT,
    CHART_LEFT,
    CHART_WIDTH,
    LABEL_LENGTH,
    LABEL_WIDTH,
    NUMBERED_COLUMNS,
    ROW_HEIGHT,
    SHADES,
)

__all__ = ["draw_heat_map", "draw_share", "draw_steps"]


def draw_steps(at: Sequence[float], values: Sequence[float | None], about: str) -> Markup:
    """A curve in steps: each value holds until the next. Unknown ones are left out."""
    known = [(x, float(y)) for x, y in zip(at, values, strict=True) if y is not None]
    if not known:
        return Markup('<p class="faint">nothing known</p>')
    first, last = known[0][0], known[-1][0]
    most = max(y for _, y in known)

    def place_x(x: float) -> float:
        return CHART_LEFT + (CHART_WIDTH - CHART_LEFT - 6) * ((x - first) / (last - first) if last > first else 0.5)

    def place_y(y: float) -> float:
        return CHART_HEIGHT - 10 - (CHART_HEIGHT - 22) * (y / most if most else 0.0)

    path = f"M{place_x(known[0][0]):.1f} {place_y(known[0][1]):.1f}"
    path += "".join(f"H{place_x(x):.1f}V{place_y(y):.1f}" for x, y in known[1:])
    end = CHART_WIDTH - 6
    path += f"H{end}"
    parts = [
        f'<svg class="steps" viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" role="img" aria-label="{escape(about)}">',
        f'<path class="grid" d="M{CHART_LEFT} {place_y(0):.1f}H{end}M{CHART_LEFT} {place_y(most):.1f}H{end}"/>',
        f'<text x="{CHART_LEFT - 6}" y="{place_y(most) + 4:.1f}" text-anchor="end">{_shorten_number(most)}</text>',
        f'<text x="{CHART_LEFT - 6}" y="{place_y(0) + 4:.1f}" text-anchor="end">0</text>' if most else "",
        f'<path class="line" d="{path}"/></svg>',
    ]
    return Markup("".join(parts))


def draw_share(row: ClientRow, most: float) -> Markup:
    """A client's active tasks per thread as a bar over its share, with the tasks to come and those to go.

    `most`: per thread, at the end of the scale. It stretches to the width that it is given.
    """
    threads, scale = max(1, row.threads), 1000 / (most or 1.0)

    def draw(kind: str, first: float, last: float, y: int, height: int) -> str:
        x, width = first / threads * scale, (last - first) / threads * scale
        return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>' if last > first else ""

    stays = row.active - row.to_go
    parts = [
        "" if row.low is None or row.high is None else draw("share", max(0.0, row.low - 0.25), row.high + 0.25, 0, 16),
        draw("stay", 0, stays, 4, 8),
        draw("go", stays, row.active, 4, 8),
        draw("come", row.active, row.active + row.to_come, 4, 8),
    ]
    share = "" if row.low is None else f", its share {row.low} to {row.high}"
    about = f"{row.active} active tasks on {threads} threads{share}, {row.to_come} to come, {row.to_go} to go"
    head = f'<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="{about}">'
    return Markup(head + "".join(parts) + "</svg>")


def draw_heat_map(heat: HeatMap, which: str, about: str) -> Markup:
    """The numbers `before`, `after` or `planned` of a heat map: a row for each client, a column for each subtopology."""
    columns = len(heat.subtopologies)
    with_numbers = columns <= NUMBERED_COLUMNS
    cell = max(22, 300 // max(1, columns)) if with_numbers else 6
    cell = min(cell, 40)
    width, height = LABEL_WIDTH + columns * cell + 2, 18 + len(heat.rows) * ROW_HEIGHT
    shades: list[list[str]] = [[] for _ in range(SHADES + 1)]
    texts: list[str] = []
    for row_number, row in enumerate(heat.rows):
        values: tuple[int, ...] = getattr(row, which)
        y = 18 + row_number * ROW_HEIGHT
        label = escape(shorten_name(row.short, LABEL_LENGTH))
        texts.append(f'<text x="{LABEL_WIDTH - 6}" y="{y + 12}" text-anchor="end">{label}</text>')
        column = 0
        while column < columns:
            end = column + 1
            while end < columns and values[end] == values[column]:
                end += 1
            if values[column]:
                shade = 1 + (SHADES - 1) * (values[column] - 1) // max(1, heat.most - 1)
                x = LABEL_WIDTH + column * cell
                shades[shade].append(f"M{x} {y}h{(end - column) * cell - 1}v{ROW_HEIGHT - 1}h-{(end - column) * cell - 1}z")
            if with_numbers:
                for number in range(column, end):
                    kind = "n0" if not values[number] else "n"
                    dark = (
                        " strong"
                        if values[number] and 1 + (SHADES - 1) * (values[number] - 1) // max(1, heat.most - 1) > 3
                        else ""
                    )
                    x = LABEL_WIDTH + number * cell + cell // 2
                    texts.append(
                        f'<text class="{kind}{dark}" x="{x}" y="{y + 12}" text-anchor="middle">{values[number]}</text>'
                    )
            column = end
    if with_numbers:
        for number, name in enumerate(heat.subtopologies):
            x = LABEL_WIDTH + number * cell + cell // 2
            texts.append(f'<text x="{x}" y="12" text-anchor="middle">{escape(shorten_name(name, 6))}</text>')
    paths = "".join(f'<path class="h{number}" d="{"".join(parts)}"/>' for number, parts in enumerate(shades) if parts)
    head = f'<svg class="heat" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    return Markup(f'{head} aria-label="{escape(about)}">{paths}{"".join(texts)}</svg>')


def _shorten_number(value: float) -> str:
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= unit:
            return f"{value / (1e3 if letter == 'k' else unit):.3g}{letter}"
    return f"{value:.4g}"
