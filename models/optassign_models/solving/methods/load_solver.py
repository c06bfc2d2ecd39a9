"""The goals after the load, by solvers: one program for few pairs of task and client, a guided heuristic for more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.default_order import RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.limits import PlacementLimit
from optassign_models.load.neighbourhoods import improve
from optassign_models.load.under_load import make_question_under_load, relax_under_load, solve_under_load
from optassign_models.policy.constants import NEIGHBOURHOOD_CLIENTS, ROUNDING
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.results import Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.load_case import LoadCase
from optassign_models.solving.methods.target_method import can_hold_together, find_least_imbalance, read_answer
from optassign_models.target.search import Question, TargetAnswer, has_few_pairs
from optassign_models.target.solver import Effort


class LoadSolver:
    """Solves for the goals of one order, with loads within their tolerance."""

    def __init__(self, order: RequestedOrder, effort: Effort) -> None:
        self._effort = effort
        self._goals = tuple(goal for goal in find_goals(order.names) if goal is not LOAD)
        self._configured = tuple(goal for goal in self._goals if goal.name in order.configured)

    def serves(self, problem: Problem) -> bool:
        """Return whether one program has all goals: pairs of task and client are few."""
        return has_few_pairs(problem)

    def plan(self, case: LoadCase, start: Placement, place: Callable[[IntArray], Placement]) -> Found:
        """The best plan that was found from the start, with loads within the tolerance if those of the start are, and bounds.

        place: the placement with as many of these actives (T,) as have room, −1 for tasks without one.
        """
        found = Found(start, found_by=FoundBy.GREEDY)
        if self.serves(case.problem):
            found = self._improve(case, found)
        if self._is_first_proven(case, found):
            return found
        if self._goals[0] is RESTORE_WORK and self._is_within(case, found.whole):
            found = self._relax(case, found, place)
        if self.serves(case.problem) and len(case.loads.open_clients) <= NEIGHBOURHOOD_CLIENTS:
            return found  # a neighbourhood would be the whole group
        deadline = self._effort.deadline
        placed = improve(case.problem, case.forced, case.loads, case.most, found.whole, deadline)
        return replace(self._choose(case, found, placed), limited=found.limited or not deadline.left)

    def _is_first_proven(self, case: LoadCase, found: Found) -> bool:
        if not self._goals:
            return True
        return found.bounds.get(self._goals[0].name) == self._evaluate(case, found.whole)[0]

    def _relax(self, case: LoadCase, start: Found, place: Callable[[IntArray], Placement]) -> Found:
        """Return the better of the start and the placement that the relaxation leads to, with the bound of restore work."""
        question = make_question_under_load(
            case.problem, case.loads, case.most, self._goals[:1], (), start.whole, has_pools=True
        )
        relaxed = relax_under_load(question, case.loads, self._effort)
        if relaxed is None:
            return replace(start, limited=True)
        found = start
        if relaxed.bound > start.bounds.get(RESTORE_WORK.name, -1):
            found = replace(start, bounds={RESTORE_WORK.name: relaxed.bound}, proved_by=relaxed.proved_by)
        return self._choose(case, found, place(relaxed.active))

    def _choose(self, case: LoadCase, found: Found, placed: Placement) -> Found:
        is_better = self._is_within(case, placed) and self._evaluate(case, placed) < self._evaluate(case, found.whole)
        return replace(found, placement=placed, found_by=FoundBy.GREEDY) if is_better else found

    @staticmethod
    def _is_within(case: LoadCase, placed: Placement) -> bool:
        """Return whether rows that follow a placement bar no balanced one: it keeps the tolerance, and no thread is idle."""
        if case.loads.count_idle(placed.active):
            return False
        return math.isfinite(case.most) and case.loads.greatest_of(placed) <= case.most * (1 + ROUNDING)

    def _improve(self, case: LoadCase, start: Found) -> Found:
        """Return the best plan in the goals, in their order, that keeps the loads; the start, if none is better."""
        found = self.solve(case, start.whole, ())
        found = replace(found, limited=start.limited or found.limited)
        if found.placement is None or self._evaluate(case, start.whole) < self._evaluate(case, found.placement):
            return replace(found, placement=start.placement, found_by=start.found_by)
        return found

    def solve(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
        """Return the best plan in the goals with loads within the tolerance and inside these limits.

        The start may be beyond the tolerance or on a draining client. Rows allow such copies only there, so nothing is bounded.
        """
        question = self.make_question(case, start, limits)
        found = read_answer(solve_under_load(question, self._effort), question.goals)
        return found if self._is_within(case, start) else replace(found, bounds={})

    def make_question(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
        """Return the goals as a question to the program of the target, with loads within the tolerance as rows."""
        has_pools = not self.serves(case.problem)
        return make_question_under_load(case.problem, case.loads, case.most, self._goals, limits, start, has_pools=has_pools)

    def find_least_imbalance(self, case: LoadCase) -> TargetAnswer:
        """Return the placement of least imbalance that keeps the limits, whatever clients carry."""
        return find_least_imbalance(case, self._effort)

    def can_hold(self, problem: Problem, limits: Sequence[PlacementLimit]) -> bool | None:
        """Return whether some placement keeps these limits; None where that was not found out."""
        return can_hold_together(problem, limits, self._effort)

    def is_as_good(self, case: LoadCase, now: Placement, plan: Placement) -> bool:
        """Return whether a placement is no worse than the plan in the configured goals."""
        return self._evaluate(case, now, self._configured) <= self._evaluate(case, plan, self._configured)

    def _evaluate(self, case: LoadCase, plan: Placement, goals: Sequence[GoalModel] | None = None) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, plan, self._goals if goals is None else goals).values())
