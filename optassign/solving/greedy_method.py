"""The stages without a solver, by the heuristics of models/greedy/. No bounds: nothing is proven here."""

from __future__ import annotations

from collections.abc import Mapping

from optassign.models.greedy.plan import choose_greedy_actives, find_greedy_answer_now, find_greedy_plan
from optassign.models.problem import Placement, Problem
from optassign.models.rebalance import rebalance
from optassign.models.results import Found, FoundBy, Rebalanced
from optassign.solving.case import Case
from optassign.solving.method import Method


class GreedyMethod(Method):
    """Goals (b) to (f) in their default order, whatever is asked for."""

    def find_balanced_now(self, case: Case) -> Found:
        """A good try."""
        return Found(find_greedy_answer_now(case.problem, case.forced, case.target), found_by=FoundBy.GREEDY)

    def find_plan(self, case: Case) -> Found:
        """The greedy plan, if it is balanced."""
        placed = self.find_least_excess(case)
        return Found(placed if case.reaches_target(placed) else None, found_by=FoundBy.GREEDY)

    def find_least_excess(self, case: Case) -> Placement:
        """The greedy plan, with the excess that it has."""
        return find_greedy_plan(case.problem, case.forced, case.target)

    def find_rebalance(self, case: Case, plan: Placement, *, hold: bool) -> Rebalanced:
        """Task by task; the actives left open are chosen greedily. What that says of their excess is no bound."""
        return Rebalanced(rebalance(case.problem, case.windows, plan, choose_greedy_actives, hold).answer, {})

    def find_unserved(self, problem: Problem) -> Mapping[str, str]:
        """All that is asked for beyond the default order."""
        return dict.fromkeys(self.order.asked_for, "greedy knows goals (b) to (f) in their default order only")
