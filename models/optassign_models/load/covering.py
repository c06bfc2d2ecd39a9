"""The cheapest items that weigh enough: a knapsack cover, exact by dominance (Nemhauser and Ullmann 1969)."""

from __future__ import annotations

import numpy as np

from optassign_models.load.loads import FloatArray
from optassign_models.policy.constants import COVER_SETS
from optassign_models.problem import IntArray


def find_cheapest_cover(weight: FloatArray, price: IntArray, need: float) -> tuple[IntArray, int] | None:
    """Items (indices into (n,) `weight` and `price`) of least price that weigh `need` or more, and a bound of that price;
    None if all weigh less.

    The bound is the price itself, unless there were too many sets to examine.
    """
    if need <= 0:
        return np.zeros(0, dtype=np.int64), 0
    if float(weight.sum()) < need:
        return None
    order = np.lexsort((-weight, price / np.maximum(weight, 1e-12)))
    sums, costs = np.zeros(1), np.zeros(1, dtype=np.int64)
    cheapest = _cover_greedily(weight, price, need, order)
    most = int(price[cheapest].sum())
    left = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    layers: list[tuple[IntArray, IntArray]] = []
    for place, item in enumerate(order.tolist()):
        both_sums = np.concatenate([sums, sums + weight[item]])
        both_costs = np.concatenate([costs, costs + price[item]])
        origin = np.concatenate([np.arange(len(sums)), np.arange(len(sums))])
        taken = np.arange(len(both_sums)) >= len(sums)
        # Too expensive, or too light even with all that follow.
        useful = np.flatnonzero((both_costs <= most) & (both_sums + left[place + 1] >= need))
        useful = useful[np.lexsort((-both_sums[useful], both_costs[useful]))]
        heaviest = np.maximum.accumulate(np.append(-1.0, np.minimum(both_sums[useful], need)))[:-1]
        kept = useful[np.minimum(both_sums[useful], need) > heaviest]
        if len(kept) > COVER_SETS:
            return cheapest, 0
        layers.append((origin[kept], taken[kept].astype(np.int64)))
        sums, costs = both_sums[kept], both_costs[kept]
    enough = np.flatnonzero(sums >= need)
    if not len(enough):
        return cheapest, most
    at = int(enough[np.argmin(costs[enough])])
    best, chosen = int(costs[at]), []
    for item, (origin, taken_here) in zip(reversed(order.tolist()), reversed(layers), strict=True):
        if taken_here[at]:
            chosen.append(item)
        at = int(origin[at])
    return np.array(sorted(chosen), dtype=np.int64), best


def _cover_greedily(weight: FloatArray, price: IntArray, need: float, order: IntArray) -> IntArray:
    """The first items in order that weigh enough, without the superfluous ones; or one item that is cheaper than these."""
    number = int(np.searchsorted(np.cumsum(weight[order]), need)) + 1
    chosen = order[:number].tolist()
    spare = float(weight[chosen].sum()) - need
    for item in sorted(chosen, key=lambda i: (-int(price[i]), i)):
        if weight[item] <= spare:
            chosen.remove(item)
            spare -= float(weight[item])
    enough = np.flatnonzero(weight >= need)
    if len(enough):
        single = int(enough[np.argmin(price[enough])])
        if price[single] < price[chosen].sum():
            chosen = [single]
    return np.array(sorted(chosen), dtype=np.int64)
