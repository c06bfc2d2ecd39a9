"""Goals (a), or another order: the goals as stages of the one model, CP-SAT for what it leaves open in small groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from optassign_models.deadline import Deadline
from optassign_models.forced import prepare
from optassign_models.goals import FLOW_ORDER, GoalModel, evaluate, find_goals
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.disk import DISK
from optassign_models.goals.moves import ACTIVE_MOVES, STANDBY_MIGRATIONS
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers
from optassign_models.greedy.disks import bound_state, count_state, even_out_state
from optassign_models.greedy.zones import spread_standbys
from optassign_models.limits import list_broken
from optassign_models.problem import Placement, Problem
from optassign_models.program.solving import ask_in_order, is_sum_exact, solve
from optassign_models.results import Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.flow_method import FlowMethod, expect_seconds_of_flows, is_small
from optassign_models.solving.methods.method import Case, is_within_a_little

_TRADED = "tasks trade places for it in the plan of the default order, and it is more than 2% above its bound"
_ROUNDED = 1
"""By so much a value may be above its bound and as good, as both are rounded."""
_NO_SUM = "it is no sum over copies, and pairs of task and client are too many for a model that has it"
_NO_TIME = "no time for goals in this order: those of the default order were used"
_TOO_GREAT = "lags too great for an exact sum: the goals of the default order were used"


class LexicographicMethod(FlowMethod):
    """Every goal, in any order.

    Goals that are no sum over copies need all pairs of task and client, which must be few. Beyond, `disk` before the default
    order is served by trades of places.
    """

    def __init__(self, order: RequestedOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        self.goals = find_goals(order.names)
        self._default = FlowMethod(order, deadline)
        self._left_out = tuple(goal.name for goal in self.goals if not goal.is_linear)
        first, *rest = order.names or ("",)
        rest = [name for name in rest if name != ACTIVE_MOVES.name]  # the default order has nothing left for it
        self._is_disk_first = first == DISK.name
        self._is_default_after_disk = self._is_disk_first and rest == [goal.name for goal in FLOW_ORDER]

    def pose(self, problem: Problem) -> Case:
        """Only the pairs that differ are columns: the one model counts the others by subtopology."""
        return Case.of(*prepare(problem), self)

    def find_balanced_now(self, case: Case) -> Found:
        """Search as for the default order, then by the one model if goals (a) could be better."""
        found = super().find_balanced_now(case)
        if found.placement is None:
            return found
        bounds = self.bound_configured(case, found.placement)
        if bounds is None:
            found = self._search_now(case, found, found.placement)
            bounds = self._list_bounds(case, found.whole)
        return replace(found, bounds={**found.bounds, **bounds})

    def _search_now(self, case: Case, found: Found, placed: Placement) -> Found:
        """Choose between this placement and a better one in goals (a)."""
        goals = (*find_goals(self.order.configured), ACTIVE_MOVES, STANDBY_MIGRATIONS)
        limits = case.limits.placements
        question = ask_in_order(case.problem, case.forced, case.target, goals, limits, is_now=True)
        if len(question.stages) == 2 or not is_sum_exact(case.problem):
            return found

        def judge(each: Placement) -> tuple[int, ...] | None:
            is_allowed = case.reaches_target(each) and case.keeps_r3_to_r5(each) and not list_broken(limits, each)
            return self._evaluate_goals(case, each, goals) if is_allowed else None

        solved = solve(question, judge, self.deadline.less(expect_seconds_of_flows(case.problem)))
        mine = judge(placed)
        if solved.placement is None or (mine is not None and mine <= solved.values):
            return found
        return replace(found, placement=solved.placement, found_by=FoundBy.LP)

    def search_plan(self, case: Case) -> Found:
        """All goals in the order that is asked for; the default order's plan where the one model has no answer."""
        problem = case.problem
        if self._trades(problem):
            return self._find_default_plan(case)
        found = self.search_by_program(case, (), self.deadline.less(expect_seconds_of_flows(problem)))
        if self.is_proven(case, found):
            return found
        if is_small(problem):
            start = self._find_start(case) if found.placement is None or self._is_disk_first else found
            start = replace(start, limited=start.limited or found.limited)
            return start if start.impossible else self.search_all_pairs(case, (), start)
        if found.placement is not None:
            return found
        plan = self._find_default_plan(case)
        why = _NO_TIME if is_sum_exact(problem) else _TOO_GREAT
        return replace(plan, bounds={**plan.bounds, **found.bounds}, limited=plan.limited or found.limited, why_default=why)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """As for the default order; a plan that traded places is repaired."""
        if free.why_default is None and not self._trades(case.problem):
            return super().search_limited_plan(case, free)
        mended = self.mend(case, free.whole)
        return Found(mended if case.may_be_plan(mended) else None)

    def _find_default_plan(self, case: Case) -> Found:
        """The plan of the default order, with tasks that trade places for a goal before it."""
        found = self._default.search_plan(case)
        if found.placement is None:
            return found
        # In another order only what bounds a goal by itself is a bound.
        by_itself = RESTORE_WORK.name
        bounds = {goal: bound for goal, bound in found.bounds.items() if goal == by_itself}
        found = replace(found, bounds=bounds, proved=frozenset())
        if TAG_SPREAD.name in self.order.configured:
            return self._swap_for_tags(case, found)
        return self._trade(case, found) if self._trades(case.problem) else found

    def _swap_for_tags(self, case: Case, found: Found) -> Found:
        """Standbys swapped for more values of the tags."""
        assert found.placement is not None
        swapped = spread_standbys(case.problem, case.target, found.placement, now=False)
        return replace(found, placement=swapped) if case.reaches_target(swapped) else found

    def _find_start(self, case: Case) -> Found:
        """Find CP-SAT's start if the one model has no answer: the default order's plan, traded if `disk` is first."""
        found = self._default.find_plan(case)
        if found.placement is None:
            return found
        found = replace(found, bounds={}, proved=frozenset())
        return self._trade(case, found) if self._is_disk_first and case.problem.logged.any() else found

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values in the order that is asked for."""
        return self._evaluate_goals(case, plan, self.goals)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As for the default order, if the remembered plan is as good in goals (a); another order decides by its first goal."""
        if self._trades(case.problem):
            mine, theirs = (count_state(case.problem, plan) for plan in (own, found))
            is_alike = is_within_a_little(mine, theirs) and is_within_a_little(theirs, mine)
            return super().keeps_remembered(case, own, found) if is_alike else mine < theirs
        if case.plan.why_default is not None:
            return super().keeps_remembered(case, own, found)
        if not self._is_as_good(case, own, found):
            return False
        first = next((goal for goal in self.goals if goal.is_linear or is_small(case.problem)), RESTORE_WORK)
        if self.order.is_given and first.name not in {*self.order.configured, RESTORE_WORK.name}:
            (mine,), (theirs,) = (self._evaluate_goals(case, plan, (first,)) for plan in (own, found))
            return is_within_a_little(mine, theirs)
        return super().keeps_remembered(case, own, found)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Bounds where goals (a) are as good as in the plan, or state is at most 2% above what trades reach, as it grows."""
        return self._list_bounds(case, now) if self._is_configured_optimum(case, now) else None

    def _is_configured_optimum(self, case: Case, now: Placement) -> bool:
        if self._trades(case.problem):
            value = count_state(case.problem, now)
            if value <= bound_state(case.problem) + _ROUNDED:
                return True
            return is_within_a_little(value, count_state(case.problem, even_out_state(case.problem, now)))
        values = self._value_configured(case, now)
        if values == {goal: bound for goal, bound in self._bound_by_numbers(case).items() if goal in values}:
            return True
        plan = case.plan.placement
        return plan is None or self._is_as_good(case, now, plan)

    def _is_as_good(self, case: Case, now: Placement, plan: Placement) -> bool:
        """Whether goals (a) are no worse than in the plan; `disk` may be 2% above, as its optimum is rarely proven."""
        goals = _keep_deciding(case, find_goals(self.order.configured))
        mine, theirs = (evaluate(case.problem, case.forced, each, goals) for each in (now, plan))
        name = DISK.name
        if name in mine and is_within_a_little(mine[name], theirs[name]):
            mine[name] = min(mine[name], theirs[name])
        return tuple(mine.values()) <= tuple(theirs.values())

    def _list_bounds(self, case: Case, now: Placement) -> dict[str, int]:
        """The bounds of goals (a) that an assignment is at."""
        if self._is_disk_first:
            return {DISK.name: bound_state(case.problem)}
        values, by_numbers = self._value_configured(case, now), self._bound_by_numbers(case)
        if values != by_numbers:
            by_numbers |= {goal: bound for goal, bound in case.plan.bounds.items() if goal in values}
        return {goal: bound for goal, bound in by_numbers.items() if values[goal] == bound}

    def _value_configured(self, case: Case, placed: Placement) -> dict[str, int]:
        return evaluate(case.problem, case.forced, placed, find_goals(self.order.configured))

    def _bound_by_numbers(self, case: Case) -> dict[str, int]:
        """Bound goals (a) by numbers alone: 0, or all values of the tags."""
        bounds = dict.fromkeys(self.order.configured, 0)
        if TAG_SPREAD.name in bounds:
            bounds[TAG_SPREAD.name] = bound_by_numbers(case.problem)
        return bounds

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """For large groups: goals that are no sums over copies, and state that trades did not bring within 2% of its bound."""
        problem = case.problem
        if is_small(problem):
            return {}
        if self._trades(problem):
            found = [placed, *(each.placement for each in case.list_found() if each.placement is not None)]
            least = min(count_state(problem, each) for each in found)
            return {} if is_within_a_little(least, bound_state(problem) + _ROUNDED) else {DISK.name: _TRADED}
        return {goal: _NO_SUM for goal in self._left_out if goal in self.order.asked_for}

    def _trades(self, problem: Problem) -> bool:
        """Whether tasks trade places: `disk` comes first, pairs are many, and there is state."""
        return self._is_default_after_disk and not is_small(problem) and bool(problem.logged.any())

    def _trade(self, case: Case, found: Found) -> Found:
        """The plan with its tasks traded; no goal that was not bounded by itself is bounded in addition to that."""
        assert found.placement is not None
        traded = even_out_state(case.problem, found.placement)
        return replace(found, placement=traded, bounds={**found.bounds, DISK.name: bound_state(case.problem)})

    def _evaluate_goals(self, case: Case, placed: Placement, goals: Sequence[GoalModel]) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, placed, _keep_deciding(case, goals)).values())


def _keep_deciding(case: Case, goals: Sequence[GoalModel]) -> list[GoalModel]:
    """The goals that decide: all of them in small groups, otherwise the sums over copies."""
    return [goal for goal in goals if goal.is_linear or is_small(case.problem)]
