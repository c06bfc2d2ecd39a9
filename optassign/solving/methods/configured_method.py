"""Goals (a), or another order: the joint CP-SAT model over all pairs of task and client, where they are few enough."""

from __future__ import annotations

from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.cp_sat.plan import solve_now, solve_plan
from optassign.models.deadline import Deadline
from optassign.models.forced import prepare
from optassign.models.goals import active_moves, find_goals, restore_work
from optassign.models.problem import Placement
from optassign.models.results import Found, FoundBy
from optassign.models.values import evaluate
from optassign.solving.case import Case
from optassign.solving.methods.flow_method import WORK, FlowMethod
from optassign.solving.methods.method import is_within_a_little


class ConfiguredMethod(FlowMethod):
    """All goals in one model, from the plan of the default order."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        self._goals = find_goals(order.names)
        self._configured = find_goals(order.configured)
        self._optimum: tuple[int, ...] | None = None

    def find_balanced_now(self, case: Case) -> Found:
        """The best in goals (a) among the assignments that are balanced now."""
        found = super().find_balanced_now(case)
        if not self._configured or found.impossible:
            return found
        problem, forced = prepare(case.problem.with_all_columns())
        goals = (*self._configured, active_moves.GOAL)
        result = solve_now(problem, forced, case.target, goals, self.deadline, WORK)
        self.limited |= result.limited
        if result.placement is None:
            return found
        return Found(result.placement, bounds=found.bounds, found_by=FoundBy.CP_SAT, limited=result.limited)

    def find_plan(self, case: Case) -> Found:
        """All goals in the order that is asked for."""
        found = super().find_plan(case)
        if found.placement is None:
            return found
        problem, forced = prepare(case.problem.with_all_columns())
        result = solve_plan(problem, forced, case.target, self._goals, self.deadline, WORK, found.placement)
        written = replace(case, problem=problem, forced=forced)
        return self.choose_better(written, replace(found, bounds={}, proved=frozenset()), result)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values in the order that is asked for."""
        return tuple(evaluate(case.problem, case.forced, plan, self._goals).values())

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As for the default order, if the remembered plan is as good in goals (a); another order decides by its first goal."""
        if self._evaluate_configured(case, own) > self._evaluate_configured(case, found):
            return False
        if self.order.is_given and self._goals and self._goals[0].name not in {*self.order.configured, restore_work.GOAL.name}:
            mine, theirs = self.evaluate_plan(case, own), self.evaluate_plan(case, found)
            return is_within_a_little(mine[0], theirs[0])
        return super().keeps_remembered(case, own, found)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether goals (a) are as good as the best plan has them."""
        if not self._configured:
            return super().is_configured_optimum(case, now)
        if self._optimum is None:
            problem, forced = prepare(case.problem.with_all_columns())
            result = solve_plan(problem, forced, case.target, self._configured, self.deadline, WORK, now)
            self.limited |= result.limited
            self._optimum = self._evaluate_configured(case, result.placement or now)
        return self._evaluate_configured(case, now) <= self._optimum

    def _evaluate_configured(self, case: Case, placed: Placement) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, placed, self._configured).values())
