"""Tests of quiet hours and of their end, by local time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from optassign.service.applications_file import parse_hours

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "at", "until"),
    [
        (["08:00-18:00"], "Mon 07:59", None),
        (["08:00-18:00"], "Mon 08:00", "Mon 18:00"),
        (["08:00-18:00"], "Mon 18:00", None),
        (["22:00-06:00"], "Mon 23:00", "Tue 06:00"),
        (["22:00-06:00"], "Mon 05:00", "Mon 06:00"),
        (["Fri 22:00-06:00"], "Sat 05:59", "Sat 06:00"),
        (["Fri 22:00-06:00"], "Sun 05:59", None),
        (["Sun 22:00-06:00"], "Mon 01:00", "Mon 06:00"),
        (["Sat-Sun 00:00-24:00"], "Sat 12:00", "Mon+7 00:00"),
        (["Sat-Mon 00:00-24:00"], "Mon 12:00", "Tue 00:00"),
        (["08:00-12:00", "12:00-14:00"], "Tue 09:00", "Tue 14:00"),
        (["00:00-24:00"], "Wed 09:00", "Wed+7 09:00"),
    ],
)
def test_hours(hours: list[str], at: str, until: str | None) -> None:
    end = parse_hours(hours, "UTC").find_end(read(at))
    assert end == (None if until is None else read(until))


def test_local_time_counts() -> None:
    """In the night to 25 October 2026 Berlin's clocks go back from three to two."""
    quiet = parse_hours(["22:00-06:00"], "Europe/Berlin")
    end = quiet.find_end(datetime(2026, 10, 24, 21, 0, tzinfo=UTC))
    assert end == datetime(2026, 10, 25, 6, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert end is not None
    assert end.astimezone(UTC) == datetime(2026, 10, 25, 5, 0, tzinfo=UTC)


def test_quiet_hours_end_in_the_second_of_two_equal_hours() -> None:
    quiet = parse_hours(["00:00-02:30"], "Europe/Berlin")
    end = quiet.find_end(datetime(2026, 10, 25, 1, 10, tzinfo=UTC))
    assert end is not None
    assert end.astimezone(UTC) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "8:00-9:00", "08:00-08:00", "24:00-25:00", "08:60-09:00", "Mo 08:00-09:00", "Mon-Fri", "now"]
)
def test_invalid_hours_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: such as"):
        parse_hours([text], "UTC")


def read(text: str) -> datetime:
    """Return the time of `Mon 07:59` in a fixed week, or of `Mon+7` in the next one."""
    day, _, clock = text.partition(" ")
    name, _, more = day.partition("+")
    hours, minutes = map(int, clock.split(":"))
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun").index(name) + int(more or 0)
    return MONDAY + timedelta(days=days, hours=hours, minutes=minutes)
