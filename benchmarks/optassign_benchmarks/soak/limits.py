"""The limits of a soak's parts, and whether their use grows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from optassign_benchmarks.soak.samples import Sample

__all__ = ["LIMITS", "GrowthLimit", "SoakRow", "find_faults", "summarise"]

MIB = 1 << 20
_QUANTITIES = ("memory", "descriptors", "threads", "disk")
_LEAST_SHARE = 0.6
"""The share of the soak that a process must have run for its growth to be judged. Its first quarter is its warming up."""
_LEAST_SAMPLES = 20


@dataclass(frozen=True)
class GrowthLimit:
    """At most `most`, and in the last quarter of a process at most `growth` more than in its second, by their medians."""

    most: int
    growth: int | None = None
    """None: it may grow up to `most`."""


LIMITS: dict[tuple[str, str], GrowthLimit] = {
    ("service", "memory"): GrowthLimit(256 * MIB, 12 * MIB),
    ("service", "descriptors"): GrowthLimit(600, 8),
    ("service", "threads"): GrowthLimit(40, 2),
    ("worker", "memory"): GrowthLimit(400 * MIB, 40 * MIB),
    ("worker", "descriptors"): GrowthLimit(64, 2),
    ("worker", "threads"): GrowthLimit(16, 2),
    ("application", "memory"): GrowthLimit(600 * MIB, 64 * MIB),
    ("application", "descriptors"): GrowthLimit(600, 60),
    ("application", "threads"): GrowthLimit(120, 4),
    ("recordings", "disk"): GrowthLimit(5 * MIB),
}
"""(kind, quantity) -> its limit. An application has a heap of 128 MiB and one thread; `recordings` are kept up to 4 MiB."""


@dataclass(frozen=True)
class SoakRow:
    """A quantity of a kind of processes, or of a folder, over the whole soak."""

    kind: str
    quantity: str
    before: float
    """The median in the second quarter of its life of the process that ran longest."""
    after: float
    """That in the last quarter."""
    most: int
    """The greatest of all processes of the kind."""
    most_growth: float | None
    """The greatest growth of all processes that ran long enough; None where none did."""


def summarise(samples: Iterable[Sample]) -> list[SoakRow]:
    """A row for each kind and quantity, in the order in which they first appear."""
    by_kind: dict[str, dict[tuple[str, int | None], list[Sample]]] = defaultdict(lambda: defaultdict(list))
    last = 0.0
    for sample in samples:
        by_kind[sample.kind][sample.name, sample.pid].append(sample)
        last = max(last, sample.at)
    return [row for kind, processes in by_kind.items() for row in _summarise_kind(kind, list(processes.values()), last)]


def _summarise_kind(kind: str, processes: list[list[Sample]], seconds: float) -> Iterator[SoakRow]:
    longest = max(processes, key=lambda one: one[-1].at - one[0].at)
    old = [one for one in processes if one[-1].at - one[0].at >= _LEAST_SHARE * seconds and len(one) >= _LEAST_SAMPLES]
    for quantity in _QUANTITIES:
        if getattr(longest[0], quantity) is None:
            continue
        before, after = _compare_quarters(longest, quantity)
        growths = [late - early for early, late in (_compare_quarters(one, quantity) for one in old)]
        most = max(getattr(sample, quantity) for one in processes for sample in one)
        yield SoakRow(kind, quantity, before, after, most, max(growths, default=None))


def _compare_quarters(samples: list[Sample], quantity: str) -> tuple[float, float]:
    values = [getattr(sample, quantity) for sample in samples]
    quarter = max(1, len(values) // 4)
    return median(values[quarter : 2 * quarter] or values), median(values[-quarter:])


def find_faults(rows: Iterable[SoakRow]) -> list[str]:
    """List the breaches of limits, one line each."""
    found = []
    for row in rows:
        limit = LIMITS.get((row.kind, row.quantity))
        if limit is None:
            continue
        if row.most > limit.most:
            found.append(f"{row.kind}: {row.quantity} up to {row.most:,}; allowed: {limit.most:,}")
        if limit.growth is not None and row.most_growth is not None and row.most_growth > limit.growth:
            found.append(f"{row.kind}: {row.quantity} grew by {row.most_growth:,.0f}; allowed: {limit.growth:,}")
    return found
