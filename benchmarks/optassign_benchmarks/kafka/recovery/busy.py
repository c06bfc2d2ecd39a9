"""Processes that keep the machine's cores busy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optassign_benchmarks.kafka.processes import ChildProcess


@contextmanager
def spin(count: int, folder: Path) -> Iterator[None]:
    """Run `count` endless loops, each in its own process and at this process's niceness."""
    loops = [ChildProcess([sys.executable, "-c", "while True: pass"], folder / f"loop-{n}.log") for n in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
