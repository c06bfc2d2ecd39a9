"""Load within its tolerance, then the goals of the default order, without a solver.

Copies stay where that saves restoring while clients have room, and the others are dealt longest first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from optassign_models.goals.load import LOAD
from optassign_models.goals.racks import RACK_TRAFFIC
from optassign_models.goals.tags import TAG_SPREAD
from optassign_models.load.dealing import Copies, deal, even_out
from optassign_models.load.loads import LoadArrays, bound_greatest_load, read_loads
from optassign_models.load.placing import choose_least_loaded, place_actives, place_standbys
from optassign_models.policy.constants import EVEN_LOAD, ROUNDING
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Found, FoundBy
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import Case, Method
from optassign_models.zones import spread_zones


@dataclass(frozen=True, eq=False)
class LoadCase(Case):
    """A case whose target is a greatest load, and no thread idle while another has two; shares demand nothing."""

    loads: LoadArrays
    copies: Copies
    least: float
    """A bound of the greatest load, in even spreads."""
    most: float
    """The greatest load that is balanced."""
    idle: int
    """Threads that may be idle while others have two tasks: 0, unless loads are not balanced otherwise."""
    dealt: Placement
    """A placement of the copies with that load, whatever it restores; without standbys where these weigh nothing."""

    @classmethod
    def of_loads(cls, case: Case, tolerance: float) -> LoadCase:
        """The case with what its loads demand: within the tolerance of the bound or, where that is not reached, what is."""
        loads = read_loads(case.problem)
        copies, least = Copies.of(case.problem, loads), bound_greatest_load(loads)
        every, most = np.ones(len(copies.task), dtype=np.bool_), least * (1 + tolerance)
        client = deal(copies, np.full(len(copies.task), -1, dtype=np.int64))
        for stop_at in (most, least):
            client = even_out(copies, client, every, stop_at)
            dealt = copies.read(client)
            greatest, idle = loads.greatest_of(dealt), loads.count_idle(dealt.active)
            if greatest <= most * (1 + ROUNDING) and not idle:
                break
        fields = {each.name: getattr(case, each.name) for each in dataclasses.fields(Case) if each.init}
        return cls(**fields, loads=loads, copies=copies, least=least, most=max(most, greatest), idle=idle, dealt=dealt)

    @property
    def most_of_actives(self) -> float:
        """The same as `most` of active copies alone, so that their standbys have room where these weigh something."""
        if self.loads.standby is None:
            return self.most
        return max(self.most * self.loads.active_share, bound_greatest_load(self.loads.actives_alone))

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bound of the load, rounded down as the measure is rounded."""
        return {LOAD.name: math.floor(self.least * 1e6) / 1e6}

    def reaches_target(self, answer: Placement) -> bool:
        """Return whether the load is balanced."""
        balanced = self.loads.greatest_of(answer) <= self.most * (1 + ROUNDING)
        return balanced and self.loads.count_idle(answer.active) <= self.idle

    def is_balanced(self, answer: Placement) -> bool:
        """Return whether the load is balanced, as shares demand nothing."""
        return self.reaches_target(answer)

    def measure_imbalance(self, placed: Placement) -> tuple[float, ...]:
        """Return the greatest load of a placement and its number of idle threads."""
        return self.loads.greatest_of(placed), self.loads.count_idle(placed.active)

    def has_no_more_imbalance(self, own: Placement, found: Placement) -> bool:
        """Return whether the remembered plan has no greater load and no more idle threads than the plan found."""
        mine, theirs = (self.measure_imbalance(each) for each in (own, found))
        return mine[0] <= theirs[0] * (1 + ROUNDING) and mine[1] <= theirs[1]

    def widen_target_to(self, answer: Placement) -> LoadCase:
        """Return the same case, which demands no more than the answer has."""
        most = max(self.most, self.loads.greatest_of(answer))
        return replace(self, most=most, idle=max(self.idle, self.loads.count_idle(answer.active)))

    def place(self, preferred: IntArray | None = None) -> Placement:
        """Return a plan that restores little, within the tolerance; as dealt if no such plan is found.

        preferred: (T,) clients of actives to try first, −1 for none.
        """
        active = place_actives(self.problem, self.forced, self.loads, self.most_of_actives, preferred)
        placed = spread_zones(self.problem, self.target, self._add_standbys(active), now=False)
        return placed if self.reaches_target(placed) else self._add_standbys(self.dealt.active)

    def _add_standbys(self, active: IntArray) -> Placement:
        """These actives (T,) and their standbys; where standbys weigh something, copies are traded, or all dealt anew."""
        placed = place_standbys(self.problem, self.forced, self.loads, active, self.most)
        if self.loads.standby is None:
            return placed
        copies, client = self.copies, self.copies.locate(placed)
        is_cold = self.problem.find(copies.task * self.problem.C + client) < 0
        client = even_out(copies, client, is_cold & ~copies.is_active, self.least * EVEN_LOAD)
        for movable in (~copies.is_active, np.ones(len(client), dtype=np.bool_)):
            client = even_out(copies, client, movable, self.most)
        placed = copies.read(client)
        return placed if self.reaches_target(placed) else self.dealt


class LoadMethod(Method):
    """Load within its tolerance, then goals (b) to (f) by what copies restore, then zones and racks by swaps of standbys."""

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float) -> None:
        """Make a method for this order.

        tolerance: of the greatest load, as a share.
        min_gain: the fall of the greatest load, in even spreads, that is worth moves.
        """
        super().__init__(order)
        self._tolerance, self._min_gain = tolerance, min_gain

    def prepare_case(self, problem: Problem) -> LoadCase:
        """Return the case of the problem whose target is a greatest load instead of shares."""
        case = super().prepare_case(problem)
        wide = replace(case, target=case.shares.widen_fully(problem.T * (problem.standbys + 1)))
        return LoadCase.of_loads(wide, self._tolerance)

    def find_balanced_now(self, case: Case) -> Found:
        """Return the answer on the way to a plan that is found without a solver, if it is balanced already."""
        assert isinstance(case, LoadCase)
        answer = self.find_rebalance(case, case.place(), hold=False).whole
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
        assert isinstance(case, LoadCase)
        return Found(case.place(), found_by=FoundBy.GREEDY)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Choose the client of least load: counts prove no bound."""
        assert isinstance(case, LoadCase)
        return partial(choose_least_loaded, case.loads)

    def is_not_worth_moving(self, case: Case, previous: Placement) -> bool:
        """Return whether a new plan lowers the greatest load of the previous assignment by less than `min_gain`."""
        assert isinstance(case, LoadCase)
        if case.loads.count_idle(previous.active) > case.idle:
            return False
        return case.loads.greatest_of(previous) - case.loads.greatest_of(case.search_rough().whole) < self._min_gain

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Name the goals asked for in addition to load and the default order."""
        known = "the load, then goals (b) to (f) in their default order"
        why = {goal: f"{known} only" for goal in self.order.asked_for if goal != LOAD.name}
        swapped = f"{known}; then standbys are swapped for this one"
        return {goal: swapped if goal in (TAG_SPREAD.name, RACK_TRAFFIC.name) else reason for goal, reason in why.items()}
