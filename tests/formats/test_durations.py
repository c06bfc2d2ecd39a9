"""Tests of durations as users write and read them."""

import pytest

from optassign.formats.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1e9", 1e9),
        ("90s", 90),
        ("15min", 900),
        ("15m", 900),
        ("2h", 7200),
        ("1h 30min", 5400),
        ("250ms", 0.25),
        ("7d", 604_800),
    ],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5 weeks", "1h30", "nan", "inf", "s"])
def test_invalid_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: seconds, or a duration such as"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(46, "46 s"), (46.02, "46.0 s"), (90, "1.5 min"), (3600, "1 h"), (5400, "1.5 h"), (3601, "3,601 s")]
)
def test_durations_are_formatted(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
