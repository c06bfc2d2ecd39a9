"""Waiting until something is true of other processes, and what to show if it does not come true."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

TIMEOUT = 300.0
"""Seconds until a condition counts as not reached: generous, since the machine may be busy."""
_INTERVAL = 0.05
_SHOWN_LINES = 40
_SHOWN_START, _SHOWN_END = 260, 60
"""Characters of each line: Kafka's lists of partitions are many times as long, and what went wrong must not drown in them."""


class NotReachedError(AssertionError):
    """A condition did not come true in time; the text says which, what was found instead, and ends with the logs."""


def await_condition(
    what: str,
    reached: Callable[[], object],
    *,
    timeout: float = TIMEOUT,
    found: Callable[[], object] = lambda: "",
    logs: Callable[[], Iterable[Path]] = tuple,
) -> float:
    """Wait until `reached()` is true; returns the seconds that it took. NotReachedError, about `what`, after `timeout` seconds.

    The text of the error has what `found` returns, and the ends of the files that `logs` returns.
    """
    start = time.monotonic()
    while not reached():
        if time.monotonic() - start > timeout:
            raise NotReachedError("\n".join([f"not within {timeout:.0f} s: {what}", f"found: {found()}", *tail_logs(logs())]))
        time.sleep(_INTERVAL)
    return time.monotonic() - start


def tail_logs(logs: Iterable[Path]) -> list[str]:
    """The last lines of each file, under its path; long ones shortened, of neighbours that are alike the first."""
    shown: list[str] = []
    for path in logs:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ["(no such file)"]
        ends: list[str] = []
        for _, alike in groupby(lines, lambda line: (line[: _SHOWN_START // 2], line[-_SHOWN_END // 2 :])):
            first, *more = alike
            if len(first) > _SHOWN_START + _SHOWN_END:
                first = f"{first[:_SHOWN_START]} … {first[-_SHOWN_END:]}"
            ends.append(f"{first} (and {len(more)} more)" if more else first)
        shown += [f"--- {path}", *ends[-_SHOWN_LINES:]]
    return shown
