"""The stages without a solver, by the heuristics of optassign_models/greedy/. No bounds: nothing is proven here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from optassign_models.goals import evaluate
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers
from optassign_models.greedy.plan import choose_greedy_actives, find_greedy_answer_now, find_greedy_plan
from optassign_models.offload import OffloadOptions, Price, find_greedy_offload
from optassign_models.problem import IntArray, Placement
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Found, FoundBy
from optassign_models.solving.method import Case, Method, explain_unserved
from optassign_models.zones import spread_zones


class GreedyMethod(Method):
    """Goals (b) to (f) in their default order, for any order asked for; then zones and racks, by trades of two."""

    def find_balanced_now(self, case: Case) -> Found:
        """Return an assignment balanced now if the heuristic finds one; moves may be more than the fewest."""
        answer = find_greedy_answer_now(case.problem, case.forced, case.target)
        if answer is not None:
            answer = spread_zones(case.problem, case.target, answer, now=True)
        return Found(answer, found_by=FoundBy.GREEDY)

    def search_plan(self, case: Case) -> Found:
        """Return the greedy plan or, if its copies reach more zones, the answer balanced now with standbys swapped.

        Otherwise a group could be at rest by a poor plan, and find a better one at the next request.
        """
        plans = [plan for plan in (self.search_least_imbalance(case).whole,) if case.reaches_target(plan)]
        if not plans or self._count_missing_zones(case, plans[0]) > self._least_missing_zones(case):
            now = case.search_now().placement
            swapped = None if now is None else spread_zones(case.problem, case.target, now, now=False)
            plans += [swapped] if swapped is not None and case.reaches_target(swapped) else []
        best = min(plans, key=partial(self._count_missing_zones, case), default=None)
        return Found(best, found_by=FoundBy.GREEDY)

    def search_least_imbalance(self, case: Case) -> Found:
        """Return the greedy plan, with the imbalance that it has."""
        plan = find_greedy_plan(case.problem, case.forced, case.target)
        return Found(spread_zones(case.problem, case.target, plan, now=False), found_by=FoundBy.GREEDY)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """Search again from the plan; keep the result if it is balanced."""
        placed = self.find_least_imbalance(case).whole
        return Found(placed if case.may_be_plan(placed) else None, found_by=FoundBy.GREEDY)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Return the greedy choice; it proves no bound of the imbalance."""
        return choose_greedy_actives

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """Return actives (T,), chosen task by task; no bound is proven."""
        return find_greedy_offload(options, case.shares, price), None

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """Return whether to keep the remembered plan: if it has copies in more zones, or in as many and by the default order.

        A missed deadline must not cost a zone.
        """
        mine, theirs = (self._count_missing_zones(case, plan) for plan in (own, found))
        return mine < theirs or (mine == theirs and super().keeps_remembered(case, own, found))

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return None if copies reach fewer zones than those of the remembered plan (perhaps a solver's) or of a greedy one."""
        missing, others = self._count_missing_zones(case, now), [case.problem.remembered_plan]
        if missing > self._least_missing_zones(case):
            others.append(case.search_plan().placement)
        return {} if all(missing <= self._count_missing_zones(case, each) for each in others if each is not None) else None

    def _count_missing_zones(self, case: Case, plan: Placement) -> int:
        """Return the unreached part of goal `tag_spread`, up to a constant; 0 if it is not asked for."""
        if TAG_SPREAD.name not in self.order.names:
            return 0
        return int(evaluate(case.problem, case.forced, plan, (TAG_SPREAD,))[TAG_SPREAD.name])

    def _least_missing_zones(self, case: Case) -> int:
        """Return a lower bound of missing zones from the numbers of copies and zones alone."""
        return bound_by_numbers(case.problem) if TAG_SPREAD.name in self.order.names else 0

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """List the requests beyond the default order; for tags and racks it says what greedy does."""
        then = {TAG_SPREAD.name: "it swaps standbys", RACK_TRAFFIC.name: "tasks trade places"}
        return explain_unserved(self.order.asked_for, "greedy knows goals (b) to (f) in their default order", then)
