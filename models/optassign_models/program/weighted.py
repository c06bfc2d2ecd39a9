"""Preset `weighted` as one stage of the one model (docs/reference/rules.md, "Preset weighted").

Imbalance, restore work and moves are one sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from optassign_models.cp_sat.resolution import express_in_changelogs
from optassign_models.goals import active_moves, restore_work, standby_migrations
from optassign_models.limits.limit import PlacementLimit
from optassign_models.problem import Problem
from optassign_models.program.lexicographic import EXACT_BITS
from optassign_models.program.optimum import Stage
from optassign_models.program.solving import Question
from optassign_models.shares import Shares


def ask_for_least_sum(
    problem: Problem, shares: Shares, weights: tuple[int, int, int], limits: Sequence[PlacementLimit] = ()
) -> Question | None:
    """The question; None where weights × restore costs are beyond what a proof in whole numbers can add up.

    `weights`: of the imbalance of clients, of that of subtopologies, and of stickiness.
    """
    problem, forced = express_in_changelogs(problem)
    instance, subtopology, stickiness = weights
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    copies = problem.T * (problem.standbys + 1)
    greatest = max(instance * copies, subtopology * copies, stickiness * (cost + 2))
    if greatest // max(1, math.gcd(*weights)) >> EXACT_BITS:
        return None
    goals = tuple((goal, stickiness) for goal in (restore_work.GOAL, active_moves.GOAL, standby_migrations.GOAL))
    stage = Stage("weighted_cost", goals, (instance,) * 3 + (subtopology,) * 2)
    return Question(problem, forced, shares, (stage,), shares_bind=False, limits=tuple(limits))
