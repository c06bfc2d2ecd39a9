"""Formats of points in time in the protocol, recordings and logs, and a clock for the deletion of old recordings."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["TrustedClock", "format_utc", "read_milliseconds"]

_FASTEST_CLOCK = 24
"""Greatest speed of the trusted clock, as a multiple of the service's running time: a jump of 24 days takes it a day."""


def read_milliseconds() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def format_utc(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _read_now() -> datetime:
    return datetime.now(UTC)


class TrustedClock:
    """A clock that follows the machine's clock back at once, but forward at most `_FASTEST_CLOCK` times as fast as time passes.

    A file keeps the time between runs; the first reading without a file is trusted.
    """

    def __init__(
        self, file: Path, read_now: Callable[[], datetime] = _read_now, read_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Open the clock. read_now: returns the machine's time; read_seconds: returns the seconds of a monotonic clock."""
        self._file, self._read_now, self._read_seconds = file, read_now, read_seconds
        self._at: datetime | None = None
        self._read = read_seconds()

    def read(self) -> datetime:
        """Return the time in UTC, at most the machine's time, and save it. OSError if the file cannot be written."""
        now, read = self._read_now(), self._read_seconds()
        before = self._load() if self._at is None else self._at
        if before is None:
            self._at = now
        else:
            self._at = min(now, before + _FASTEST_CLOCK * timedelta(seconds=read - self._read))
        self._read = read
        self._file.write_text(self._at.isoformat() + "\n", encoding="ascii")
        return self._at

    def _load(self) -> datetime | None:
        try:
            found = datetime.fromisoformat(self._file.read_text(encoding="ascii").strip())
        except (FileNotFoundError, ValueError):
            return None
        return found if found.tzinfo else None
