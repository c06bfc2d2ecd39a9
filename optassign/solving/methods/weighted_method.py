"""Preset `weighted`: excess is a cost beside restore work and moves, so every assignment is inside the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.cp_sat.variables import Variables
from optassign.models.cp_sat.weighted import WEIGHTED_COST, compute_weighted_cost, is_sum_exact, solve_weighted
from optassign.models.deadline import Deadline
from optassign.models.forced import prepare
from optassign.models.problem import Placement, Problem
from optassign.models.relief import Price, ReliefOptions
from optassign.models.results import Found, FoundBy
from optassign.models.windows import Windows
from optassign.solving.case import Case
from optassign.solving.methods.configured_method import TOO_LARGE
from optassign.solving.methods.flow_method import WORK, FlowMethod, is_small
from optassign.solving.methods.method import is_within_a_little

_TOO_GREAT = "weights × lags too great for an exact sum: the goals of the default order were used"


class WeightedMethod(FlowMethod):
    """One sum of excess, restore work and moves; beyond the model's size the plan of preset `ordered`."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        weights = order.weights
        self._weights = (
            round(1000 * weights.instance),
            round(1000 * weights.subtopology),
            round(1000 * weights.stickiness),
        )
        self._best: Found | None = None

    def demand(self, problem: Problem, windows: Windows) -> Windows:
        """Nothing is demanded."""
        return windows.widen_fully(problem.T * (problem.standbys + 1))

    def find_balanced_now(self, case: Case) -> Found:
        """Nothing: the plan comes first, as what can be had now is measured by its cost."""
        return Found(None)

    def find_relief(self, case: Case, options: ReliefOptions, plan: Placement, price: Price) -> None:
        """None: excess is a cost among others, and may be there for good."""
        return

    def find_plan(self, case: Case) -> Found:
        """The least weighted sum."""
        if self._best is None:
            by_windows = replace(case, target=case.windows)
            start = super().find_plan(by_windows)
            if start.placement is None:
                start = Found(super().find_least_excess(by_windows), found_by=FoundBy.GREEDY)
            self._best = replace(start, bounds={}, proved=frozenset())
            if is_small(case.problem) and is_sum_exact(case.problem, self._weights):
                self._best = self._find_least_sum(case, self._best)
        return self._best

    def _find_least_sum(self, case: Case, start: Found) -> Found:
        problem, forced = prepare(case.problem.with_all_columns())
        result = solve_weighted(problem, forced, case.windows, self._weights, self.deadline, WORK, start.placement)
        self.limited |= result.limited
        assert start.placement is not None
        (mine,) = self.evaluate_plan(case, start.placement)
        value, bound, _ = result.goals.get(WEIGHTED_COST, (mine, None, False))
        least = None if bound is None else bound / 1000
        if result.placement is None or mine < value:
            return replace(start, weighted=(mine / 1000, least))
        return Found(result.placement, found_by=FoundBy.CP_SAT, limited=result.limited, weighted=(value / 1000, least))

    def solve_plan_within(self, case: Case, start: Placement | None, require: Callable[[Variables], None]) -> Found:
        """The least weighted sum of what keeps more than the rules."""
        problem, forced = prepare(case.problem.with_all_columns())
        if not is_sum_exact(problem, self._weights):
            return Found(start, found_by=FoundBy.GREEDY)
        result = solve_weighted(problem, forced, case.windows, self._weights, self.deadline, WORK, start, require)
        self.limited |= result.limited
        placement, found_by = result.placement, FoundBy.CP_SAT
        if placement is None:
            placement, found_by = start, FoundBy.GREEDY
        if placement is None:
            return Found(None, impossible=result.impossible)
        _, bound, _ = result.goals.get(WEIGHTED_COST, (0, None, False))
        (cost,) = self.evaluate_plan(case, placement)
        least = None if bound is None else bound / 1000
        return Found(placement, found_by=found_by, limited=result.limited, weighted=(cost / 1000, least))

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """The one sum, in thousandths."""
        return (compute_weighted_cost(case.problem, case.windows, self._weights, plan),)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """Whether the remembered plan costs little more."""
        (mine,), (theirs,) = self.evaluate_plan(case, own), self.evaluate_plan(case, found)
        return is_within_a_little(mine, theirs)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether nothing costs less."""
        best = self.find_plan(case).placement
        assert best is not None
        return self.evaluate_plan(case, now) <= self.evaluate_plan(case, best)

    def find_unserved(self, problem: Problem) -> Mapping[str, str]:
        """The sum, where it was not minimised."""
        return dict.fromkeys(self.order.asked_for, " ".join(self.write_notes(problem))) if self.write_notes(problem) else {}

    def write_notes(self, problem: Problem) -> list[str]:
        """Why the sum was not minimised, where it was not."""
        if not is_small(problem):
            return [TOO_LARGE]
        return [] if is_sum_exact(problem, self._weights) else [_TOO_GREAT]
