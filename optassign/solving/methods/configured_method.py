"""Goals (a), or another order: the joint CP-SAT model over all pairs of task and client, where they are few enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.cp_sat.plan import solve_now, solve_plan
from optassign.models.deadline import Deadline
from optassign.models.forced import prepare
from optassign.models.goals import active_moves, find_goals, restore_work, tag_spread
from optassign.models.problem import Placement, Problem
from optassign.models.results import Found, FoundBy
from optassign.models.values import FLOW_ORDER, evaluate
from optassign.solving.case import Case
from optassign.solving.methods.flow_method import MOST_PAIRS, WORK, FlowMethod, is_small
from optassign.solving.methods.method import is_within_a_little
from optassign.solving.methods.trading import TRADINGS, Trading

_TRADED = f"more than {MOST_PAIRS:,} pairs of task and client: tasks trade places for it, which may leave more than the least"
TOO_LARGE = f"more than {MOST_PAIRS:,} pairs of task and client: the goals of the default order were used"


class ConfiguredMethod(FlowMethod):
    """Beyond the model's size the plan of the default order, as the report says; racks and disks are served by trades."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        self._goals = find_goals(order.names)
        self._configured = find_goals(order.configured)
        self._optimum: tuple[int, ...] | None = None
        self._is_least = False
        """Whether trading has found the least that there can be."""
        first, *rest = order.names or ("",)
        is_only = order.preset == "ordered" and tuple(rest) == tuple(goal.name for goal in FLOW_ORDER)
        self._trading = TRADINGS.get(first) if is_only else None
        """What tasks trade places for that comes before the default order, where nothing else does."""

    def find_balanced_now(self, case: Case) -> Found:
        """The best in goals (a) among the assignments that are balanced now."""
        found = super().find_balanced_now(case)
        if not self._configured or found.impossible or not is_small(case.problem):
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
        if not is_small(case.problem) and self.spread:
            return found  # of the goals in their order, but for those that are not served
        if not is_small(case.problem):
            # In another order only what bounds a goal by itself is a bound.
            by_itself = restore_work.GOAL.name
            bounds = {goal: bound for goal, bound in found.bounds.items() if goal == by_itself}
            found = replace(found, bounds=bounds, proved=frozenset())
            trading = self._find_trading(case.problem)
            return found if trading is None else self._trade(case, trading, found)
        problem, forced = prepare(case.problem.with_all_columns())
        result = solve_plan(problem, forced, case.target, self._goals, self.deadline, WORK, found.placement)
        written = replace(case, problem=problem, forced=forced)
        return self.choose_better(written, replace(found, bounds={}, proved=frozenset()), result)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values in the order that is asked for; of the default order where the problem is too large for it."""
        if not is_small(case.problem):
            return super().evaluate_plan(case, plan)
        return tuple(evaluate(case.problem, case.forced, plan, self._goals).values())

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As for the default order, if the remembered plan is as good in goals (a); another order decides by its first goal."""
        if not is_small(case.problem):
            trading = self._find_trading(case.problem)
            if trading is not None:
                ours, others = (trading.count(case.problem, plan) for plan in (own, found))
                if not (is_within_a_little(ours, others) and is_within_a_little(others, ours)):
                    return ours < others
            return super().keeps_remembered(case, own, found)
        if self._evaluate_configured(case, own) > self._evaluate_configured(case, found):
            return False
        if self.order.is_given and self._goals and self._goals[0].name not in {*self.order.configured, restore_work.GOAL.name}:
            mine, theirs = self.evaluate_plan(case, own), self.evaluate_plan(case, found)
            return is_within_a_little(mine[0], theirs[0])
        return super().keeps_remembered(case, own, found)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether goals (a) are as good as the best plan has them, or as trading makes them."""
        trading = self._find_trading(case.problem)
        if trading is not None:
            value = trading.count(case.problem, now)
            self._is_least = value <= trading.bound(case.problem) + trading.resolution
            if self._is_least:
                return True
            least = trading.count(case.problem, trading.lessen(case.problem, now))
            return is_within_a_little(value, least) if trading.rests_nearby else value == least
        if not self._configured or not is_small(case.problem):
            return super().is_configured_optimum(case, now)
        if self._optimum is None:
            problem, forced = prepare(case.problem.with_all_columns())
            result = solve_plan(problem, forced, case.target, self._configured, self.deadline, WORK, now)
            self.limited |= result.limited
            self._optimum = self._evaluate_configured(case, result.placement or now)
        return self._evaluate_configured(case, now) <= self._optimum

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int]:
        """Of what tasks trade places for, what there is at least."""
        trading = self._find_trading(case.problem)
        if trading is not None:
            return {trading.goal: trading.bound(case.problem)}
        return super().bound_configured(case, now)

    def _find_trading(self, problem: Problem) -> Trading | None:
        """What tasks trade places for, where the problem is too large for one model and tells what that needs."""
        if self._trading is None or is_small(problem) or not self._trading.is_known(problem):
            return None
        return self._trading

    def _trade(self, case: Case, trading: Trading, found: Found) -> Found:
        """The plan with its tasks traded; no goal that was not bounded by itself is bounded beside that."""
        assert found.placement is not None
        traded = trading.lessen(case.problem, found.placement)
        bound = trading.bound(case.problem)
        self._is_least = trading.count(case.problem, traded) <= bound + trading.resolution
        return replace(found, placement=traded, bounds={**found.bounds, trading.goal: bound})

    def _evaluate_configured(self, case: Case, placed: Placement) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, placed, self._configured).values())

    def find_unserved(self, problem: Problem) -> Mapping[str, str]:
        """All that is asked for where the problem is too large."""
        if is_small(problem):
            return {}
        trading = self._find_trading(problem)
        if trading is not None:
            return {} if self._is_least else {trading.goal: _TRADED}
        return {
            **super().find_unserved(problem),
            **{goal: TOO_LARGE for goal in self.order.asked_for if not (self.spread and goal == tag_spread.NAME)},
        }

    def write_notes(self, problem: Problem) -> list[str]:
        """That the default order was used, where it was."""
        return [] if is_small(problem) or self._find_trading(problem) is not None else [TOO_LARGE]
