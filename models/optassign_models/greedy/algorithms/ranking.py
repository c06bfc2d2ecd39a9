"""Ranks of elements within their groups, and the best pairs of two sides, for whole arrays at once."""

from __future__ import annotations

import numpy as np

from optassign_models.policy.constants import MATCHING_ROUNDS
from optassign_models.problem import BoolArray, IntArray


def rank_within(group: IntArray) -> IntArray:
    """(n,) how many elements of the same group stand before each element."""
    if not len(group):
        return group
    order = np.argsort(group, kind="stable")
    arranged = group[order]
    begins = np.empty(len(group), dtype=np.bool_)
    begins[0] = True
    np.not_equal(arranged[1:], arranged[:-1], out=begins[1:])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return rank


def accept_pairs(order: IntArray, left: IntArray, left_room: IntArray, right: IntArray, right_room: IntArray) -> BoolArray:
    """(n,) the pairs that a greedy choice takes: best first, while both sides of the pair have room.

    This is deferred acceptance (Gale and Shapley, College Admissions and the Stability of Marriage, 1962). In each round the
    left sides propose their best pairs, as many as they have room for, and the right sides keep the best of those. A rejected
    pair is gone for good. Since all agree on the order, the stable matching that this ends with is the one that taking the
    best pair again and again would find.

    Args:
        order: pairs, best first; pairs that are missing are not taken.
        left, right: (n,) sides of each pair.
        left_room, right_room: how many pairs each side may take.
    """
    taken = np.zeros(len(left), dtype=np.bool_)
    for _ in range(MATCHING_ROUNDS):
        proposed = order[rank_within(left[order]) < left_room[left[order]]]
        kept = rank_within(right[proposed]) < right_room[right[proposed]]
        if kept.all():
            break
        gone = np.zeros(len(left), dtype=np.bool_)
        gone[proposed[~kept]] = True
        order = order[~gone[order]]
    taken[proposed[kept]] = True
    return taken
