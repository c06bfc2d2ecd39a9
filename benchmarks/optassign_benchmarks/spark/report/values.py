"""Values of the report as text."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["format_value"]


def format_value(value: Any) -> str:
    """A value for people: thousands separated, three significant digits below 1,000."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value == int(value) and abs(value) < 1e15:
            return f"{value:,.0f}"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return str(value)
