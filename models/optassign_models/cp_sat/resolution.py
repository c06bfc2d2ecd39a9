"""Restore costs in other units, so that CP-SAT's sums of them stay exact or mean the same for every application."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign_models.forced import Forced, prepare
from optassign_models.problem import IntArray, Problem

EXACT_BITS = 50
"""CP-SAT reports objectives and bounds as doubles: up to 2^50 they are exact with room to spare."""
_MOST_COST = 2.0**62
"""A scaled cost that is more than this is beyond any exact sum, so it may as well be this."""


def coarsen_costs(problem: Problem, forced: Forced) -> tuple[Problem, Forced, int]:
    """Restore costs in units so large that their sum stays exact in CP-SAT; the unit, in offsets, mostly 1."""
    most = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    resolution = max(1, most * problem.T * (problem.standbys + 1) >> EXACT_BITS)
    if resolution == 1:
        return problem, forced, 1
    scaled = replace(problem, col_cost=problem.col_cost // resolution, pool_cost=problem.pool_cost // resolution)
    return *prepare(scaled), resolution


def express_in_changelogs(problem: Problem) -> tuple[Problem, Forced]:
    """Restore costs in hundredths of the mean whole changelog of the logged tasks."""
    mean = max(1.0, float(problem.end[problem.logged].mean())) if problem.logged.any() else 1.0

    def scaled(cost: IntArray) -> IntArray:
        return np.minimum(np.ceil(100.0 * cost / mean), _MOST_COST).astype(np.int64)

    scaled_problem = replace(problem, col_cost=scaled(problem.col_cost), pool_cost=scaled(problem.pool_cost))
    return prepare(scaled_problem)
