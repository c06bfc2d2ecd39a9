"""A question to the model: a problem, objectives in their order, and the constraints that bind.

An objective is a weighted sum of goals and of the imbalance of families of shares. An order of goals is a list of objectives
with one goal each, preset `weighted` (docs/reference/rules.md, "Preset weighted") a list of one objective, and least imbalance
a list with one family each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from operator import mul

import numpy as np

from optassign_models.goals import GoalModel, evaluate
from optassign_models.goals.goal import ACTIVE_MOVES, RESTORE_WORK, STANDBY_MIGRATIONS
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.problem import IntArray, Placement, Problem, exact_sum, prepare
from optassign_models.shares import ShareFamilies, count_copies
from optassign_models.target.arrays import MOST


@dataclass(frozen=True, eq=False)
class Objective:
    """A weighted sum of goals and imbalance, to be minimised."""

    name: str = ""
    goals: tuple[tuple[GoalModel, int], ...] = ()
    """Goals with their weights."""
    imbalance: tuple[int, ...] = (0,) * 5
    """(5,) weight of the imbalance of each family of shares."""


def list_in_order(goals: Iterable[GoalModel]) -> tuple[Objective, ...]:
    """Return an objective for each goal."""
    return tuple(Objective(goal.name, ((goal, 1),)) for goal in goals)


@dataclass(frozen=True, eq=False)
class Question:
    """A problem, the objectives to minimise in order, and the constraints that bind: the input of `search.find_best`."""

    problem: Problem
    shares: ShareFamilies
    objectives: tuple[Objective, ...]
    shares_bind: bool = True
    """Whether counts must be inside their shares; otherwise only the objectives price their imbalance."""
    limits: tuple[PlacementLimit, ...] = ()
    """Limits that the placement must keep."""
    is_now: bool = False
    """Whether R3 to R5 bind, as in this very rebalance."""
    require: Callable[..., None] | None = None
    """Adds further rows, on sums of weights of copies, to a program with its `TargetVariables`."""
    start: Placement | None = None
    """A placement to begin with: the answer is no worse, if this one is allowed."""

    def write_out(self, tasks: IntArray | None = None) -> Question:
        """Return the question with every client as a candidate of these tasks (n,); of all, if None."""
        return replace(self, problem=prepare(self.problem.with_all_columns(tasks)))

    def allows(self, placed: Placement) -> bool:
        """Return whether a placement keeps the limits, and the shares and R3 to R5 if they bind."""
        if list_broken(self.limits, placed):
            return False
        if self.shares_bind and not self.shares.hold(count_copies(self.problem, placed)):
            return False
        return not self.is_now or self.problem.keeps_r3_to_r5(placed)

    def evaluate(self, placed: Placement) -> tuple[int, ...]:
        """Return the values of a placement in the objectives, computed without the program."""
        values = evaluate(self.problem, placed, self.goals)
        imbalance = self.shares.imbalance(count_copies(self.problem, placed))
        return tuple(
            sum(weight * values[goal.name] for goal, weight in each.goals) + sum(map(mul, each.imbalance, imbalance))
            for each in self.objectives
        )

    @property
    def goals(self) -> list[GoalModel]:
        """The goals of all objectives."""
        return [goal for goal, _ in chain.from_iterable(objective.goals for objective in self.objectives)]

    @property
    def begins_with_values(self) -> bool:
        """Whether the first goal counts distinct values that copies reach, and no other goal does."""
        reaching = [goal.reaches is not None for goal in self.goals]
        return reaching[:1] == [True] and not any(reaching[1:])

    @property
    def has_sums(self) -> bool:
        """Whether some objective has a greatest sum of weights of copies, or further rows bound such sums."""
        return self.require is not None or any(goal.carries is not None for goal in self.goals)

    @property
    def costs(self) -> tuple[bool, ...]:
        """(5,) whether the imbalance of each family of shares costs in some objective."""
        return tuple(any(objective.imbalance[family] for objective in self.objectives) for family in range(5))


WEIGHTED_COST = "weighted_cost"
"""The name of the objective of preset `weighted`."""


def weigh(weights: tuple[int, int, int]) -> Objective:
    """Return the objective of preset `weighted`, by the weights of instance imbalance, subtopology imbalance and stickiness."""
    instance, subtopology, stickiness = weights
    sticky = tuple((goal, stickiness) for goal in (RESTORE_WORK, ACTIVE_MOVES, STANDBY_MIGRATIONS))
    return Objective(WEIGHTED_COST, sticky, (instance,) * 3 + (subtopology,) * 2)


def express_in_changelogs(problem: Problem) -> Problem:
    """Return the problem with restore costs in hundredths of the logged tasks' mean changelog, rounded up per copy."""
    number = int(problem.logged.sum())
    total = exact_sum(problem.end, problem.logged.astype(np.int64))
    if total < number or not number:  # the mean is at least one offset
        total = number = 1

    def scale(cost: IntArray) -> IntArray:
        scaled = [-(-100 * number * each // total) for each in cost.tolist()]
        return np.array([min(each, MOST) for each in scaled], dtype=np.int64)

    return prepare(replace(problem, col_cost=scale(problem.col_cost), pool_cost=scale(problem.pool_cost)))


def explain_excess(problem: Problem, weights: tuple[int, int, int]) -> str | None:
    """Return why the weights are refused, since sums of all copies would not be exact. None if all sums are exact.

    problem: with restore costs in hundredths (`express_in_changelogs`).
    """
    T, copies = problem.T, problem.T * (problem.standbys + 1)
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    imbalance = (problem.standbys + 1) * T * (T + 1)  # all copies on as few clients as may be, and none on the others
    most = weights[0] * 3 * imbalance + weights[1] * 2 * imbalance + weights[2] * copies * (cost + 2)
    if most < MOST:
        return None
    ratio = ":".join(map(str, weights))
    return f"the weights have the ratio {ratio}, and a sum of {copies} copies has no room in 62 bits"
