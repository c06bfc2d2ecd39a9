"""Progress on standard error: of one thing that takes long, and of a run of many rows."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["Progress", "RowProgress"]

_SILENT_SECONDS = 1.0
_SHARE, _SECONDS = 0.05, 30.0
"""Elsewhere than on a terminal a line is written for so many more rows, or after so many seconds if there are any."""


class _StatusLine:
    """A line on standard error: a terminal shows it in place of the one before, anything else gets one after the other."""

    def __init__(self) -> None:
        self.on_terminal = sys.stderr.isatty()

    def write(self, line: str) -> None:
        if self.on_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def wipe(self) -> None:
        """Leave no trace of it on a terminal."""
        if self.on_terminal:
            self.write("")


class Progress:
    """While in the context: after a second, standard error says what is done and for how long, less and less often.

    On a terminal the line is renewed every second, and wiped out in the end. `doing` may be changed from within.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._line = _StatusLine()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._speak, daemon=True)
        self._spoke = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
        if self._spoke:
            self._line.wipe()

    def _speak(self) -> None:
        start, wait = time.monotonic(), _SILENT_SECONDS
        while not self._done.wait(wait):
            self._spoke = True
            self._line.write(f"optassign: {self.doing} ({time.monotonic() - start:.0f} s)")
            if not self._line.on_terminal:
                wait *= 2


class RowProgress:
    """While in the context `show` may be called for every row: a terminal is renewed, others get a line now and then."""

    def __init__(self, command: str, read_seconds: Callable[[], float] = time.monotonic) -> None:
        """read_seconds: a clock that only goes forward."""
        self._command, self._read_seconds = command, read_seconds
        self._line = _StatusLine()
        self._start = self._shown_at = read_seconds()
        self._shown: tuple[str, int] | None = None
        """What the last line counted, and how many there were."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown is not None:
            self._line.wipe()

    def clear(self) -> None:
        """Leave no trace of the line on a terminal, so that something else can be printed there."""
        self._line.wipe()
        self._shown = None

    def conclude(self, what: str) -> None:
        """Write a last line, which stays on a terminal too."""
        self.clear()
        print(f"optassign {self._command}: {what}", file=sys.stderr, flush=True)

    def say(self, what: str) -> None:
        """Write a line that counts nothing."""
        self._line.write(f"optassign {self._command}: {what}")
        self._shown = None

    def show(self, done: int, total: int, what: str) -> None:
        """Write that `done` of `total` rows are done, if enough has happened since the last line. `what`: rows of what."""
        now = self._read_seconds()
        if self._shown is not None and self._shown[0] == what:
            more = done - self._shown[1]
            enough = more >= max(1.0, _SHARE * total) or (more and now - self._shown_at >= _SECONDS) or (more and done >= total)
            if not (enough or (self._line.on_terminal and now - self._shown_at >= 1)):
                return
        self._shown, self._shown_at = (what, done), now
        self._line.write(f"optassign {self._command}: {done:,} of {total:,} {what} ({now - self._start:.0f} s)")
