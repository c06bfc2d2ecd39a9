"""Goals in an order of their own, as stages of the one model inside the shares."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals import GoalModel
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
