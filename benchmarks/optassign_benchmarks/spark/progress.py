"""Progress of a job, told while the driver waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["ProgressListener", "report_progress"]

ProgressListener = Callable[[int, int, str], None]
"""Called with the number done, the number in all, and what is counted; twice a second, from a thread of its own."""


@contextmanager
def report_progress(done: Callable[[], int], total: int, what: str, listener: ProgressListener | None) -> Iterator[None]:
    """While in the context, tell `listener` how many of `total` are done, as `done()` says; None listens to nothing."""
    if listener is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            listener(min(done(), total), total, what)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        listener(min(done(), total), total, what)
