"""Goals (a), or another order, where pairs are too many for CP-SAT: the goals as stages of the one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.deadline import Deadline
from optassign.models.goals import GoalModel, find_goals, restore_work
from optassign.models.problem import Placement, Problem
from optassign.models.program.ordered import ask_in_order
from optassign.models.program.solving import Question, solve
from optassign.models.results import Found, FoundBy
from optassign.models.values import FLOW_ORDER, evaluate
from optassign.solving.case import Case
from optassign.solving.methods.flow_method import FlowMethod, keep_back_for_default_plan
from optassign.solving.methods.method import is_within_a_little
from optassign.solving.methods.trading import TRADINGS, Trading

_TRADED = "tasks trade places for it in the plan of the default order, which may leave more than the least"
_NO_SUM = "it is no sum over copies, and pairs of task and client are too many for a model that has it"
_NO_TIME = "no time for goals in this order: those of the default order were used"
_TOO_GREAT = "lags too great for an exact sum: the goals of the default order were used"


class ProgramMethod(FlowMethod):
    """Every goal that is a sum over copies, in any order.

    `disk` before the default order is served by trades of places, and so are racks where the program has not the time.
    """

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        wanted = find_goals(order.names)
        self._goals = tuple(goal for goal in wanted if goal.is_linear)
        self._configured = tuple(goal for goal in self._goals if goal.name in order.configured)
        self._left_out = tuple(goal.name for goal in wanted if not goal.is_linear)
        first, *rest = order.names or ("",)
        is_before_default = tuple(rest) == tuple(goal.name for goal in FLOW_ORDER)
        self._trading = TRADINGS.get(first) if is_before_default else None
        self._always_trades = self._trading is not None and first in self._left_out
        self._is_least = False
        """Whether trading has found the least that there can be."""
        self._answer: tuple[Case, Found] | None = None
        self._why_default: str | None = None
        """Why the plan is one of the default order; None while it is not."""

    def find_plan(self, case: Case) -> Found:
        """All goals in the order that is asked for."""
        if self._answer is None or self._answer[0] is not case:
            found = None if self._find_always_traded(case.problem) else self._find_by_program(case)
            self._answer = case, found or self._find_default_plan(case)
        return self._answer[1]

    def _find_by_program(self, case: Case) -> Found | None:
        """The optimum of the one model; None where it has no answer, as the default order's plan then says why."""
        question = self.ask_model(case)
        if question is None:
            self._why_default = _TOO_GREAT
            return None

        def judge(placed: Placement) -> tuple[int, ...] | None:
            return self._evaluate_in_order(case, placed) if case.reaches_target(placed) else None

        solved = solve(question, judge, self.deadline.less(keep_back_for_default_plan(case.problem)))
        if solved.placement is None:
            self._why_default = _NO_TIME
            self.limited |= solved.is_cut_short
            return None
        self._why_default = None
        bounds, is_met = {}, True
        for goal, value, bound in zip(self._goals, solved.values, solved.bounds, strict=False):
            if is_met:
                bounds[goal.name] = bound
            is_met = is_met and value == bound
        return Found(solved.placement, bounds=bounds, by_lp=frozenset(bounds), found_by=FoundBy.LP)

    def ask_model(self, case: Case) -> Question | None:
        """The goals that are sums over copies, in their order."""
        return ask_in_order(case.problem, case.forced, case.target, self._goals)

    def _find_default_plan(self, case: Case) -> Found:
        """The plan of the default order, with tasks that trade places for a goal before it."""
        found = super().find_plan(case)
        if found.placement is None or self.spread:
            return found
        # In another order only what bounds a goal by itself is a bound.
        by_itself = restore_work.GOAL.name
        bounds = {goal: bound for goal, bound in found.bounds.items() if goal == by_itself}
        found = replace(found, bounds=bounds, proved=frozenset())
        trading = self._find_trading(case.problem)
        return found if trading is None else self._trade(case, trading, found)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values in the order of the plan that was found."""
        return self._evaluate_in_order(case, plan) if self._is_in_order(case) else super().evaluate_plan(case, plan)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As for the default order, if the remembered plan is as good in goals (a); another order decides by its first goal."""
        if not self._is_in_order(case):
            trading = self._find_trading(case.problem)
            if trading is not None:
                mine, theirs = (trading.count(case.problem, plan) for plan in (own, found))
                if not (is_within_a_little(mine, theirs) and is_within_a_little(theirs, mine)):
                    return mine < theirs
            return super().keeps_remembered(case, own, found)
        if self._evaluate_configured(case, own) > self._evaluate_configured(case, found):
            return False
        first = self._goals[0].name if self._goals else restore_work.GOAL.name
        if self.order.is_given and first not in {*self.order.configured, restore_work.GOAL.name}:
            return is_within_a_little(self._evaluate_in_order(case, own)[0], self._evaluate_in_order(case, found)[0])
        return super().keeps_remembered(case, own, found)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether goals (a) are as good as the plan has them, or as trading makes them."""
        trading = self._find_trading(case.problem)
        if trading is not None:
            value = trading.count(case.problem, now)
            if value <= trading.bound(case.problem) + trading.resolution:
                self._is_least = True
                return True
            if not self._always_trades:
                self.find_plan(case)  # which says whether the program had the time
            if not self._is_in_order(case):
                least = trading.count(case.problem, trading.lessen(case.problem, now))
                return is_within_a_little(value, least) if trading.rests_nearby else value == least
        if not self._configured:
            return super().is_configured_optimum(case, now)
        plan = self.find_plan(case).placement
        return plan is None or self._evaluate_configured(case, now) <= self._evaluate_configured(case, plan)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int]:
        """Of goals (a), for an assignment that is at their optimum."""
        trading = self._find_trading(case.problem)
        if trading is not None:
            return {trading.goal: trading.bound(case.problem)}
        return super().bound_configured(case, now)

    def find_unserved(self, problem: Problem) -> Mapping[str, str]:
        """Goals that are no sums over copies; all that is asked for where the default order's plan went out."""
        trading = self._find_trading(problem)
        if trading is not None and (self._always_trades or self._why_default is not None):
            return {} if self._is_least else {trading.goal: _TRADED}
        unserved = {**super().find_unserved(problem), **dict.fromkeys(self._left_out, _NO_SUM)}
        if self._why_default is None:
            return {goal: why for goal, why in unserved.items() if goal in self.order.asked_for}
        served = {goal.name for goal in self.flow_goals if self.spread}
        return {goal: self._why_default for goal in self.order.asked_for if goal not in served}

    def write_notes(self, problem: Problem) -> list[str]:
        """Why the default order was used, where it was."""
        return [] if self._why_default is None or self._find_trading(problem) is not None else [self._why_default]

    def _is_in_order(self, case: Case) -> bool:
        """Whether the plan that was found, or will be, is one of the order that is asked for."""
        return self._why_default is None and self._find_always_traded(case.problem) is None

    def _find_always_traded(self, problem: Problem) -> Trading | None:
        return self._find_trading(problem) if self._always_trades else None

    def _find_trading(self, problem: Problem) -> Trading | None:
        """What tasks trade places for, where the problem tells what that needs."""
        return self._trading if self._trading is not None and self._trading.is_known(problem) else None

    def _trade(self, case: Case, trading: Trading, found: Found) -> Found:
        """The plan with its tasks traded; no goal that was not bounded by itself is bounded in addition to that."""
        assert found.placement is not None
        traded = trading.lessen(case.problem, found.placement)
        bound = trading.bound(case.problem)
        self._is_least = trading.count(case.problem, traded) <= bound + trading.resolution
        return replace(found, placement=traded, bounds={**found.bounds, trading.goal: bound})

    def _evaluate_configured(self, case: Case, placed: Placement) -> tuple[int, ...]:
        return _evaluate(case, placed, self._configured)

    def _evaluate_in_order(self, case: Case, placed: Placement) -> tuple[int, ...]:
        return _evaluate(case, placed, self._goals)


def _evaluate(case: Case, placed: Placement, goals: tuple[GoalModel, ...]) -> tuple[int, ...]:
    return tuple(evaluate(case.problem, case.forced, placed, goals).values())
