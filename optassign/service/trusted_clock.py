"""What day it is, for deleting what is old: a clock that is far ahead for a while must not delete everything."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["TrustedClock"]

_FASTEST = 24
"""Times as fast as the machine's clock: it takes a day of running until what the clock says is 24 days later is believed."""


class TrustedClock:
    """The machine's clock, which may fall behind at once but get ahead only slowly. Kept in a file between runs.

    Where there is no file yet, the clock is believed.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at: datetime | None = None
        self._read = time.monotonic()

    def read(self) -> datetime:
        """The time, in UTC: never later than the machine's clock says. OSError if it cannot be kept."""
        now, read = datetime.now(UTC), time.monotonic()
        before = self._load() if self._at is None else self._at
        if before is None:
            self._at = now
        else:
            self._at = min(now, before + _FASTEST * timedelta(seconds=read - self._read))
        self._read = read
        self._file.write_text(self._at.isoformat() + "\n", encoding="ascii")
        return self._at

    def _load(self) -> datetime | None:
        try:
            found = datetime.fromisoformat(self._file.read_text(encoding="ascii").strip())
        except (FileNotFoundError, ValueError):
            return None
        return found if found.tzinfo else None
