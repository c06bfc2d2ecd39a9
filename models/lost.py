"""Tasks of which nobody has any state: they are down until it is restored, so a plan spreads them over clients (docs/rules.md,
"Lost tasks").

Where they are planned is all the same to every goal. So such a task exchanges places with another planned active of its
subtopology that is not there yet either, but runs elsewhere meanwhile: each count of each client stays as it is, and so does
every cost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optassign.models.problem import BoolArray, IntArray, Placement, Problem

_ROUNDS = 4
"""Turns over all lost tasks; the first does nearly all."""
_LEAST_GAIN = 1e-6
"""As a share of the time that it was: sums of fractions are not exact."""


def spread_lost(problem: Problem, plan: Placement, rates: IntArray | None) -> Placement:
    """The plan with lost tasks where they are down for less time, all taken together; every goal is as it was.

    Args:
        rates: (C,) offsets per second that clients restore, where they are known.
    """
    C, T = problem.C, problem.T
    at = np.arange(T) * C + plan.active
    is_cold = problem.logged & (plan.active >= 0) & (problem.pool_rank > 0) & (problem.find(at) < 0)
    lost = is_cold & find_lost(problem)
    elsewhere = is_cold & ~lost
    if not lost.any() or not elsewhere.any():
        return plan
    active, speed = plan.active.copy(), np.ones(C) if rates is None else rates.astype(np.float64)
    standbys = plan.standby_keys(C)
    order = np.flatnonzero(lost)
    order = order[np.argsort(-problem.end[order], kind="stable")]
    moved = True
    for _ in range(_ROUNDS):
        if not moved:
            break
        moved = False
        for t in order.tolist():
            other = _find_exchange(problem, active, standbys, lost, elsewhere, speed, t)
            if other is not None:
                active[t], active[other] = active[other], active[t]
                moved = True
    return plan if np.array_equal(active, plan.active) else Placement(active, plan.standby_task, plan.standby_client)


def find_lost(problem: Problem) -> BoolArray:
    """(T,) logged tasks of which no client has more than any other, and that nobody owns."""
    best = np.full(problem.T, np.iinfo(np.int64).max)
    np.minimum.at(best, problem.col_task, problem.col_rank)
    return problem.logged & (problem.pool_rank > 0) & (best >= problem.pool_rank) & ~problem.has_owner


def _find_exchange(
    problem: Problem,
    active: IntArray,
    standbys: IntArray,
    lost: BoolArray,
    elsewhere: BoolArray,
    speed: npt.NDArray[np.float64],
    t: int,
) -> int | None:
    """The task with which lost task t best exchanges places; None: it stays."""
    C, here = problem.C, int(active[t])
    others = np.flatnonzero(elsewhere & (problem.group == problem.group[t]) & (active != here))
    others = others[_is_free(problem, standbys, t * C + active[others]) & _is_free(problem, standbys, others * C + here)]
    if not len(others):
        return None
    # Copies that restore at equal shares keep each other waiting by the lesser of both: twice, once each.
    rest = np.flatnonzero(lost & (np.arange(problem.T) != t))
    shared = 2.0 * np.minimum(problem.end[rest], problem.end[t])
    seconds = (problem.end[t] + np.bincount(active[rest], weights=shared, minlength=C)) / speed
    best = int(others[np.argmin(seconds[active[others]])])
    return best if seconds[active[best]] < seconds[here] * (1 - _LEAST_GAIN) else None


def _is_free(problem: Problem, standbys: IntArray, keys: IntArray) -> BoolArray:
    """(n,) pairs of which nothing is known but what all others of the task's pool are, and that no standby is planned on."""
    return (problem.find(keys) < 0) & ~np.isin(keys, standbys)
