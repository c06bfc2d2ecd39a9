"""Rendering of views as HTML: templates, formats of times, spans and names, and charts as SVG."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from optassign import __version__
from optassign.formats.base import parse_time
from optassign.printable import shorten_name, show_hidden
from optassign.service.views.heat_map import HeatMap
from optassign.service.views.types import ClientRow

__all__ = ["draw_heat_map", "draw_share", "draw_steps", "draw_trend", "render"]

_CHART_WIDTH = 640
"""The width of a chart. It fits half of a screen."""
_CHART_HEIGHT = 92
"""The height of a chart. Charts of one page are seen together."""
_CHART_LEFT = 58
"""The width of the scale to the left of a chart. Seven digits fit."""
_SHADES = 6
"""Shades of a heat map, in addition to that of 0. A reader cannot distinguish more."""
_LABEL_WIDTH = 150
"""The width of the names to the left of a heat map. Twenty characters fit."""
_ROW_HEIGHT = 16
"""The height of a row of a heat map. A line of small text fits."""
_NUMBERED_COLUMNS = 28
"""The number of subtopologies up to which a heat map has numbers. Narrower cells have no room."""
_LABEL_LENGTH = 20
"""The number of characters of a name in a heat map. Longer ones leave no room for cells."""
_PAGE_NAME = 60
"""Most characters of a name on a page. Its title has the whole name."""
_PAGE_SENTENCE = 600
"""Most characters of a sentence on a page. Its title has the whole sentence."""


def draw_steps(at: Sequence[float], values: Sequence[float | None], about: str) -> Markup:
    """Return a step curve as SVG. Each value holds until the next; unknown values are left out."""
    known = [(x, float(y)) for x, y in zip(at, values, strict=True) if y is not None]
    if not known:
        return Markup('<p class="faint">nothing known</p>')
    first, last = known[0][0], known[-1][0]
    most = max(y for _, y in known)

    def place_x(x: float) -> float:
        return _CHART_LEFT + (_CHART_WIDTH - _CHART_LEFT - 6) * ((x - first) / (last - first) if last > first else 0.5)

    def place_y(y: float) -> float:
        return _CHART_HEIGHT - 10 - (_CHART_HEIGHT - 22) * (y / most if most else 0.0)

    path = f"M{place_x(known[0][0]):.1f} {place_y(known[0][1]):.1f}"
    path += "".join(f"H{place_x(x):.1f}V{place_y(y):.1f}" for x, y in known[1:])
    end = _CHART_WIDTH - 6
    path += f"H{end}"
    parts = [
        f'<svg class="steps" viewBox="0 0 {_CHART_WIDTH} {_CHART_HEIGHT}" role="img" aria-label="{escape(about)}">',
        f'<path class="grid" d="M{_CHART_LEFT} {place_y(0):.1f}H{end}M{_CHART_LEFT} {place_y(most):.1f}H{end}"/>',
        f'<text x="{_CHART_LEFT - 6}" y="{place_y(most) + 4:.1f}" text-anchor="end">{_shorten_number(most)}</text>',
        f'<text x="{_CHART_LEFT - 6}" y="{place_y(0) + 4:.1f}" text-anchor="end">0</text>' if most else "",
        f'<path class="line" d="{path}"/></svg>',
    ]
    return Markup("".join(parts))


def draw_trend(values: Sequence[float | None], what: str) -> Markup:
    """Return a curve as wide as a word, from 0 to the greatest value, as SVG; unknown values are left out.

    `what`: name and unit of the values.
    """
    known = [(place, float(value)) for place, value in enumerate(values) if value is not None]
    if not known:
        return Markup('<span class="faint">–</span>')
    most, last = max(y for _, y in known), known[-1][1]
    step, height = 60 / max(1, len(values) - 1), 14 / (most or 1.0)
    points = " ".join(f"{2 + x * step:.1f},{16 - y * height:.1f}" for x, y in [known[0], *known])
    about = f"{what} of the last {len(values)} rebalances: {_shorten_number(last)} now, at most {_shorten_number(most)}"
    return Markup(
        f'<svg class="trend" viewBox="0 0 64 18" role="img" aria-label="{escape(about)}"><title>{escape(about)}</title>'
        f'<polyline class="line" points="{points}"/></svg> {_shorten_number(last)}'
    )


def draw_share(row: ClientRow, most: float) -> Markup:
    """Return a client's active tasks per thread as a bar against its share, with arriving and leaving tasks.

    `most`: the value per thread at the end of the scale. The chart stretches to the available width.
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
    """Return a chart of the numbers `before`, `after` or `planned` of a heat map, as SVG: a row per client, a column per
    subtopology."""
    columns = len(heat.subtopologies)
    with_numbers = columns <= _NUMBERED_COLUMNS
    cell = max(22, 300 // max(1, columns)) if with_numbers else 6
    cell = min(cell, 40)
    width, height = _LABEL_WIDTH + columns * cell + 2, 18 + len(heat.rows) * _ROW_HEIGHT
    shades: list[list[str]] = [[] for _ in range(_SHADES + 1)]
    texts: list[str] = []
    for row_number, row in enumerate(heat.rows):
        values: tuple[int, ...] = getattr(row, which)
        y = 18 + row_number * _ROW_HEIGHT
        label = escape(shorten_name(row.short, _LABEL_LENGTH))
        texts.append(f'<text x="{_LABEL_WIDTH - 6}" y="{y + 12}" text-anchor="end">{label}</text>')
        column = 0
        while column < columns:
            end = column + 1
            while end < columns and values[end] == values[column]:
                end += 1
            if values[column]:
                shade = 1 + (_SHADES - 1) * (values[column] - 1) // max(1, heat.most - 1)
                x = _LABEL_WIDTH + column * cell
                shades[shade].append(f"M{x} {y}h{(end - column) * cell - 1}v{_ROW_HEIGHT - 1}h-{(end - column) * cell - 1}z")
            if with_numbers:
                for number in range(column, end):
                    kind = "n0" if not values[number] else "n"
                    dark = (
                        " strong"
                        if values[number] and 1 + (_SHADES - 1) * (values[number] - 1) // max(1, heat.most - 1) > 3
                        else ""
                    )
                    x = _LABEL_WIDTH + number * cell + cell // 2
                    texts.append(
                        f'<text class="{kind}{dark}" x="{x}" y="{y + 12}" text-anchor="middle">{values[number]}</text>'
                    )
            column = end
    if with_numbers:
        for number, name in enumerate(heat.subtopologies):
            x = _LABEL_WIDTH + number * cell + cell // 2
            texts.append(f'<text x="{x}" y="12" text-anchor="middle">{escape(shorten_name(name, 6))}</text>')
    paths = "".join(f'<path class="h{number}" d="{"".join(parts)}"/>' for number, parts in enumerate(shades) if parts)
    head = f'<svg class="heat" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    return Markup(f'{head} aria-label="{escape(about)}">{paths}{"".join(texts)}</svg>')


def _shorten_number(value: float) -> str:
    value = float(f"{value:.3g}") if value >= 1e4 else value  # so that 999,800 is 1M, not 1e+03k
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= unit:
            return f"{value / (1e3 if letter == 'k' else unit):.3g}{letter}"
    return f"{value:.4g}"


def render(template: str, **values: Any) -> bytes:
    """Return the rendered template as UTF-8. Templates escape every value."""
    return _ENVIRONMENT.get_template(template).render(**values).encode("utf-8", "backslashreplace")


def _make_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("optassign.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": _format_ago,
        "coarse": _say_coarsely,
        "count": _count,
        "data": _to_data,
        "lasting": lambda text, now: _format_duration((parse_time(now) - parse_time(text)).total_seconds()),
        "name": _show_name,
        "number": _show_number,
        "segment": lambda text: quote(text, safe=""),
        "place": lambda id_: "/rebalances/".join(quote(part, safe="/") for part in id_.split("/", 1)),
        "sentence": _show_sentence,
        "span": _format_duration,
        "text": show_hidden,
        "when": _show_time,
    }
    environment.globals |= {
        "draw_heat_map": draw_heat_map,
        "draw_share": draw_share,
        "draw_steps": draw_steps,
        "draw_trend": draw_trend,
        "grafana": "",
        "runbook": "",
        "version": __version__,
    }
    return environment


def _show_name(name: str | None) -> Markup:
    """Return a name, shortened, whose direction of text is isolated, so that it cannot reverse its neighbours."""
    if name is None:
        return Markup('<span class="faint">no name</span>')
    shown, whole = shorten_name(name, _PAGE_NAME), show_hidden(name)
    title = f' title="{escape(whole)}"' if shown != whole else ""
    return Markup(f"<bdi{title}>{escape(shown)}</bdi>")


def _show_sentence(text: str) -> Markup:
    """Return a sentence, shortened and isolated like a name, since it may contain names from outside."""
    return Markup(f"<bdi>{escape(shorten_name(text, _PAGE_SENTENCE))}</bdi>")


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def _show_number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def _show_time(text: str | None) -> Markup:
    if text is None:
        return Markup("–")
    at = parse_time(text).astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(text, f"{at:%Y-%m-%d %H:%M:%S}")


def _format_ago(text: str | None, now: str) -> str:
    """Return how long a time is before or after `now`, in words."""
    if text is None:
        return ""
    seconds = (parse_time(now) - parse_time(text)).total_seconds()
    return f"{_format_duration(abs(seconds))} ago" if seconds >= 0 else f"in {_format_duration(-seconds)}"


def _say_coarsely(text: str, now: str) -> str:
    """Return the distance of a time from `now` in its greatest unit, for tables."""
    return " ".join(_format_duration(max(1, round(abs((parse_time(now) - parse_time(text)).total_seconds())))).split()[:2])


def _format_duration(seconds: float | None) -> str:
    """Return a span of time in its two greatest units; `–` for None."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    parts = [(whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next((number for number, (value, _) in enumerate(parts) if value), 3)
    return " ".join(f"{value} {unit}" for value, unit in parts[first : first + 2] if value)


def _to_data(value: Any) -> str:
    """Return a value as JSON for an HTML attribute; the template escapes it."""
    return json.dumps(value if isinstance(value, Mapping | list) else value.model_dump(), separators=(",", ":"))


_ENVIRONMENT = _make_environment()
