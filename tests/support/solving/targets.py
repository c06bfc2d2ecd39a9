"""Functions that solve the model of the target assignment for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np

from optassign_models.goals import DEFAULT_ORDER, GoalModel
from optassign_models.limits import PlacementLimit
from optassign_models.problem import Placement, Problem
from optassign_models.results import Deadline, Effort, SolverName
from optassign_models.shares import ShareFamilies
from optassign_models.solving.method import Case
from optassign_models.target.question import Question, express_in_changelogs, list_in_order, weigh
from optassign_models.target.search import TargetAnswer, find_best


def assert_rules_kept(problem: Problem, placed: Placement) -> None:
    """Assert that a placement keeps R1, R2 and R4."""
    assert ((placed.active >= 0) & (placed.active < problem.C)).all()
    keys = placed.standby_keys(problem.C)
    assert len(np.unique(keys)) == len(keys)
    number = np.bincount(placed.standby_task, minlength=problem.T)
    assert np.array_equal(number, np.where(problem.logged, problem.standbys, 0))
    assert not np.isin(np.arange(problem.T) * problem.C + placed.active, keys).any()


SOLVERS: tuple[SolverName, ...] = get_args(SolverName)


def choose_solver(seed: int) -> SolverName:
    """Return the solver of a seed; the solvers take turns, so that each has a third of the seeds."""
    return SOLVERS[seed % len(SOLVERS)]


def make_effort(solver: SolverName = "auto", seconds: float | None = None) -> Effort:
    """Return the effort of a solver; without a deadline if `seconds` is None."""
    return Effort(solver, Deadline.after(seconds))


def find_target(
    problem: Problem,
    shares: ShareFamilies,
    goals: Sequence[GoalModel] = DEFAULT_ORDER,
    limits: Iterable[PlacementLimit] = (),
    effort: Effort | None = None,
) -> TargetAnswer:
    """Return the target within shares and limits that is lexicographically best by the goals."""
    question = Question(problem, shares, list_in_order(goals), limits=tuple(limits))
    return find_best(question, effort or make_effort())


def find_answer_now(case: Case, goals: Sequence[GoalModel], effort: Effort | None = None) -> TargetAnswer:
    """Return the lexicographically best answer by the goals that is balanced in this rebalance already."""
    question = Question(case.problem, case.target, list_in_order(goals), is_now=True)
    return find_best(question, effort or make_effort())


def find_least_sum(
    problem: Problem,
    shares: ShareFamilies,
    weights: tuple[int, int, int],
    limits: Iterable[PlacementLimit] = (),
    effort: Effort | None = None,
) -> TargetAnswer:
    """Return the placement with the least weighted sum that keeps the limits."""
    question = Question(express_in_changelogs(problem), shares, (weigh(weights),), shares_bind=False, limits=tuple(limits))
    return find_best(question, effort or make_effort())
