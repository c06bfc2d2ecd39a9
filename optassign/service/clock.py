"""Points in time as the protocol, recordings and the log write them; and the day for deleting old recordings."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["TrustedClock", "format_utc", "read_milliseconds"]

_FASTEST_CLOCK = 24
"""The clock may jump ahead by so many times the time that the service has run: a jump of 24 days needs a day."""


def read_milliseconds() -> int:
    """Read the clock: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def format_utc(seconds: float) -> str:
    """Format seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _read_now() -> datetime:
    return datetime.now(UTC)


class TrustedClock:
    """The machine's clock, which may fall behind at once but get ahead only slowly. Kept in a file between runs.

    If there is no file yet, the clock is believed.
    """

    def __init__(
        self, file: Path, read_now: Callable[[], datetime] = _read_now, read_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """read_now: the machine's clock; read_seconds: one that only goes forward."""
        self._file, self._read_now, self._read_seconds = file, read_now, read_seconds
        self._at: datetime | None = None
        self._read = read_seconds()

    def read(self) -> datetime:
        """Return the time in UTC, never later than the machine's clock. OSError if the time cannot be stored."""
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
