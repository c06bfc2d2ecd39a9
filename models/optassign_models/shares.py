"""Shares: how many copies each client should hold for an assignment to count as balanced
(docs/reference/rules.md, "Bounds of a share").

A share is the floor and the ceiling of a client's exact share, and shares are proportional to threads × capacity. For all
active tasks together, only the counts nearest to the shares are inside. KIP-441 wants the same five families even, without
capacities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem


def split_copies(units: Sequence[int], copies: int) -> tuple[list[Fraction], int]:
    """Return (C,) shares of a task's copies in proportion to `units` (C,), whole numbers > 0, at most one copy each (R2).

    This is water filling: a client whose proportional share would exceed one copy holds exactly one. The surplus goes to the
    others in proportion, until no share exceeds one. The second value is the number of copies left over.
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
    """Return `low` and `high` (C,), floors and ceilings of shares, narrowed to the nearest counts that sum up to `total`.

    The greatest fractional parts go up and the least go down. Equal fractions keep both bounds if some, but not all, go up.
    `fractions`: (C,) these parts, as numerators of one denominator.
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


@dataclass(frozen=True, eq=False)
class ShareBounds:
    """Least and greatest number of copies, both (C,) or (G, C)."""

    low: IntArray
    high: IntArray

    def imbalance(self, count: IntArray) -> int:
        """Return Σ e (e + 1) / 2 over counts of the shape of `low`, where e is a count's distance from its share."""
        away = np.maximum(self.low - count, 0) + np.maximum(count - self.high, 0)
        return int(np.sum(away * (away + 1) // 2))


class ShareFamilies(NamedTuple):
    """The five families, in their order of importance."""

    active: ShareBounds
    """(C,) all active tasks."""
    stateful: ShareBounds
    """(C,) stateful active tasks."""
    copies: ShareBounds
    """(C,) copies of logged tasks."""
    group_active: ShareBounds
    """(G, C) active tasks of a subtopology."""
    group_copies: ShareBounds
    """(G, C) copies of a logged subtopology; zero for the others."""

    def widen_to(self, counts: Sequence[IntArray]) -> ShareFamilies:
        """Return all shares, widened to include the given counts, for groups without a balanced assignment."""
        pairs = zip(self, counts, strict=True)
        return ShareFamilies(*(ShareBounds(np.minimum(one.low, count), np.maximum(one.high, count)) for one, count in pairs))

    def hold(self, counts: Sequence[IntArray]) -> bool:
        """Return whether the counts are balanced: each count is inside its share."""
        return not any(self.imbalance(counts))

    def imbalance(self, counts: Sequence[IntArray]) -> tuple[int, ...]:
        """Return the imbalance of each family, in order."""
        return tuple(share.imbalance(count) for share, count in zip(self, counts, strict=True))

    def count_too_many(self, active: IntArray) -> int:
        """Return the number of active tasks beyond clients' shares, for actives (T,)."""
        count = np.bincount(active, minlength=len(self.active.high))
        return int(np.sum(np.maximum(count - self.active.high, 0)))


def count_copies(problem: Problem, placed: Placement) -> tuple[IntArray, ...]:
    """Return the counts of an assignment by family, in the order and shapes of `ShareFamilies`.

    A missing active copy (−1) does not count; standbys of its task do.
    """
    G, C = problem.G, problem.C
    tasks = np.flatnonzero(placed.active >= 0)
    group_active = np.bincount(problem.group[tasks] * C + placed.active[tasks], minlength=G * C).reshape(G, C)
    standby_cell = problem.group[placed.standby_task] * C + placed.standby_client
    group_standby = np.bincount(standby_cell, minlength=G * C).reshape(G, C)
    logged = (problem.kind == LOGGED)[:, None]
    group_copies = np.where(logged, group_active + group_standby, 0)
    stateful = group_active[problem.kind != STATELESS]
    return *(cells.sum(axis=0) for cells in (group_active, stateful, group_copies)), group_active, group_copies


_Fractions = tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]
"""(C,) numerators and denominators of each client's exact share of one task, in Python's unlimited integers."""


def compute_shares(problem: Problem) -> ShareFamilies:
    """Return the shares of a problem, with `balance_factor` (KIP-441, first draft) on the three families per client."""
    sizes = np.bincount(problem.group, minlength=problem.G)
    logged_sizes = np.where(problem.kind == LOGGED, sizes, 0)
    units = problem.units // np.gcd.reduce(problem.units)  # products of these stay small
    open_units = np.where(problem.staying, units, 0)
    of_active = open_units.astype(object), np.full(problem.C, int(open_units.sum()), dtype=object)
    of_copies = _share_copies(units, problem.staying, problem.standbys + 1)
    every = _round(of_active, problem.T)
    fractions = (of_active[0] * problem.T % of_active[1]).tolist()
    spare = problem.balance_factor - 1

    def widen(share: ShareBounds) -> ShareBounds:
        return ShareBounds(np.maximum(share.low - spare // 2, 0), share.high + (spare + 1) // 2)

    return ShareFamilies(
        active=widen(ShareBounds(*narrow_to_nearest(every.low, every.high, fractions, problem.T))),
        stateful=widen(_round(of_active, int(sizes[problem.kind != STATELESS].sum()))),
        copies=widen(_round(of_copies, int(logged_sizes.sum()))),
        group_active=_round(of_active, sizes),
        group_copies=_round(of_copies, logged_sizes),
    )


def _share_copies(units: IntArray, staying: BoolArray, copies: int) -> _Fractions:
    """Return shares of all copies of a logged task; draining clients get the copies that the others have no room for."""
    numerator, denominator = np.zeros(len(units), dtype=object), np.ones(len(units), dtype=object)
    for clients in (np.flatnonzero(staying), np.flatnonzero(~staying)):
        shares, copies = split_copies(units[clients].tolist(), copies)
        numerator[clients] = [share.numerator for share in shares]
        denominator[clients] = [share.denominator for share in shares]
    return numerator, denominator


def _round(share: _Fractions, tasks: int | IntArray) -> ShareBounds:
    """Return floors and ceilings of the shares of `tasks` tasks: (C,) for one number, (G, C) for numbers (G,)."""
    # Most subtopologies have one of a few sizes, so exact arithmetic runs once per size.
    sizes, back = np.unique(tasks, return_inverse=True)
    numerator, denominator = share[0] * sizes.astype(object)[:, None], share[1]
    low, high = (numerator // denominator).astype(np.int64), (-(-numerator // denominator)).astype(np.int64)
    return ShareBounds(*(each[back.reshape(np.shape(tasks))] for each in (low, high)))


def allow_any_counts(problem: Problem) -> ShareFamilies:
    """Return shares that hold all counts."""

    def allow(*shape: int) -> ShareBounds:
        return ShareBounds(np.zeros(shape, dtype=np.int64), np.full(shape, problem.T * (problem.standbys + 1)))

    G, C = problem.G, problem.C
    return ShareFamilies(allow(C), allow(C), allow(C), allow(G, C), allow(G, C))


def spare_draining_clients(problem: Problem) -> ShareFamilies:
    """Return shares that hold all counts, but none on draining clients, unless the others lack room for a task's copies."""
    staying = problem.staying
    with_room = staying | (int(staying.sum()) <= problem.standbys)
    pairs = zip(allow_any_counts(problem), (staying, staying, with_room, staying, with_room), strict=True)
    return ShareFamilies(*(ShareBounds(share.low, share.high * may) for share, may in pairs))
