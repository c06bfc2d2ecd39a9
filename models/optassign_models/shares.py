"""How the copies of one task would be split among clients if copies could be divided: exact fractions, by water filling.

docs/reference/rules.md, "Shares".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


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
