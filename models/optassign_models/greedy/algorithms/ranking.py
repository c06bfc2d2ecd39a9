"""Ranks of elements within their groups, for whole arrays at once."""

from __future__ import annotations

import numpy as np

from optassign_models.problem import IntArray


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
