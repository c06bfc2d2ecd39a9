"""Load within its tolerance, then the other goals by solvers.

One program has all goals if pairs of task and client are few. Otherwise its relaxation and searches in neighbourhoods improve
the plan that is found without a solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.default_order import RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.limits import PlacementLimit
from optassign_models.load.placing import leave_actives_alone
from optassign_models.load.under_load import Neighbourhoods, lower_target, make_question_under_load, relax_under_load
from optassign_models.policy.constants import CP_SAT_VARIABLES, NEIGHBOURHOOD_CLIENTS, ROUNDING
from optassign_models.problem import Placement, Problem, make_placement
from optassign_models.results import Deadline, Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.load_method import LoadMethod, finish_under_load, get_load, place_under_load
from optassign_models.solving.method import Case
from optassign_models.solving.target_method import can_hold_together, find_least_imbalance, read_answer
from optassign_models.target.question import Question
from optassign_models.target.search import find_best, has_few_pairs
from optassign_models.target.solver import Effort


class SolvedLoadMethod(LoadMethod):
    """Load within its tolerance, then the goals that are asked for; of many pairs goals (b) to (f)."""

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float, effort: Effort) -> None:
        """Make a method for this order; the other parameters are those of `LoadMethod`."""
        super().__init__(order, tolerance, min_gain)
        self._effort = effort
        self._goals = tuple(goal for goal in find_goals(order.names) if goal is not LOAD)
        self._configured = tuple(goal for goal in self._goals if goal.name in order.configured)

    def prepare_case(self, problem: Problem) -> Case:
        """Return the case of the problem. In small groups CP-SAT lowers the target where dealing leaves that open."""
        case = super().prepare_case(problem)
        if case.problem.T * case.problem.C > CP_SAT_VARIABLES:
            return case
        return replace(case, load=lower_target(case.problem, get_load(case), self._tolerance, self._effort.deadline))

    def place(self, case: Case) -> Found:
        """The best plan that was found, with loads within the tolerance if possible; its bounds."""
        load, found, is_small = get_load(case), super().place(case), has_few_pairs(case.problem)
        if is_small:
            found = self._solve(case, found.whole, ())  # no worse than what it starts from
        if not self._goals or found.bounds.get(self._goals[0].name) == self._evaluate(case, found.whole)[0]:
            return found
        if self._goals[0] is RESTORE_WORK and _is_within(case, found.whole):
            found = self._relax(case, found)
        if is_small and len(load.loads.open_clients) <= NEIGHBOURHOOD_CLIENTS:
            return found  # a neighbourhood would be the whole group
        deadline = self._effort.deadline
        search = Neighbourhoods(case.problem, case.forced, load.loads, load.most_of_actives, found.whole.active)
        placed = finish_under_load(case, search.improve(deadline))
        return replace(self._choose(case, found, placed), limited=found.limited or not deadline.left)

    def _relax(self, case: Case, start: Found) -> Found:
        """Return the better of the start and the placement that the relaxation leads to, with the bound of restore work."""
        load, active = get_load(case), start.whole.active
        alone, loads = leave_actives_alone(case.problem, case.forced), load.loads.actives_alone
        placed = make_placement(active, active[:0], alone.C)
        question = make_question_under_load(alone, loads, load.most, self._goals[:1], (), placed, has_pools=True)
        # The neighbourhoods need time, too.
        effort = replace(self._effort, deadline=Deadline.after(self._effort.deadline.left / 2))
        relaxed = relax_under_load(question, loads, effort)
        if relaxed is None:
            return replace(start, limited=True)
        bound, proved_by, active = relaxed
        bound += case.forced.forced_work
        found = start
        if bound > start.bounds.get(RESTORE_WORK.name, -1):
            found = replace(start, bounds={RESTORE_WORK.name: bound}, proved_by=proved_by)
        return self._choose(case, found, place_under_load(case, active))

    def _choose(self, case: Case, found: Found, placed: Placement) -> Found:
        is_better = _is_within(case, placed) and self._evaluate(case, placed) < self._evaluate(case, found.whole)
        return replace(found, placement=placed, found_by=FoundBy.GREEDY) if is_better else found

    def _solve(self, case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
        """Return the best plan in the goals with loads within the tolerance and inside these limits.

        The start may be beyond the tolerance or on a draining client. Rows allow such copies only there, so nothing is bounded.
        """
        question = self._state_question(case, start, limits)
        found = read_answer(find_best(question, self._effort), question.objectives)
        return found if _is_within(case, start) else replace(found, bounds={})

    def _state_question(self, case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
        load = get_load(case)
        return make_question_under_load(case.problem, load.loads, load.most, self._goals, limits, start, has_pools=False)

    def make_question(self, case: Case) -> Question | None:
        """The goals after the load, with loads within the tolerance; None for a group of many pairs, which has no one model."""
        if not has_few_pairs(case.problem):
            return None
        return self._state_question(case, case.search_least_imbalance().whole, case.limits.placements)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """Return the plan of one program with all goals and the limits as rows, if pairs are few.

        No plan has more than the case's greatest load: otherwise a better one might be found at rest.
        """
        mended = super().search_limited_plan(case, free)
        if not has_few_pairs(case.problem):
            return mended
        within = self._solve(case, mended.placement or free.whole, case.limits.placements)
        if within.placement is not None and case.may_be_plan(within.placement):
            return within
        return replace(mended, impossible=mended.placement is None and within.impossible, limited=within.limited)

    def find_least_imbalance(self, case: Case) -> Found:
        """Return the plan with the load that it has, or any placement that keeps the limits."""
        found = super().find_least_imbalance(case)
        if case.keeps_limits(found.whole) or not has_few_pairs(case.problem):
            return found
        result = find_least_imbalance(case, self._effort)
        return replace(found, placement=result.placement or found.placement, limited=found.limited or result.is_cut_short)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Return whether some placement keeps the limits: by single moves, otherwise by the program of the target."""
        return super().can_hold(case, limits, start) or can_hold_together(case.problem, limits, self._effort)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return None if the plan is better in the other goals (a); otherwise an empty mapping."""
        if not self._configured or not has_few_pairs(case.problem):
            return {}
        mine, theirs = (self._evaluate(case, each, self._configured) for each in (now, case.search_least_imbalance().whole))
        return {} if mine <= theirs else None

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Return nothing if pairs are few: one program serves all goals."""
        return {} if has_few_pairs(case.problem) else super().find_unserved(case, placed)

    def _evaluate(self, case: Case, plan: Placement, goals: Sequence[GoalModel] | None = None) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, plan, self._goals if goals is None else goals).values())


def _is_within(case: Case, placed: Placement) -> bool:
    """Return whether rows that follow a placement bar no balanced one: it keeps the tolerance, and no thread is idle."""
    load = get_load(case)
    greatest, idle = load.measure(placed)
    return not idle and math.isfinite(load.most) and greatest <= load.most * (1 + ROUNDING)
