"""Replications of a simulation: runs of a scenario under consecutive seeds, and confidence intervals of their figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from optassign.assignor import TaskAssignor
from optassign.errors import ArgumentError
from optassign.simulation.timed.scenario import Scenario, under_consecutive_seeds
from optassign.simulation.timed.simulator import FIGURES, SimulatedRun, simulate

__all__ = ["METHOD", "Interval", "estimate_figures", "estimate_median", "find_least_replications", "replicate"]

CONFIDENCE = 0.95
"""Level of the intervals of replicated simulations: the usual level in reports of simulations."""

METHOD = "order statistics, whatever the distribution (David and Nagaraja, section 7.1)"
"""The name of the intervals' method in reports."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The median of a figure over replications and a confidence interval of the median; None stands for "never"."""

    median: float | None
    low: float | None
    high: float | None


def replicate(
    scenario: Scenario, assignor: str | TaskAssignor, number: int, on_run: Callable[[int], None] | None = None
) -> Iterator[SimulatedRun]:
    """Yield runs under `number` consecutive seeds from `scenario.seed` on. `on_run`: called with the number of runs so far."""
    for done, seeded in enumerate(under_consecutive_seeds(scenario, number), start=1):
        yield simulate(seeded, assignor)
        if on_run is not None:
            on_run(done)


def estimate_figures(figures: Sequence[Mapping[str, float | int | None]]) -> dict[str, Interval]:
    """Return name of the figure → its interval over several runs. ArgumentError for too few runs."""
    return {name: estimate_median([each[name] for each in figures]) for name in FIGURES}


def estimate_median(values: Sequence[float | None]) -> Interval:
    """Return the median and its confidence interval from independent values of any distribution.

    The interval reaches from the k-th least to the k-th greatest value (David and Nagaraja, Order Statistics, section 7.1).
    k is the greatest number with P(X < k) ≤ (1 − `CONFIDENCE`) / 2 for X binomial over n values at ½.
    None (never) counts as greater than every number.

    Raises:
        ArgumentError: for too few values.
    """
    rank = _find_rank(len(values))
    if rank == 0:
        raise ArgumentError("values", str(len(values)), f"{find_least_replications()} or more")
    ordered = sorted(math.inf if value is None else float(value) for value in values)
    middle = (ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2])
    median = middle[0] if middle[0] == middle[1] else sum(middle) / 2
    return Interval(*(value if math.isfinite(value) else None for value in (median, ordered[rank - 1], ordered[-rank])))


def find_least_replications() -> int:
    """Return the least number of replications for which an interval exists."""
    return next(number for number in range(1, 1_000) if _find_rank(number))


def _find_rank(number: int) -> int:
    """Return the greatest k with P(X < k) ≤ (1 − `CONFIDENCE`) / 2 for X binomial over `number` values at ½, or 0."""
    below, rank = 0, 0
    for k in range(number):
        below += comb(number, k)
        if Fraction(below, 2**number) > (1 - Fraction(str(CONFIDENCE))) / 2:  # greater numbers than a float holds
            break
        rank = k + 1
    return rank
