"""Copies and actives by two flows, one after the other.

Only R2 and "the active is one of the copies" couple the two flows. Copies first is exact for restore work and copies not caught
up, actives first for the actives' goals; where the second flow fits into the first, both are proven.

An answer for this rebalance (`find_balanced_now`):

1. Actives among the most caught-up clients; without standbys that is the answer.
2. Copies around these actives.
3. If there are none: copies first, then actives inside them.

A plan: copies first (`find_optimal_copies`). All plans that have their restore work and copies not caught up are a linear
program, which finds the best of them (`improve_plan` in program/solving.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.flows.actives import find_balanced_actives
from optassign_models.flows.copies import COPY_GOALS, BalancedCopies, find_balanced_copies
from optassign_models.forced import Forced, prepare
from optassign_models.goals.moves import ACTIVE_MOVES
from optassign_models.policy.constants import SMALL_PAIRS, UNPOOL_ROUNDS
from optassign_models.problem import IntArray, Placement, Problem, make_placement
from optassign_models.results import Found
from optassign_models.shares import ShareFamilies


@dataclass(frozen=True, eq=False)
class CopiesFirst:
    """Copies, and the problem that they were found for: it may have more columns than the one that was asked about."""

    problem: Problem
    forced: Forced
    chosen: BalancedCopies

    @property
    def bounds(self) -> dict[str, int]:
        """Bounds of restore work and copies not caught up, with this answer's forced part, which the flow leaves out."""
        work, cold = self.chosen.bounds
        names = (goal.name for goal in COPY_GOALS)
        return dict(zip(names, (work + self.forced.forced_work, cold + self.forced.forced_not_caught_up), strict=True))


def write_out_pairs(problem: Problem) -> tuple[Problem, Forced]:
    """The problem with all its pairs as columns if they are few; otherwise unchanged, ready for the models."""
    logged = np.flatnonzero(problem.logged)
    if len(logged) * problem.C <= SMALL_PAIRS:
        problem = problem.with_all_columns(logged)
    return prepare(problem)


def find_balanced_now(problem: Problem, forced: Forced, shares: ShareFamilies) -> Found:
    """An assignment that keeps R1–R5 and all shares in this very rebalance, with few active moves."""
    relaxed = find_balanced_actives(problem, shares, forced.leading, forced.pool_leading, (ACTIVE_MOVES,))
    if relaxed is None:
        return Found(None, impossible=True)
    bounds = {ACTIVE_MOVES.name: relaxed.bounds[0]}
    if not problem.standbys:
        if relaxed.active is None:
            return Found(None, bounds=bounds)
        return Found(make_placement(relaxed.active, np.zeros(0, dtype=np.int64), problem.C), bounds=bounds)
    if relaxed.active is not None:
        around = _find_copies_around(problem, shares, relaxed.active)
        if around is not None:
            return Found(around, bounds=bounds)
    copies = _find_copies_first(problem, forced, shares, now=True)
    if copies is None:
        return Found(None, impossible=True)
    if copies.chosen.keys is None:
        return Found(None, bounds=bounds)
    return Found(_find_actives_inside(copies.problem, shares, copies.chosen.keys), bounds=bounds)


def find_optimal_copies(problem: Problem, forced: Forced, shares: ShareFamilies) -> CopiesFirst | None:
    """Copies of least restore work, and among these of fewest copies not caught up; None where none keep the shares.

    Where actives fit into one of the optima, this is what a plan has at least.
    """
    return _find_copies_first(problem, forced, shares, now=False)


def _find_copies_first(problem: Problem, forced: Forced, shares: ShareFamilies, *, now: bool) -> CopiesFirst | None:
    """Copies, among the optima those that keep owners and standbys, and the problem that they were found for.

    A subtopology whose pool breaks R2 is written out, and the flow solved again. None where no copies keep the shares.
    """
    for _ in range(UNPOOL_ROUNDS):
        rewards = (problem.col_owner.astype(np.int64), problem.col_standby.astype(np.int64))
        copies = find_balanced_copies(problem, forced, shares, now=now, rewards=rewards)
        if copies is None:
            return None
        found = CopiesFirst(problem, forced, copies)
        if copies.keys is not None:
            return found
        problem, forced = prepare(problem.with_all_columns(copies.undealt))
    return found


def _find_copies_around(problem: Problem, shares: ShareFamilies, active: IntArray) -> Placement | None:
    """Copies that contain the given actives (T,), and among those of least cost the most standbys of before."""
    logged = np.flatnonzero(problem.logged)
    keys = logged * problem.C + active[logged]
    problem, forced = prepare(problem.with_columns(keys))
    for _ in range(UNPOOL_ROUNDS):
        required = np.zeros(len(problem.col_task), dtype=np.bool_)
        required[problem.find(keys)] = True
        rewards = ((problem.col_standby & ~required).astype(np.int64),)
        copies = find_balanced_copies(problem, forced, shares, now=True, required=required, rewards=rewards)
        if copies is None:
            return None
        if copies.keys is not None:
            return make_placement(active, np.setdiff1d(copies.keys, keys, assume_unique=True), problem.C)
        problem, forced = prepare(problem.with_all_columns(copies.undealt))
    return None


def _find_actives_inside(problem: Problem, shares: ShareFamilies, copies: IntArray) -> Placement | None:
    """Actives chosen among the copies with the given keys, and anywhere for tasks without changelog."""
    problem, forced = prepare(problem.with_columns(copies))
    columns = ~problem.logged[problem.col_task]
    columns[problem.find(copies)] = True
    columns &= forced.leading
    prefer = (~problem.col_owner | problem.col_standby).astype(np.int64)  # a standby that becomes active is lost as a standby
    pools = ~problem.logged & (problem.pool_size > 0)
    actives = find_balanced_actives(problem, shares, columns, pools, (ACTIVE_MOVES,), prefer)
    if actives is None or actives.active is None:
        return None
    logged = np.flatnonzero(problem.logged)
    keys = logged * problem.C + actives.active[logged]
    return make_placement(actives.active, np.setdiff1d(copies, keys, assume_unique=True), problem.C)
