"""Swaps of copies between two clients at a time: which tasks each of them holds, once it is settled how many.

Two clients share out the tasks that exactly one of them holds: the best way is to sort the tasks by what they cost more on the
one than on the other. Done for every pair of clients in turn, this leaves nothing to gain by any exchange between two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optassign.models.problem import BoolArray, IntArray

Dearer = Callable[[BoolArray, int, int], IntArray]


def swap_copies(held: BoolArray, group: IntArray, dearer: Dearer, budget: int) -> BoolArray:
    """(N, C) who holds what after the swaps; rows keep their number of copies, clients theirs of each subtopology.

    Args:
        held: (N, C) copies of each task.
        group: (N,) ascending.
        dearer: for (held, a, b), (N,) what a task's copy costs on b more than on a; only tasks that one of the two holds count.
        budget: rows to sort, at most.
    """
    held = held.copy()
    C = held.shape[1]
    changed = True
    while changed and budget > 0:
        changed = False
        for a in range(C):
            for b in range(a + 1, C):
                rows = np.flatnonzero(held[:, a] != held[:, b])
                if not len(rows):
                    continue
                budget -= len(rows)
                cost = dearer(held, a, b)[rows]
                on_a = held[rows, a]
                # Of equals, those that are there stay.
                order = np.lexsort((~on_a, -cost, group[rows]))
                of_group = group[rows][order]
                place = np.arange(len(rows)) - np.searchsorted(of_group, of_group)
                number = np.bincount(group[rows][on_a], minlength=int(group[-1]) + 1)
                now = np.empty(len(rows), dtype=np.bool_)
                now[order] = place < number[of_group]
                if np.any(now != on_a):
                    changed = True
                    held[rows, a], held[rows, b] = now, ~now
    return held
