"""Tests of the clock by which old recordings are deleted: it goes back at once, but ahead only slowly."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from optassign.service.clock import TrustedClock

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Clocks:
    """The wall clock and the monotonic clock of a machine, set by the test."""

    def __init__(self) -> None:
        self.now, self.seconds = NOON, 0.0

    def make(self, file: Path) -> TrustedClock:
        return TrustedClock(file, lambda: self.now, lambda: self.seconds)


def test_a_clock_ahead_advances_by_a_day_per_hour(tmp_path: Path) -> None:
    clocks = Clocks()
    clock = clocks.make(tmp_path / "clock")
    assert clock.read() == NOON  # the first time is believed
    clocks.now += timedelta(days=4000)
    assert clock.read() == NOON
    clocks.seconds += 3600
    assert clock.read() == NOON + timedelta(days=1)
    clocks.now = NOON - timedelta(days=1)
    assert clock.read() == clocks.now


def test_it_continues_from_its_file(tmp_path: Path) -> None:
    clocks = Clocks()
    clocks.make(tmp_path / "clock").read()
    clocks.now += timedelta(days=4000)
    assert clocks.make(tmp_path / "clock").read() == NOON
    (tmp_path / "clock").write_text("no time", encoding="ascii")
    assert clocks.make(tmp_path / "clock").read() == clocks.now
