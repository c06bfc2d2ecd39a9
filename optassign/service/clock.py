"""Formats of points in time in the protocol, recordings and logs, and a clock for the deletion of old recordings."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["TrustedClock", "format_utc", "read_milliseconds"]

_FASTEST_CLOCK = 24
"""The most that the trusted clock may advance, as a multiple of the service's running time: it needs a day for a jump of 24
days."""


def read_milliseconds() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def format_utc(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _read_now() -> datetime:
    return datetime.now(UTC)


class TrustedClock:
    """The machine's clock, followed backwards at once but forwards only slowly. A file keeps the time between runs.

    Without a file, the first reading is trusted.
    """

    def __init__(
        self, file: Path, read_now: Callable[[], datetime] = _read_now, read_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Open the clock. read_now: returns the machine's time; read_seconds: returns the seconds of a monotonic clock."""
        self._file, self._read_now, self._read_seconds = file, read_now, read_seconds
        self._at: datetime | None = None
        self._read = read_seconds()

    def read(self) -> datetime:
        """Return the time in UTC, at most the machine's time. OSError if the file cannot be written."""
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
