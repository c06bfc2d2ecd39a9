"""Load with solvers: programs and neighbourhoods for less restore work, with a bound of it."""

from __future__ import annotations

from dataclasses import replace

from optassign.goals.order import GoalOrder
from optassign.models.deadline import Deadline
from optassign.models.goals import restore_work
from optassign.models.load.planning import plan_actives
from optassign.models.load.prices import add_pauses, price_restoring
from optassign.models.load.standbys import place_standbys
from optassign.models.results import Found, FoundBy
from optassign.models.values import plan_values
from optassign.solving.case import Case
from optassign.solving.load.case import LoadCase
from optassign.solving.load.method import LoadMethod


class LoadProgramMethod(LoadMethod):
    """As without a solver, then better."""

    def __init__(self, order: GoalOrder, tolerance: float, min_gain: float, deadline: Deadline) -> None:
        super().__init__(order, tolerance, min_gain)
        self.deadline = deadline

    def search_plan(self, case: Case) -> Found:
        """The plan, and a bound of its restore work under this load."""
        assert isinstance(case, LoadCase)
        problem, forced, loads = case.problem, case.forced, case.loads
        prices = price_restoring(problem, forced, loads)
        planned = plan_actives(loads, prices, add_pauses(problem, loads, prices), case.most, self.deadline)
        self.limited |= planned.limited
        placed = self._spread(case, place_standbys(problem, forced, loads, planned.active), now=False)
        name = restore_work.GOAL.name
        bound = forced.forced_work + planned.bound
        found = Found(placed, found_by=FoundBy.LP if planned.by_program else FoundBy.GREEDY, limited=planned.limited)
        if bound > plan_values(problem, forced, placed)[name]:
            return found  # R3 to R5 force in this answer what the prices count twice
        return replace(found, bounds={name: bound}, by_lp=frozenset({name} if planned.by_program else ()))
