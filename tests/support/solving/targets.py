"""Questions to the target's program, with the judges that its methods need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.goals import DEFAULT_ORDER, GoalModel, evaluate
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.problem import Placement, Problem
from optassign_models.shares import ShareFamilies, count_copies
from optassign_models.solving.method import Case
from optassign_models.target.objectives import list_in_order
from optassign_models.target.search import Question, TargetAnswer, find_best
from optassign_models.target.solver import Effort, Solver
from optassign_models.target.weighing import compute_weighted_cost, express_in_changelogs, weigh


def assert_rules_kept(problem: Problem, placed: Placement) -> None:
    """Assert that a placement keeps R1, R2 and R4."""
    assert ((placed.active >= 0) & (placed.active < problem.C)).all()
    keys = placed.standby_keys(problem.C)
    assert len(np.unique(keys)) == len(keys)
    number = np.bincount(placed.standby_task, minlength=problem.T)
    assert np.array_equal(number, np.where(problem.logged, problem.standbys, 0))
    assert not np.isin(np.arange(problem.T) * problem.C + placed.active, keys).any()


def choose_solver(seed: int) -> Solver:
    """Return the solvers in turn, so that each has a third of the seeds."""
    return tuple(Solver)[seed % len(Solver)]


def make_effort(solver: Solver = Solver.AUTO, seconds: float | None = None) -> Effort:
    """Return the effort of a solver; without a deadline if `seconds` is None."""
    return Effort(solver, Deadline.after(seconds))


def find_target(
    problem: Problem,
    forced: Forced,
    shares: ShareFamilies,
    goals: Sequence[GoalModel] = DEFAULT_ORDER,
    limits: Iterable[PlacementLimit] = (),
    effort: Effort | None = None,
) -> TargetAnswer:
    """Return the best target inside the shares that keeps the limits, goal after goal."""
    limits = tuple(limits)

    def judge(placed: Placement) -> tuple[int, ...] | None:
        if list_broken(limits, placed) or not shares.hold(count_copies(problem, placed)):
            return None
        return tuple(evaluate(problem, forced, placed, goals).values())

    return find_best(Question(problem, forced, shares, list_in_order(goals), limits=limits), judge, effort or make_effort())


def find_answer_now(case: Case, goals: Sequence[GoalModel], effort: Effort | None = None) -> TargetAnswer:
    """Return the best answer that is balanced in this rebalance already, goal after goal."""

    def judge(placed: Placement) -> tuple[int, ...] | None:
        is_allowed = case.reaches_target(placed) and case.keeps_r3_to_r5(placed)
        return tuple(evaluate(case.problem, case.forced, placed, goals).values()) if is_allowed else None

    question = Question(case.problem, case.forced, case.target, list_in_order(goals), is_now=True)
    return find_best(question, judge, effort or make_effort())


def find_least_sum(
    problem: Problem,
    shares: ShareFamilies,
    weights: tuple[int, int, int],
    limits: Iterable[PlacementLimit] = (),
    effort: Effort | None = None,
) -> TargetAnswer:
    """Return the placement with the least weighted sum that keeps the limits."""
    limits = tuple(limits)
    scaled, forced = express_in_changelogs(problem)

    def judge(placed: Placement) -> tuple[int, ...] | None:
        return None if list_broken(limits, placed) else (compute_weighted_cost(scaled, shares, weights, placed),)

    question = Question(scaled, forced, shares, (weigh(weights),), shares_bind=False, limits=limits)
    return find_best(question, judge, effort or make_effort())
