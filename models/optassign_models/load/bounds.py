"""Lower bounds of the greatest load of any client, for every way to deal: no model, no solver, and never the planner's own
value.

A level L is impossible where any of these fails, for a threshold θ and the clients with a thread that bears θ at L:

* the tasks of weight ≥ θ fit into the sizes of these clients, L × size in all;
* no client has more of them than ⌊L × size ÷ θ⌋ (pigeonhole);
* where all weights are whole multiples of one weight g, a client carries whole multiples of g only.

All three only get easier as L grows, so the greatest impossible level is found by bisection. The mean is the first of these
with θ = 0.
"""

from __future__ import annotations

import numpy as np

from optassign_models.load.loads import FloatArray, Loads
from optassign_models.policy.constants import BOUND_STEPS, ROUNDING, THRESHOLDS
from optassign_models.problem import IntArray

_GRAIN = 10**9


def bound_greatest_load(loads: Loads) -> float:
    """A load that some client reaches in every assignment, in even spreads; 0 without tasks."""
    if not loads.T:
        return 0.0
    weight = np.sort(_list_copies(loads))[::-1]
    size, capacity = loads.size[loads.open_clients], loads.capacity[loads.open_clients]
    kinds, number = np.unique(np.stack([size, capacity]), axis=1, return_counts=True)
    test = _Test(weight, np.cumsum(weight), kinds[0], kinds[1], number, _find_grain(loads))
    low = max(float(weight.sum() / size.sum()), float(weight[0] / capacity.max()))
    if test.may_be(low):
        return low
    high = 2 * low
    while not test.may_be(high):
        low, high = high, 2 * high
    for _ in range(BOUND_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if test.may_be(middle) else (middle, high)
    return low


def _list_copies(loads: Loads) -> FloatArray:
    """Weights of all copies that weigh something; each uses one thread."""
    if loads.standby is None:
        return loads.weight
    return np.concatenate([loads.weight, np.tile(loads.standby[loads.standby > 0], loads.standbys)])


def _find_grain(loads: Loads) -> float:
    """A weight that all weights are whole multiples of; 0 where none is to be seen, or there are oversized tasks."""
    weight = _list_copies(loads)
    least = float(weight.min())
    if loads.is_oversized.any() or least <= 0:
        return 0.0
    parts = weight / least
    for split in range(1, 13):
        multiples = parts * split
        whole = np.rint(multiples)
        if np.all(np.abs(multiples - whole) <= 1e-6) and whole.max() < _GRAIN:
            return least / split * float(np.gcd.reduce(whole.astype(np.int64)))
    return 0.0


class _Test:
    """Whether a level may be possible."""

    def __init__(
        self, weight: FloatArray, sums: FloatArray, size: FloatArray, capacity: FloatArray, number: IntArray, grain: float
    ) -> None:
        """`weight` descends, `sums` are its running sums; `size`, `capacity`, `number` are of each kind of client."""
        step = max(1, len(weight) * len(size) // THRESHOLDS)
        # Among equal weights the last: it has the greatest number at its threshold.
        last = np.flatnonzero(np.append(weight[1:] < weight[:-1] * (1 - ROUNDING), True))[::step]
        self._weight, self._sums, self._rank = weight[last], sums[last], last + 1
        self._size, self._capacity, self._number = size, capacity, number
        self._grain, self._total = grain, float(sums[-1])

    def may_be(self, level: float) -> bool:
        """False only where no assignment has all loads at most `level`."""
        room = self._size * level * (1 + ROUNDING)
        if self._grain and float((self._number * np.floor(room / self._grain)).sum()) * self._grain < self._total * (
            1 - ROUNDING
        ):
            return False
        bears = self._capacity[None, :] * level * (1 + ROUNDING) >= self._weight[:, None]
        if np.any((bears * (self._number * room)).sum(axis=1) < self._sums * (1 - ROUNDING)):
            return False
        most = np.where(bears, self._number * np.floor(room / self._weight[:, None]), 0.0)
        return bool(np.all(most.sum(axis=1) >= self._rank))
