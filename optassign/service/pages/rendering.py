"""From views to HTML: the templates, and what they say times, spans and names with."""

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from optassign import __version__
from optassign.formats.base import parse_time
from optassign.printable import shorten_name, show_hidden
from optassign.service.pages.charts import draw_heat_map, draw_share, draw_steps
from optassign_models.policy.constants import PAGE_NAME, PAGE_SENTENCE

__all__ = ["render"]


def render(template: str, **values: Any) -> bytes:
    """A page. Templates escape every value."""
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
        "ago": _say_ago,
        "coarse": _say_coarsely,
        "count": _count,
        "data": _to_data,
        "lasting": lambda text, now: _say_span((parse_time(now) - parse_time(text)).total_seconds()),
        "name": _show_name,
        "number": _show_number,
        "segment": lambda text: quote(text, safe=""),
        "place": lambda id_: "/rebalances/".join(quote(part, safe="/") for part in id_.split("/", 1)),
        "sentence": _show_sentence,
        "span": _say_span,
        "text": show_hidden,
        "when": _show_time,
    }
    environment.globals |= {
        "draw_heat_map": draw_heat_map,
        "draw_share": draw_share,
        "draw_steps": draw_steps,
        "version": __version__,
    }
    return environment


def _show_name(name: str | None) -> Markup:
    """A name in a direction of its own, so that it cannot turn its neighbours."""
    if name is None:
        return Markup('<span class="faint">no name</span>')
    shown, whole = shorten_name(name, PAGE_NAME), show_hidden(name)
    title = f' title="{escape(whole)}"' if shown != whole else ""
    return Markup(f"<bdi{title}>{escape(shown)}</bdi>")


def _show_sentence(text: str) -> Markup:
    """Words that may have names from outside in them."""
    return Markup(f"<bdi>{escape(shorten_name(text, PAGE_SENTENCE))}</bdi>")


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


def _say_ago(text: str | None, now: str) -> str:
    """How long before or after `now`."""
    if text is None:
        return ""
    seconds = (parse_time(now) - parse_time(text)).total_seconds()
    return f"{_say_span(abs(seconds))} ago" if seconds >= 0 else f"in {_say_span(-seconds)}"


def _say_coarsely(text: str, now: str) -> str:
    """The time between `now` and another in its greatest unit, for tables that are read at a glance."""
    return " ".join(_say_span(max(1, round(abs((parse_time(now) - parse_time(text)).total_seconds())))).split()[:2])


def _say_span(seconds: float | None) -> str:
    """A span of time in its two greatest units."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    parts = [(whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next((number for number, (value, _) in enumerate(parts) if value), 3)
    return " ".join(f"{value} {unit}" for value, unit in parts[first : first + 2] if value)


def _to_data(value: Any) -> str:
    """JSON for an attribute, which is escaped like all values."""
    return json.dumps(value if isinstance(value, Mapping | list) else value.model_dump(), separators=(",", ":"))


_ENVIRONMENT = _make_environment()
