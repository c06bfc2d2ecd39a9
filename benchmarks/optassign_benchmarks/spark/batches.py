"""Which rows of a sweep share a Spark task, and with it a file."""

from __future__ import annotations

from collections.abc import Sequence

from optassign_benchmarks.spark.presets import Row, estimate_seconds

__all__ = ["make_batches"]

_SECONDS = 10.0
"""The target time of a task: long compared with Spark's tenth of a second, short enough to be repeated."""
_TASKS_A_CORE = 4
"""At least, where there are enough rows: so that all cores end at about the same time."""


def make_batches(rows: Sequence[Row], converge_up_to: int, cores: int, slowness: float = 1.0) -> list[list[Row]]:
    """Cut the rows, in their order, into batches of some ten seconds each by estimate.

    slowness: how many times longer than estimated a row is taken to be.
    """
    most = -(-len(rows) // (_TASKS_A_CORE * cores))
    batches: list[list[Row]] = []
    left = 0.0
    for row in rows:
        seconds = slowness * estimate_seconds(*row, converge_up_to)
        if not batches or seconds > left or len(batches[-1]) == most:
            batches.append([])
            left = _SECONDS
        batches[-1].append(row)
        left -= seconds
    return batches
