"""The goals after the load, by solvers: one program for few pairs of task and client, a guided heuristic for more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.limits import PlacementLimit
from optassign_models.load.joint import pose_under_load, solve_under_load
from optassign_models.load.planning import plan_actives
from optassign_models.load.prices import add_migrations, bound_price, price_restoring
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.results import Found, FoundBy, ProvedBy
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
        """Whether one program has all goals: pairs of task and client are few."""
        return has_few_pairs(problem)

    def plan(self, case: LoadCase, complete: Callable[[IntArray], Placement]) -> Found:
        """A plan of little restore work, within the tolerance where that was found; its bounds.

        complete: the placement with some actives (T,).
        """
        problem, loads = case.problem, case.loads
        prices = price_restoring(problem, case.forced, loads)
        fine = add_migrations(problem, loads, prices)
        planned = plan_actives(loads, prices, fine, case.most_of_actives, self._effort.deadline)
        placed = complete(planned.active)
        found = Found(placed, found_by=FoundBy.GREEDY, limited=planned.limited)
        # A bound of actives alone holds if they may take the room of all standbys.
        bound = planned.bound if loads.standby is None else bound_price(loads.actives_alone, prices, case.most)
        bound += case.forced.forced_work
        is_first = self._goals[:1] == (RESTORE_WORK,)
        if is_first and bound <= evaluate(problem, case.forced, placed)[RESTORE_WORK.name]:
            # Otherwise R3 to R5 force copies that the prices count too.
            proved_by = ProvedBy.HIGHS if planned.by_solver and loads.standby is None else ProvedBy.RULES
            found = replace(found, bounds={RESTORE_WORK.name: bound}, proved_by=proved_by)
        return self._improve(case, found) if self.serves(problem) else found

    def _improve(self, case: LoadCase, start: Found) -> Found:
        """The best plan in the goals, in their order, that keeps the loads; the start, if none is better."""
        found = self.solve(case, start.whole, ())
        found = replace(found, limited=start.limited or found.limited)
        if not found.bounds or found.bounds.get(RESTORE_WORK.name, 0) < start.bounds.get(RESTORE_WORK.name, 0):
            found = replace(found, bounds=start.bounds, proved_by=start.proved_by)
        if found.placement is None or self._evaluate(case, start.whole) < self._evaluate(case, found.placement):
            return replace(found, placement=start.placement, found_by=start.found_by)
        return found

    def solve(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
        """The best plan in the goals with loads within the tolerance and inside these limits.

        The start may be beyond the tolerance or on a draining client. Rows allow such copies only there, so nothing is bounded.
        """
        question = self.pose(case, start, limits)
        found = read_answer(solve_under_load(question, self._effort), question.goals)
        is_within = math.isfinite(case.most) and case.loads.greatest_of(start) <= case.most * (1 + ROUNDING)
        return found if is_within else replace(found, bounds={})

    def pose(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
        """The goals as a question to the program of the target, with loads within the tolerance as rows."""
        return pose_under_load(case.problem, case.loads, case.most, self._goals, limits, start)

    def find_least_imbalance(self, case: LoadCase) -> TargetAnswer:
        """The placement of least imbalance that keeps the limits, whatever clients carry."""
        return find_least_imbalance(case, self._effort)

    def can_hold(self, problem: Problem, limits: Sequence[PlacementLimit]) -> bool | None:
        """Whether some placement keeps these limits; None where that was not found out."""
        return can_hold_together(problem, limits, self._effort)

    def is_as_good(self, case: LoadCase, now: Placement, plan: Placement) -> bool:
        """Whether a placement is no worse than the plan in the configured goals."""
        return self._evaluate(case, now, self._configured) <= self._evaluate(case, plan, self._configured)

    def _evaluate(self, case: LoadCase, plan: Placement, goals: Sequence[GoalModel] | None = None) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, plan, self._goals if goals is None else goals).values())
