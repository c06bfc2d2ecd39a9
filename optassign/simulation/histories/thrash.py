"""Thrash: how much of what an assignor moved it undid later, while nothing happened to the group.

A placement is a set, of pairs of a task and a client for instance, and an episode is a sequence of placements. *Made* is what
was put in place from one to the next; *undone* is that part of it that can be missed: the same end could have been had from
the same beginning without it. Defined by its properties, as the thrashing of CockroachDB's `asim` is:

- what goes one way is no thrash: 0 where nothing that was put in place is taken away again, and nothing taken away comes back;
- to and fro is all thrash: where the end is the beginning, everything made is undone, twice for twice the way;
- 0 ≤ undone ≤ made, and to stand still adds nothing;
- names do not matter, and what has nothing to do with each other adds up;
- of two episodes in a row it is at least the sum: the second may undo the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Moving", "measure_moving"]


class Moving(NamedTuple):
    """The moves of an episode."""

    made: int
    undone: int


def measure_moving(placements: Sequence[Set[Hashable]]) -> Moving:
    """Measure the placements of an episode, in order from its first."""
    if not placements:
        return Moving(0, 0)
    made = sum(len(after - before) for before, after in pairwise(placements))
    return Moving(made, made - len(placements[-1] - placements[0]))
