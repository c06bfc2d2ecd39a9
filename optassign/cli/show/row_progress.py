"""How far a run of many rows is, on standard error: renewed on a terminal, elsewhere a line now and then."""

import sys
import time
from types import TracebackType
from typing import Self

__all__ = ["RowProgress"]

_SHARE, _SECONDS = 0.05, 30.0
"""Elsewhere than on a terminal a line is written for so many more rows, or after so many seconds if there are any."""


class RowProgress:
    """While in the context `tell` may be called as often as one likes."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._terminal = sys.stderr.isatty()
        self._start = self._at = time.monotonic()
        self._shown: tuple[str, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._terminal and self._shown is not None:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def say(self, what: str) -> None:
        """Something that has no number."""
        self._write(f"optassign {self._command}: {what}")
        self._shown = None

    def tell(self, done: int, total: int, what: str) -> None:
        """`done` of `total` are through."""
        now = time.monotonic()
        if self._shown is not None and self._shown[0] == what:
            more = done - self._shown[1]
            enough = more >= max(1.0, _SHARE * total) or (more and now - self._at >= _SECONDS) or (more and done >= total)
            if not (enough or (self._terminal and now - self._at >= 1)):
                return
        self._shown, self._at = (what, done), now
        self._write(f"optassign {self._command}: {done:,} of {total:,} {what} ({now - self._start:.0f} s)")

    def _write(self, line: str) -> None:
        if self._terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
