"""Preset `weighted`: imbalance is a cost, as restore work and moves are, so every assignment is inside the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.cp_sat.variables import Variables
from optassign.models.cp_sat.weighted import WEIGHTED_COST, Known, compute_weighted_cost, is_sum_exact, solve_weighted
from optassign.models.deadline import Deadline
from optassign.models.forced import Forced, prepare
from optassign.models.problem import IntArray, Placement, Problem
from optassign.models.program.solving import Question, solve
from optassign.models.program.weighted import ask_for_least_sum
from optassign.models.relief import Price, ReliefOptions
from optassign.models.results import Found, FoundBy
from optassign.models.windows import Windows
from optassign.solving.case import Case
from optassign.solving.methods.flow_method import WORK, FlowMethod, is_small, keep_back_for_default_plan
from optassign.solving.methods.method import is_within_a_little

_TOO_GREAT = "weights × lags too great for an exact sum: the goals of the default order were used"
_NO_TIME = "no time for the weighted sum: the goals of the default order were used"


class WeightedMethod(FlowMethod):
    """One sum of imbalance, restore work and moves, by the one model; the default order's plan where that has no answer."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        weights = order.weights
        self._weights = (
            round(1000 * weights.instance),
            round(1000 * weights.subtopology),
            round(1000 * weights.stickiness),
        )
        self._best: Found | None = None
        self._why_unserved: str | None = None

    def write_out_pairs(self, problem: Problem) -> tuple[Problem, Forced]:
        """Only the pairs that differ: the one model counts the others by subtopology."""
        return prepare(problem)

    def demand(self, problem: Problem, windows: Windows) -> Windows:
        """Nothing is demanded."""
        return windows.widen_fully(problem.T * (problem.standbys + 1))

    def find_balanced_now(self, case: Case) -> Found:
        """Nothing: the plan comes first, as what can be had now is measured by its cost."""
        return Found(None)

    def find_relief(
        self, case: Case, options: ReliefOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """None: imbalance is a cost among others, and may be there for good."""
        return None

    def find_plan(self, case: Case) -> Found:
        """The least weighted sum."""
        if self._best is None:
            self._best = self._find_least_sum(case)
        return self._best

    def _find_least_sum(self, case: Case) -> Found:
        question = self.ask_model(case)
        if question is None:
            self._why_unserved = _TOO_GREAT
            return self._find_default_plan(case)
        problem = case.problem
        deadline = self.deadline.less(keep_back_for_default_plan(problem))
        solved = solve(question, lambda placed: (self._compute_cost(case, placed),), deadline)
        bound = solved.bounds[0] if solved.bounds else None
        if solved.placement is None:
            found = self._find_default_plan(case)
            if bound is None:
                self.limited, self._why_unserved = True, _NO_TIME
                return found
        else:
            found = Found(solved.placement, found_by=FoundBy.LP)
        assert found.placement is not None
        value = self._compute_cost(case, found.placement)
        if bound is not None and value > bound and is_small(problem) and is_sum_exact(problem, self._weights):
            return self._search(case, Known(found.placement, bound))
        return replace(found, weighted=_in_units(value, bound), by_lp=frozenset({WEIGHTED_COST}))

    def ask_model(self, case: Case) -> Question | None:
        """The one sum."""
        return ask_for_least_sum(case.problem, case.windows, self._weights)

    def _find_default_plan(self, case: Case) -> Found:
        by_windows = replace(case, target=case.windows)
        found = super().find_plan(by_windows)
        if found.placement is None:
            found = Found(super().find_least_excess(by_windows), found_by=FoundBy.GREEDY)
        return replace(found, bounds={}, proved=frozenset(), by_lp=frozenset())

    def _search(self, case: Case, known: Known, require: Callable[[Variables], None] | None = None) -> Found:
        """CP-SAT on all pairs, from what is known; `require` adds what else the placement has to keep."""
        problem, _ = prepare(case.problem.with_all_columns())
        more = () if require is None else (require,)
        result = solve_weighted(problem, case.windows, self._weights, self.deadline, WORK, known, *more)
        self.limited |= result.limited
        placement, found_by = result.placement, FoundBy.CP_SAT
        if placement is None and known.start is None:
            return Found(None, impossible=result.impossible)
        start = known.start
        if placement is None or (start is not None and self._compute_cost(case, start) <= self._compute_cost(case, placement)):
            placement, found_by = start, FoundBy.LP if require is None else FoundBy.GREEDY
        assert placement is not None
        _, bound, _ = result.goals.get(WEIGHTED_COST, (0, known.bound, False))
        weighted = _in_units(self._compute_cost(case, placement), bound)
        return Found(placement, found_by=found_by, limited=result.limited, weighted=weighted)

    def solve_plan_within(self, case: Case, start: Placement | None, require: Callable[[Variables], None]) -> Found:
        """The least weighted sum of what keeps more than the rules."""
        if not is_sum_exact(case.problem, self._weights):
            return Found(start, found_by=FoundBy.GREEDY)
        return self._search(case, Known(start), require)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """The one sum, in thousandths."""
        return (self._compute_cost(case, plan),)

    def _compute_cost(self, case: Case, plan: Placement) -> int:
        return compute_weighted_cost(case.problem, case.windows, self._weights, plan)

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
        return {} if self._why_unserved is None else dict.fromkeys(self.order.asked_for, self._why_unserved)

    def write_notes(self, problem: Problem) -> list[str]:
        """Why the sum was not minimised, where it was not."""
        return [] if self._why_unserved is None else [self._why_unserved]


def _in_units(value: int, bound: int | None) -> tuple[float, float | None]:
    """Value and bound of the sum, from thousandths."""
    return value / 1000, None if bound is None else bound / 1000
