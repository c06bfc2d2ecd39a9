"""Preset `weighted`: imbalance is a cost, as restore work and moves are, so every assignment is inside the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from optassign_models.cp_sat.model import require_limits
from optassign_models.cp_sat.plan import WEIGHTED_COST, compute_weighted_cost, is_weighted_sum_exact, solve_weighted
from optassign_models.deadline import Deadline
from optassign_models.forced import prepare
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.constants import CP_SAT_WORK
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.program.solving import ask_for_least_sum, solve
from optassign_models.results import Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.flow_method import FlowMethod, expect_seconds_of_flows, is_small
from optassign_models.solving.methods.method import Case, is_within_a_little

_TOO_GREAT = "weights × lags too great for an exact sum: the goals of the default order were used"
_NO_TIME = "no time for the weighted sum: the goals of the default order were used"


class WeightedMethod(FlowMethod):
    """One sum of imbalance, restore work and moves, by the one model; the default order's plan where that has no answer."""

    def __init__(self, order: RequestedOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        self._weights = order.weights
        self._default = FlowMethod(order, deadline)

    def pose(self, problem: Problem) -> Case:
        """Only the pairs that differ are columns: the one model counts the others by subtopology. Nothing is demanded."""
        case = Case.of(*prepare(problem), self)
        return replace(case, target=case.shares.widen_fully(problem.T * (problem.standbys + 1)))

    def find_balanced_now(self, case: Case) -> Found:
        """Nothing: the plan comes first, as what can be had now is measured by its cost."""
        return Found(None)

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """None instead of actives (T,): imbalance is a cost among others, and may be there for good."""
        return None

    def search_plan(self, case: Case) -> Found:
        """The least weighted sum; the default order's plan where neither the one model nor CP-SAT has an answer."""
        least = self._find_least_sum(case, (), None)
        if least.placement is None:
            by_shares = replace(case, target=case.shares)
            plan = self._default.search_plan(by_shares).placement or self._default.search_least_imbalance(by_shares).whole
            least = replace(least, placement=plan)
            if not least.bounds:
                is_too_great = ask_for_least_sum(case.problem, case.shares, self._weights) is None
                why = _TOO_GREAT if is_too_great else _NO_TIME
                return Found(plan, limited=least.limited or not is_too_great, why_default=why)
        return self._report(case, least)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """The least weighted sum of what keeps the limits."""
        start = self.mend(case, free.whole)
        least = self._find_least_sum(case, case.limits.placements, start if case.keeps_limits(start) else None)
        return self._report(case, least)

    def _find_least_sum(self, case: Case, limits: Sequence[PlacementLimit], start: Placement | None) -> Found:
        """In thousandths: by the one model; then by CP-SAT on all pairs, where that leaves a gap and they are few.

        start: a placement that keeps the limits, if one is known.
        """

        def judge(placed: Placement) -> tuple[int, ...] | None:
            return None if list_broken(limits, placed) else (self._compute_cost(case, placed),)

        least = Found(start, found_by=FoundBy.GREEDY)
        question = ask_for_least_sum(case.problem, case.shares, self._weights, limits)
        if question is not None:
            solved = solve(question, judge, self.deadline.less(expect_seconds_of_flows(case.problem)))
            if solved.placement is not None:
                least = replace(least, placement=solved.placement, found_by=FoundBy.LP)
            least = replace(least, bounds=dict(zip((WEIGHTED_COST,), solved.bounds, strict=False)))
        if least.placement is not None and self._compute_cost(case, least.placement) == least.bounds.get(WEIGHTED_COST):
            return least
        if is_small(case.problem) and is_weighted_sum_exact(case.problem, self._weights):
            return self._search_all_pairs(case, limits, least)
        return least

    def _search_all_pairs(self, case: Case, limits: Sequence[PlacementLimit], least: Found) -> Found:
        """Improve the known sum by CP-SAT."""
        problem, _ = prepare(case.problem.with_all_columns())
        require = partial(require_limits, limits=limits)
        result = solve_weighted(problem, case.shares, self._weights, self.deadline, CP_SAT_WORK, least, require)
        least = replace(least, limited=result.limited)
        placed = result.placement
        if placed is None or list_broken(limits, placed):
            return least
        bounds = result.bounds or least.bounds
        if least.placement is not None and self._compute_cost(case, least.placement) <= self._compute_cost(case, placed):
            return replace(least, bounds=bounds)
        return Found(placed, bounds=bounds, found_by=FoundBy.CP_SAT, limited=result.limited)

    def _report(self, case: Case, least: Found) -> Found:
        """The same with value and bound in units of weights."""
        if least.placement is None:
            return Found(None, limited=least.limited)
        value = self._compute_cost(case, least.placement) / 1000
        bound = least.bounds[WEIGHTED_COST] / 1000 if least.bounds else None
        by_lp = frozenset({WEIGHTED_COST} if least.found_by is FoundBy.LP else ())
        found_by, limited = least.found_by, least.limited
        return Found(least.placement, found_by=found_by, limited=limited, weighted=(value, bound), by_lp=by_lp)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """The one sum, in thousandths."""
        return (self._compute_cost(case, plan),)

    def weigh_plan(self, case: Case, plan: Placement) -> tuple[float, float | None] | None:
        """The plan's value and the bound of all plans; None where the default order's plan went out without a bound."""
        found = case.plan.weighted
        return None if found is None else (self._compute_cost(case, plan) / 1000, found[1])

    def _compute_cost(self, case: Case, plan: Placement) -> int:
        return compute_weighted_cost(case.problem, case.shares, self._weights, plan)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """Whether the remembered plan costs little more."""
        (mine,), (theirs,) = self.evaluate_plan(case, own), self.evaluate_plan(case, found)
        return is_within_a_little(mine, theirs)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """None if something costs less."""
        best = case.plan.placement
        return {} if best is not None and self.evaluate_plan(case, now) <= self.evaluate_plan(case, best) else None
