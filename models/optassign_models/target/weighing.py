"""Preset `weighted`: one sum of imbalance, restore work and moves (docs/reference/rules.md, "Preset weighted").

All numbers are whole. Restore costs are in hundredths of the mean whole changelog, rounded up per copy. Weights are whole
multiples of one unit, so that they count by their ratio, however small they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign_models.forced import Forced, exact_sum, prepare
from optassign_models.goals.default_order import ACTIVE_MOVES, RESTORE_WORK, STANDBY_MIGRATIONS
from optassign_models.problem import IntArray, Problem
from optassign_models.target.question import Objective

WEIGHTED_COST = "weighted_cost"
"""Name of the sum."""
_STICKY = (RESTORE_WORK, ACTIVE_MOVES, STANDBY_MIGRATIONS)
"""The goals that make up stickiness."""
_MOST = 1 << 61
"""A sum in CP-SAT, and a coefficient times the parts of a dual, have 62 bits."""


def weigh(weights: tuple[int, int, int]) -> Objective:
    """Return the one objective, by the weights of the imbalance of clients, of that of subtopologies, and of stickiness."""
    instance, subtopology, stickiness = weights
    return Objective(WEIGHTED_COST, tuple((goal, stickiness) for goal in _STICKY), (instance,) * 3 + (subtopology,) * 2)


def express_in_changelogs(problem: Problem) -> tuple[Problem, Forced]:
    """Return the problem with restore costs in hundredths of the logged tasks' mean changelog, rounded up per copy."""
    number = int(problem.logged.sum())
    total = exact_sum(problem.end, problem.logged.astype(np.int64))
    if total < number or not number:  # the mean is at least one offset
        total = number = 1

    def scale(cost: IntArray) -> IntArray:
        scaled = [-(-100 * number * each // total) for each in cost.tolist()]
        return np.array([min(each, _MOST) for each in scaled], dtype=np.int64)

    return prepare(replace(problem, col_cost=scale(problem.col_cost), pool_cost=scale(problem.pool_cost)))


def explain_excess(problem: Problem, weights: tuple[int, int, int]) -> str | None:
    """Return why the weights are refused, since sums of so many copies would not be exact. None if all sums are exact.

    problem: with restore costs in hundredths (`express_in_changelogs`).
    """
    T, copies = problem.T, problem.T * (problem.standbys + 1)
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    imbalance = T * (T + 1) // 2
    most = weights[0] * 3 * imbalance + weights[1] * 2 * imbalance + weights[2] * copies * (cost + 2)
    if most < _MOST:
        return None
    ratio = ":".join(map(str, weights))
    return f"the weights have the ratio {ratio}, and a sum of {copies} copies has no room in 62 bits"
