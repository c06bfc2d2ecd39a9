"""How the copies of one task would be split among clients if copies could be divided: exact fractions, by water filling.

docs/reference/rules.md, "Shares".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np

from optassign_models.problem import IntArray


def split_copies(units: Sequence[int], copies: int) -> tuple[list[Fraction], int]:
    """Splits the copies of a task among clients in proportion to their units, at most one copy each (R2).

    This is water filling: a client whose proportional share would pass one copy holds exactly one, and what that cuts off
    goes to the others in proportion, until no share passes one.

    Args:
        units: (C,) relative capacity of each client, whole numbers > 0.
        copies: copies of the task, ≥ 0.

    Returns:
        (C,) share of each client, and the number of copies left over, which is more than 0 only where copies > C.
    """
    shares = [Fraction(0)] * len(units)
    below_one = list(range(len(units)))
    left = copies
    while below_one and left:
        total = sum(units[c] for c in below_one)
        full = {c for c in below_one if left * units[c] >= total}
        if not full:
            for c in below_one:
                shares[c] = Fraction(left * units[c], total)
            return shares, 0
        for c in full:
            shares[c] = Fraction(1)
        left -= len(full)
        below_one = [c for c in below_one if c not in full]
    return shares, left


def narrow_to_nearest(low: IntArray, high: IntArray, fractions: Sequence[int], total: int) -> tuple[IntArray, IntArray]:
    """Narrow floors and ceilings of shares to the nearest counts that sum up to `total`.

    The greatest fractions go up and the least go down until all is shared out; equal ones may do either if not all of them go
    up.

    Args:
        low, high: (C,) floor and ceiling of each client's share.
        fractions: (C,) numerators of what is above the floor, of one denominator.
        total: what the shares sum up to.
    """
    low, high = low.copy(), high.copy()
    left = total - int(low.sum())
    order = sorted(np.flatnonzero(low < high).tolist(), key=fractions.__getitem__, reverse=True)
    for _, alike in groupby(order, key=fractions.__getitem__):
        clients = list(alike)
        if len(clients) <= left:
            low[clients] = high[clients]
        elif not left:
            high[clients] = low[clients]
        left = max(0, left - len(clients))
    return low, high
