"""Questions to the one model: goals in an order of their own inside the shares, or the one sum of preset `weighted`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from optassign_models.cp_sat.resolution import express_in_changelogs
from optassign_models.forced import Forced
from optassign_models.goals import GoalModel, active_moves, restore_work, standby_migrations
from optassign_models.limits.limit import PlacementLimit
from optassign_models.problem import Problem
from optassign_models.program.optimum import Stage
from optassign_models.program.solving import Question
from optassign_models.shares import Shares

EXACT_BITS = 45
"""The bits of a coefficient: the proof multiplies it by twelve, and sums a few of them, in int64."""


def ask_in_order(
    problem: Problem,
    forced: Forced,
    shares: Shares,
    goals: Iterable[GoalModel],
    limits: Iterable[PlacementLimit] = (),
    *,
    is_now: bool = False,
) -> Question:
    """The question; goals that are no linear expression are left out. `is_now`: R3 to R5 bind, as in this rebalance."""
    stages = tuple(Stage.of_goal(goal) for goal in goals if goal.is_linear)
    return Question(problem, forced, shares, stages, limits=tuple(limits), is_now=is_now)


def is_sum_exact(problem: Problem) -> bool:
    """Whether restore costs are small enough for a proof in whole numbers."""
    cost = max(int(np.max(each, initial=0)) for each in (problem.col_cost, problem.pool_cost))
    return not cost >> EXACT_BITS


def ask_for_least_sum(
    problem: Problem, shares: Shares, weights: tuple[int, int, int], limits: Sequence[PlacementLimit] = ()
) -> Question | None:
    """The question of preset `weighted`; None where weights × restore costs are more than a proof in whole numbers can add up.

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
