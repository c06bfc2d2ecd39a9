"""A line on standard error for what takes longer than a second, and only then."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

__all__ = ["Progress"]

_PATIENCE = 1.0


class Progress:
    """While in the context: after a second `what` is said, then how long it has taken, less and less often.

    On a terminal the line is renewed every second, and wiped out in the end. `now` may be changed from within.
    """

    def __init__(self, what: str) -> None:
        self.now = what
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._speak, daemon=True)
        self._terminal = sys.stderr.isatty()
        self._spoke = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
        if self._terminal and self._spoke:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _speak(self) -> None:
        start, wait = time.monotonic(), _PATIENCE
        while not self._done.wait(wait):
            self._spoke = True
            line = f"optassign: {self.now} ({time.monotonic() - start:.0f} s)"
            if self._terminal:
                print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
            else:
                print(line, file=sys.stderr, flush=True)
                wait *= 2
