"""Goal (a), `tag_spread`: distinct tag values among the copies of each logged task; more is better (KIP-708).

Tags come in the order in which they are configured: of two plans the better is the one with more values of the first tag, then
of the second. So the goal is one number with a digit for each tag.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import GoalModel, Reached
from optassign_models.problem import IntArray, Problem

_LARGEST = 1 << 60
"""The greatest value of the goal; beyond it, sums in a solver would overflow int64."""


def weigh_tags(copies: int, tags: int) -> tuple[int, ...]:
    """Return the weight of a distinct value of each tag, for `copies` copies: all later tags together weigh less.

    If weights would be too large for `_LARGEST`, the last tags weigh the same.
    """
    base = copies + 1
    weights = [base**place for place in reversed(range(tags))]
    while weights and weights[0] * base > _LARGEST:
        weights = [max(1, weight // base) for weight in weights]
    return tuple(weights)


def list_tag_values(problem: Problem) -> tuple[IntArray, ...]:
    """Return for each tag the value (C,) of each client, −1 for none; no tags if the goal is not requested."""
    return problem.data_of(TAG_SPREAD.name, tuple) or ()


def bound_by_numbers(problem: Problem) -> int:
    """Return a lower bound of the goal (negative, as more values are better), by the numbers of copies and of values."""
    value = 0
    for of_client, gain in _reaches(problem):
        known = len(np.unique(of_client[of_client >= 0]))
        value -= gain * int(problem.logged.sum()) * min(problem.standbys + 1, known)
    return value


def _reaches(problem: Problem) -> tuple[Reached, ...]:
    values = list_tag_values(problem)
    weights = weigh_tags(int(problem.logged.sum()) * (problem.standbys + 1), len(values))
    return tuple(zip(values, weights, strict=True))


TAG_SPREAD = GoalModel("tag_spread", distinguishes=lambda problem: problem.classify(list_tag_values(problem)), reaches=_reaches)
GOALS = (TAG_SPREAD,)
