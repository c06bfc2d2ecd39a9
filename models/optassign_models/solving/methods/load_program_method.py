"""Load with solvers: programs and neighbourhoods for less restore work, with a bound of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.limits import PlacementLimit
from optassign_models.load.joint import pose_under_load, solve_under_load
from optassign_models.load.planning import plan_actives
from optassign_models.load.prices import add_migrations, bound_price, price_restoring
from optassign_models.problem import Placement
from optassign_models.results import Found, FoundBy, ProvedBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.load_method import LOAD, LoadCase, LoadMethod
from optassign_models.solving.methods.method import Case
from optassign_models.solving.methods.target_method import can_hold_together, find_least_imbalance, read_answer
from optassign_models.target.search import Question, has_few_pairs
from optassign_models.target.solver import Effort


class LoadProgramMethod(LoadMethod):
    """As without a solver, then better."""

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float, effort: Effort) -> None:
        super().__init__(order, tolerance, min_gain)
        self.effort = effort
        self._goals = find_goals(order.names)
        self._others = order.is_given or any(name != LOAD for name in order.configured)

    def place(self, case: LoadCase) -> Found:
        """The plan, and a bound of its restore work under this load."""
        problem, forced, loads = case.problem, case.forced, case.loads
        prices = price_restoring(problem, forced, loads)
        planned = plan_actives(
            loads, prices, add_migrations(problem, loads, prices), case.most_of_actives, self.effort.deadline
        )
        placed = self._spread(case, self.complete_placement(case, planned.active), now=False)
        name = RESTORE_WORK.name
        by_program = planned.by_program and loads.standby is None
        # A bound of actives alone holds if they may take the room of all standbys.
        planned_bound = planned.bound if loads.standby is None else bound_price(loads.actives_alone, prices, case.most)
        bound = forced.forced_work + planned_bound
        found = Found(placed, found_by=FoundBy.HIGHS if by_program else FoundBy.GREEDY, limited=planned.limited)
        if bound <= evaluate(problem, forced, placed)[name]:  # otherwise R3 to R5 force copies that the prices count too
            proved_by = ProvedBy.HIGHS if by_program else ProvedBy.RULES
            found = replace(found, bounds={name: bound}, proved_by=proved_by)
        return self._serve_others(case, found) if self._others and has_few_pairs(problem) else found

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """All goals in one CP-SAT model with the limits as constraints, where all pairs are few.

        No plan has more than the case's greatest load: otherwise a better one might be found at rest.
        """
        mended = super().search_limited_plan(case, free)
        if not has_few_pairs(case.problem):
            return mended
        assert isinstance(case, LoadCase)
        within = self._solve_under_load(case, mended.placement or free.whole, case.limits.placements)
        if within.placement is not None and case.may_be_plan(within.placement):
            return within
        return replace(mended, impossible=mended.placement is None and within.impossible, limited=within.limited)

    def _solve_under_load(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
        """The other goals, in their order, with loads within the tolerance and inside these limits."""
        question = self._pose_under_load(case, start, limits)
        return read_answer(solve_under_load(question, self.effort), question.goals)

    def _pose_under_load(self, case: LoadCase, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
        goals = [goal for goal in self._goals if goal.name != LOAD]
        return pose_under_load(case.problem, case.loads, case.most, goals, limits, start)

    def pose_question(self, case: Case) -> Question | None:
        """The goals after the load, with loads within the tolerance; None for a group of many pairs, which has no one model."""
        assert isinstance(case, LoadCase)
        if not has_few_pairs(case.problem):
            return None
        return self._pose_under_load(case, case.search_rough().whole, case.limits.placements)

    def find_least_imbalance(self, case: Case) -> Found:
        """The plan with the load that it has, or any placement that keeps the limits."""
        rough = super().find_least_imbalance(case)
        if case.keeps_limits(rough.whole) or not has_few_pairs(case.problem):
            return rough
        result = find_least_imbalance(case, self.effort)
        return replace(rough, placement=result.placement or rough.placement, limited=rough.limited or result.is_cut_short)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Single moves may show that they can; otherwise the program of the target decides."""
        return super().can_hold(case, limits, start) or can_hold_together(case.problem, limits, self.effort)

    def _serve_others(self, case: LoadCase, start: Found) -> Found:
        """The best plan in the order that is asked for, from one that knows restore work first."""
        assert start.placement is not None
        result = self._solve_under_load(case, start.placement, ())
        goals = [goal for goal in self._goals if goal.name != LOAD]
        placed = result.placement
        if placed is None or self._evaluate(case, goals, start.placement) <= self._evaluate(case, goals, placed):
            return replace(start, bounds={}, limited=start.limited or result.limited)
        return replace(result, limited=start.limited or result.limited)

    def _evaluate(self, case: Case, goals: Sequence[GoalModel], plan: Placement) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, plan, goals).values())

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """None if the plan is better in the other goals (a)."""
        configured = [goal for goal in self._goals if goal.name in self.order.configured and goal.name != LOAD]
        if not configured or not has_few_pairs(case.problem):
            return {}
        theirs = self._evaluate(case, configured, case.search_rough().whole)
        return {} if self._evaluate(case, configured, now) <= theirs else None

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Name the goals asked for in addition to load and the default order, if the joint model has no room for them."""
        return {} if has_few_pairs(case.problem) else super().find_unserved(case, placed)
