"""Durations as people write them: `90s`, `15min`, `1h 30min`, or a number of seconds."""

import re

__all__ = ["DURATION_ALLOWED", "format_duration", "parse_duration"]

DURATION_ALLOWED = "seconds, or a duration such as 90s, 15min or 2h"
"""The allowed forms, as errors name them."""
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_LONGEST = 1e10
"""Seconds, 317 years: int64 nanoseconds, as clocks of solvers and threads count, end after 292 of them."""
_PART = r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)"


def parse_duration(text: str) -> float:
    """Return the seconds of a duration: a number of seconds, or numbers with units (ms, s, m or min, h, d) that add up.

    Raises:
        ValueError: if the text is neither, negative, or longer than `_LONGEST`.
    """
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?([eE]\+?\d+)?", text):
        seconds = float(text)
    elif re.fullmatch(rf"({_PART}\s*)+", text):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(_PART, text))
    else:
        raise ValueError(f"found {text!r}; allowed: {DURATION_ALLOWED}")
    if seconds > _LONGEST:
        raise ValueError(f"found {text!r}; allowed: {DURATION_ALLOWED}, at most 300 years")
    return seconds


def format_duration(seconds: float) -> str:
    """Write seconds in the largest unit in which they need one decimal at most, such as `46 s`, `1.5 min` or `2 h`."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size and round(seconds / size, 1) * size == seconds:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:,.1f} s" if seconds % 1 else f"{seconds:,.0f} s"
