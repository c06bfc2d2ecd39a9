"""Progress on standard error: of one thing that takes long, and of a run of many rows."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["ProgressLine", "RowProgress"]

SILENT_START_S = 1.0
"""The time until a command shows its progress. Short commands show none."""


class _StatusLine:
    """A line on standard error that a terminal renews in place. Elsewhere only lines that stay are written."""

    def __init__(self) -> None:
        self.on_terminal = sys.stderr.isatty()

    def renew(self, line: str) -> None:
        if self.on_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def wipe(self) -> None:
        """Leave no trace of it."""
        self.renew("")

    def keep(self, line: str) -> None:
        """Write a line that stays."""
        self.wipe()
        print(line, file=sys.stderr, flush=True)


class ProgressLine:
    """While in the context: from the first second on, a terminal shows what is done and for how long.

    The line is renewed every second and wiped out in the end. `doing` may be changed from within.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._line = _StatusLine()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._speak, daemon=True)
        self._spoke = False

    def __enter__(self) -> Self:
        if self._line.on_terminal:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._spoke:
            self._line.wipe()

    def _speak(self) -> None:
        start = time.monotonic()
        while not self._done.wait(SILENT_START_S):
            self._spoke = True
            self._line.renew(f"optassign: {self.doing} ({time.monotonic() - start:.0f} s)")


class RowProgress:
    """Progress of a run of many rows: a terminal shows how many are done; lines that stay are written anywhere."""

    def __init__(self, command: str, read_seconds: Callable[[], float] = time.monotonic) -> None:
        """read_seconds: a clock that only goes forward."""
        self._command, self._read_seconds = command, read_seconds
        self._line = _StatusLine()
        self._start = read_seconds()
        self._shown_at = -1.0
        """When the line was last renewed, in seconds since the start."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._line.wipe()

    def clear(self) -> None:
        """Leave no trace of the line on a terminal, so that other output can be printed there."""
        self._line.wipe()

    def say(self, what: str) -> None:
        """Write a line that stays."""
        self._line.keep(f"optassign {self._command}: {what}")

    def show(self, done: int, total: int, what: str) -> None:
        """Show that `done` of `total` rows are done, their share and rate, at most once a second. `what`: rows of what."""
        seconds = self._read_seconds() - self._start
        if seconds - self._shown_at >= 1:
            self._shown_at = seconds
            parts = [f"{done / total:.0%}" if total else "100%", f"{seconds:.0f} s"]
            if done and seconds > 0:
                parts.insert(1, f"{done / seconds:,.1f} a second")
                if done < total:
                    parts.append(f"about {(total - done) * seconds / done:,.0f} s left")
            self._line.renew(f"optassign {self._command}: {done:,} of {total:,} {what} ({', '.join(parts)})")
