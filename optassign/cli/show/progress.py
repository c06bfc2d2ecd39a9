"""Progress on standard error: of one long step, and of a run of many rows."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

SILENT_START_S = 1.0
"""Seconds until a command shows its progress: short commands show none."""


class _StatusLine:
    """A line on standard error that a terminal renews in place. Elsewhere only permanent lines are written."""

    def __init__(self) -> None:
        self.on_terminal = sys.stderr.isatty()

    def renew(self, line: str) -> None:
        if self.on_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def wipe(self) -> None:
        """Erase the line."""
        self.renew("")

    def keep(self, line: str) -> None:
        """Write a permanent line."""
        self.wipe()
        print(line, file=sys.stderr, flush=True)


class ProgressLine:
    """A context manager that shows the current step and its time on a terminal, after `SILENT_START_S`.

    The line is renewed every second and erased at the end. `doing`, the text of the step, may be changed within the context.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._line = _StatusLine()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._has_shown = False

    def __enter__(self) -> Self:
        if self._line.on_terminal:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._has_shown:
            self._line.wipe()

    def _renew(self) -> None:
        start = time.monotonic()
        while not self._done.wait(SILENT_START_S):
            self._has_shown = True
            self._line.renew(f"optassign: {self.doing} ({time.monotonic() - start:.0f} s)")


class RowProgress:
    """A context manager that shows the progress of many rows on a terminal, and writes permanent lines anywhere."""

    def __init__(self, command: str, read_seconds: Callable[[], float] = time.monotonic) -> None:
        """read_seconds: a monotonic clock."""
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
        """Erase the line on a terminal, so that other output can be printed there."""
        self._line.wipe()

    def say(self, what: str) -> None:
        """Write a permanent line."""
        self._line.keep(f"optassign {self._command}: {what}")

    def show(self, done: int, total: int, what: str) -> None:
        """Show that `done` of `total` rows are done, with share and rate, at most once a second. `what`: noun for the rows."""
        seconds = self._read_seconds() - self._start
        if seconds - self._shown_at >= 1:
            self._shown_at = seconds
            parts = [f"{done / total:.0%}" if total else "100%", f"{seconds:.0f} s"]
            if done and seconds > 0:
                parts.insert(1, f"{done / seconds:,.1f} a second")
                if done < total:
                    parts.append(f"about {(total - done) * seconds / done:,.0f} s left")
            self._line.renew(f"optassign {self._command}: {done:,} of {total:,} {what} ({', '.join(parts)})")
