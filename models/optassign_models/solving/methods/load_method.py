"""Load: tasks dealt longest first, what is too much shed at least cost; the other goals by a solver, where one is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from optassign_models.goals.load import LOAD
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.goals.tags import TAG_SPREAD
from optassign_models.limits import PlacementLimit
from optassign_models.load.dealing import even_out
from optassign_models.load.placing import choose_least_loaded, find_leading_actives, place_actives
from optassign_models.load.prices import price_restoring
from optassign_models.load.standbys import place_standbys
from optassign_models.policy.constants import EVEN_LOAD
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.load_case import LoadCase
from optassign_models.solving.methods.method import Case, Method
from optassign_models.zones import spread_zones

if TYPE_CHECKING:  # greedy does not load the solvers
    from optassign_models.solving.methods.load_solver import LoadSolver
    from optassign_models.target.search import Question


class LoadMethod(Method):
    """Load within its tolerance, then the other goals.

    With a solver and few pairs of task and client these are the goals that are asked for, in one program with the load as rows.
    Otherwise they are goals (b) to (f) by their prices, then zones and racks by swaps of standbys.
    """

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float, solver: LoadSolver | None = None) -> None:
        """Make a method for this order.

        tolerance: of the greatest load, as a share.
        min_gain: the fall of the greatest load, in even spreads, that is worth moves.
        solver: None: no solver is asked.
        """
        super().__init__(order)
        self._tolerance, self._min_gain, self._solver = tolerance, min_gain, solver

    def prepare_case(self, problem: Problem) -> LoadCase:
        """Return the case of the problem whose target is a greatest load instead of shares."""
        case = super().prepare_case(problem)
        wide = replace(case, target=case.shares.widen_fully(problem.T * (problem.standbys + 1)))
        return LoadCase.of_loads(wide, self._tolerance)

    def find_balanced_now(self, case: Case) -> Found:
        """Find actives within R3, then standbys within R5."""
        assert isinstance(case, LoadCase)
        problem, forced, loads = case.problem, case.forced, case.loads
        active = find_leading_actives(problem, forced, loads, case.most_of_actives)
        if active is None and case.most_of_actives < case.most:
            active = find_leading_actives(problem, forced, loads, case.most)
        if active is None:
            return Found(None)
        plan = self._spread(case, self.complete_placement(case, active, moves_actives=False), now=True)
        answer = self.find_rebalance(case, plan, hold=False).whole
        fits = case.reaches_target(answer) and case.keeps_r3_to_r5(answer)
        return Found(answer if fits else None, found_by=FoundBy.GREEDY)

    def search_plan(self, case: Case) -> Found:
        """Return the plan within the tolerance, if one was found."""
        assert isinstance(case, LoadCase)
        found = self._search_placed(case)
        is_within = found.placement is not None and case.reaches_target(found.placement)
        return found if is_within else Found(None, found_by=found.found_by, limited=found.limited)

    def search_least_imbalance(self, case: Case) -> Found:
        """Return the plan even if its load is beyond the tolerance."""
        assert isinstance(case, LoadCase)
        return self._search_placed(case)

    def _search_placed(self, case: LoadCase) -> Found:
        """Return a plan of little restore work, within the tolerance where that was found; its bounds."""
        return case.search_once("placed", self._place)

    def _place(self, case: LoadCase) -> Found:
        prices = price_restoring(case.problem, case.forced, case.loads)

        def place(start: IntArray | None) -> Placement:
            active = place_actives(case.loads, prices, case.most_of_actives, start)
            placed = self._spread(case, self.complete_placement(case, active), now=False)
            return placed if case.reaches_target(placed) else self.complete_placement(case, case.dealt.active)

        start = place(None)
        return Found(start, found_by=FoundBy.GREEDY) if self._solver is None else self._solver.plan(case, start, place)

    def make_question(self, case: Case) -> Question | None:
        """The goals after the load, with loads within the tolerance; None for a group of many pairs, which has no one model."""
        assert isinstance(case, LoadCase)
        solver = self._find_solver(case)
        return None if solver is None else solver.make_question(case, case.search_rough().whole, case.limits.placements)

    def _find_solver(self, case: Case) -> LoadSolver | None:
        """Return the solver whose one program serves all goals of the case; None if there is none."""
        return self._solver if self._solver is not None and self._solver.serves(case.problem) else None

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """Return the plan of one program with all goals and the limits as rows, if there is a solver and pairs are few.

        No plan has more than the case's greatest load: otherwise a better one might be found at rest.
        """
        mended, solver = super().search_limited_plan(case, free), self._find_solver(case)
        if solver is None:
            return mended
        assert isinstance(case, LoadCase)
        within = solver.solve(case, mended.placement or free.whole, case.limits.placements)
        if within.placement is not None and case.may_be_plan(within.placement):
            return within
        return replace(mended, impossible=mended.placement is None and within.impossible, limited=within.limited)

    def find_least_imbalance(self, case: Case) -> Found:
        """Return the plan with the load that it has, or any placement that keeps the limits."""
        rough, solver = super().find_least_imbalance(case), self._find_solver(case)
        if case.keeps_limits(rough.whole) or solver is None:
            return rough
        assert isinstance(case, LoadCase)
        result = solver.find_least_imbalance(case)
        return replace(rough, placement=result.placement or rough.placement, limited=rough.limited or result.is_cut_short)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Return whether some placement keeps the limits: by single moves, otherwise by the program of the target."""
        if super().can_hold(case, limits, start):
            return True
        return None if self._solver is None else self._solver.can_hold(case.problem, limits)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return None if the plan is better in the other goals (a); otherwise an empty mapping."""
        assert isinstance(case, LoadCase)
        solver, has_others = self._find_solver(case), any(name != LOAD.name for name in self.order.configured)
        if solver is None or not has_others or solver.is_as_good(case, now, case.search_rough().whole):
            return {}
        return None

    def complete_placement(self, case: LoadCase, active: IntArray, *, moves_actives: bool = True) -> Placement:
        """These actives (T,) and their standbys; where standbys weigh something, copies are traded, or all dealt anew."""
        placed = place_standbys(case.problem, case.forced, case.loads, active, case.most)
        if case.loads.standby is None:
            return placed
        copies, client = case.copies, case.copies.locate(placed)
        is_cold = case.problem.find(copies.task * case.problem.C + client) < 0
        client = even_out(copies, client, is_cold & ~copies.is_active, case.least * EVEN_LOAD)
        for movable in (~copies.is_active, np.full(len(client), moves_actives)):
            client = even_out(copies, client, movable, case.most)
        placed = copies.read(client)
        return placed if case.reaches_target(placed) or not moves_actives else case.dealt

    def _spread(self, case: Case, placed: Placement, *, now: bool) -> Placement:
        return spread_zones(case.problem, case.target, placed, now=now)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Choose the client of least load: counts prove no bound."""
        assert isinstance(case, LoadCase)
        return partial(choose_least_loaded, case.loads)

    def is_not_worth_moving(self, case: Case, previous: Placement) -> bool:
        """Return whether a new plan lowers the greatest load of the previous assignment by less than `min_gain`."""
        assert isinstance(case, LoadCase)
        if case.loads.count_idle(previous.active) > case.idle:
            return False
        instead = case.search_now().placement or case.search_rough().whole
        return case.loads.greatest_of(previous) - case.loads.greatest_of(instead) < self._min_gain

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Name the goals asked for in addition to load and the default order, where one program does not serve them."""
        if self._find_solver(case) is not None:
            return {}
        known = "the load, then goals (b) to (f) in their default order"
        why = {goal: f"{known} only" for goal in self.order.asked_for if goal != LOAD.name}
        swapped = f"{known}; then standbys are swapped for this one"
        return {goal: swapped if goal in (TAG_SPREAD.name, RACK_TRAFFIC.name) else reason for goal, reason in why.items()}
