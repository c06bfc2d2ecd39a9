"""Swaps of copies between two clients at a time: which tasks each of them holds, once it is settled how many.

Two clients share out the tasks that exactly one of them holds: the best way is to sort the tasks by what they cost more on the
one than on the other. Done for every pair of clients in turn, this leaves nothing to gain by any exchange between two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optassign_models.problem import BoolArray, IntArray

CompareCosts = Callable[[BoolArray, int, int], IntArray]
"""For (held, a, b): (N,) what a task's copy costs on client b more than on a; only tasks that one of the two holds count."""


def swap_copies(held: BoolArray, group: IntArray, compare_costs: CompareCosts, budget: int) -> BoolArray:
    """(N, C) the copies after the swaps; each row keeps its number of copies, each client its number by subtopology.

    Args:
        held: (N, C) copies of each task.
        group: (N,) subtopology of each task, ascending.
        compare_costs: what decides between two clients.
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
                on_a = _share_out(held[rows, a], group[rows], compare_costs(held, a, b)[rows])
                if np.any(on_a != held[rows, a]):
                    changed = True
                    held[rows, a], held[rows, b] = on_a, ~on_a
    return held


def _share_out(on_a: BoolArray, group: IntArray, cost: IntArray) -> BoolArray:
    """(n,) the tasks that go to the first of two clients: as many of each subtopology as it has, the cheapest there.

    Args:
        on_a: (n,) the tasks that it has.
        group: (n,) subtopology of each task, ascending.
        cost: (n,) what the task costs on the other client more than here.
    """
    order = np.lexsort((~on_a, -cost, group))  # among equals, the present copies stay
    of_group = group[order]
    place = np.arange(len(group)) - np.searchsorted(of_group, of_group)
    number = np.bincount(group[on_a], minlength=int(group[-1]) + 1)
    stays = np.empty(len(group), dtype=np.bool_)
    stays[order] = place < number[of_group]
    return stays
