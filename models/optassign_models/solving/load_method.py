"""Load within its tolerance, then the goals of the default order, without a solver.

Copies stay where that saves restoring while clients have room, and the others are dealt longest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from optassign_models.goals.load import LOAD
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.goals.tags import TAG_SPREAD
from optassign_models.load.dealing import LoadTarget, even_out
from optassign_models.load.placing import choose_least_loaded, place_actives, place_standbys
from optassign_models.policy.constants import EVEN_LOAD
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Found, FoundBy
from optassign_models.shares import allow_any_counts
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import Case, Method, explain_unserved
from optassign_models.zones import spread_zones


class LoadMethod(Method):
    """Load within its tolerance, then goals (b) to (f) by what copies restore, then zones and racks by swaps of standbys."""

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float) -> None:
        """Make a method for this order.

        tolerance: of the greatest load, as a share.
        min_gain: the fall of the greatest load, in even spreads, that is worth moves.
        """
        super().__init__(order)
        self._tolerance, self._min_gain = tolerance, min_gain

    def prepare_case(self, problem: Problem) -> Case:
        """Return the case of the problem whose target is a greatest load instead of shares."""
        case = super().prepare_case(problem)
        return replace(case, target=allow_any_counts(problem), load=LoadTarget.of(case.problem, self._tolerance))

    def find_balanced_now(self, case: Case) -> Found:
        """Return the answer on the way to a plan that is found without a solver, if it is balanced already."""
        answer = self.find_rebalance(case, place_under_load(case), hold=False).whole
        return Found(answer if case.reaches_target(answer) else None, found_by=FoundBy.GREEDY)

    def search_plan(self, case: Case) -> Found:
        """Return the plan within the tolerance, if one was found."""
        found = self.search_least_imbalance(case)
        return found if case.reaches_target(found.whole) else Found(None, found_by=found.found_by, limited=found.limited)

    def search_least_imbalance(self, case: Case) -> Found:
        """Return the plan even if its load is beyond the tolerance."""
        return case.search_once("placed", self.place)

    def place(self, case: Case) -> Found:
        """Return a plan of little restore work, within the tolerance where that was found; its bounds."""
        return Found(place_under_load(case), found_by=FoundBy.GREEDY)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Choose the client of least load: counts prove no bound."""
        return partial(choose_least_loaded, get_load(case).loads)

    def is_not_worth_moving(self, case: Case, previous: Placement) -> bool:
        """Return whether a new plan lowers the greatest load of the previous assignment by less than `min_gain`."""
        load = get_load(case)
        greatest, idle = load.measure(previous)
        return idle <= load.idle and greatest - load.loads.greatest_of(case.search_least_imbalance().whole) < self._min_gain

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Return the goals asked for in addition to load and the default order → why this method does not serve them."""
        known = "the load, then goals (b) to (f) in their default order"
        then = dict.fromkeys((TAG_SPREAD.name, RACK_TRAFFIC.name), "standbys are swapped")
        return explain_unserved([goal for goal in self.order.asked_for if goal != LOAD.name], known, then)


def get_load(case: Case) -> LoadTarget:
    """Return the target of a case of `LoadMethod`."""
    assert case.load is not None
    return case.load


def place_under_load(case: Case, preferred: IntArray | None = None) -> Placement:
    """Return a plan that restores little, within the tolerance; as dealt if no such plan is found.

    preferred: (T,) clients of actives to try first, −1 for none.
    """
    load = get_load(case)
    return finish_under_load(case, place_actives(case.problem, case.forced, load.loads, load.most_of_actives, preferred))


def finish_under_load(case: Case, active: IntArray) -> Placement:
    """Return the plan with these actives (T,), within the tolerance; as dealt if no such plan is found."""
    load = get_load(case)
    placed = spread_zones(case.problem, case.target, _add_standbys(case, load, active), now=False)
    return placed if load.holds(placed) else _add_standbys(case, load, load.dealt.active)


def _add_standbys(case: Case, load: LoadTarget, active: IntArray) -> Placement:
    """Return the actives (T,) with standbys.

    If standbys have weight, copies are traded; if loads are too great then, all copies are dealt anew.
    """
    problem, copies = case.problem, load.copies
    placed = place_standbys(problem, case.forced, load.loads, active, load.most)
    if load.loads.standby is None:
        return placed
    client = copies.locate(placed)
    is_cold = problem.find(copies.task * problem.C + client) < 0
    client = even_out(copies, client, is_cold & ~copies.is_active, load.least * EVEN_LOAD)
    for movable in (~copies.is_active, np.ones(len(client), dtype=np.bool_)):
        client = even_out(copies, client, movable, load.most)
    placed = copies.read(client)
    return placed if load.holds(placed) else load.dealt
