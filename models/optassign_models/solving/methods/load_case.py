"""A case whose target is a greatest load."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from optassign_models.goals.load import LOAD
from optassign_models.load.dealing import deal_all, deal_copies, even_out_all
from optassign_models.load.loads import LoadArrays, bound_greatest_load, read_loads
from optassign_models.load.standbys import lighten
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import Placement
from optassign_models.results import Found
from optassign_models.solving.methods.method import Case


@dataclass(frozen=True, eq=False)
class LoadCase(Case):
    """A case whose target is a greatest load, and no thread idle while another has two; shares demand nothing."""

    loads: LoadArrays
    least: float
    """A bound of the greatest load, in even spreads."""
    most: float
    """The greatest load that is balanced."""
    idle: int
    """Threads that may be idle while others have two tasks: 0, unless loads are not balanced otherwise."""
    most_of_actives: float
    """The same as `most` of active copies alone, so that their standbys have room where these weigh something."""
    dealt: Placement | None
    """A placement with that load, whatever it restores, where standbys weigh something."""
    place: Callable[[LoadCase], Found]
    """How the method places copies under these loads."""

    @classmethod
    def of_loads(cls, case: Case, tolerance: float, place: Callable[[LoadCase], Found]) -> LoadCase:
        """The case with what its loads demand: within the tolerance of the bound or, where that is not reached, what is."""
        problem, loads = case.problem, read_loads(case.problem)
        least = bound_greatest_load(loads)
        most, idle = least * (1 + tolerance), 0
        dealt: Placement | None = None
        if loads.standby is not None:
            dealt = lighten(problem, loads, deal_copies(problem, loads), most, None)
            most, idle = max(most, loads.greatest_of(dealt)), loads.count_idle(dealt.active)
            of_actives = max(most * loads.active_share, bound_greatest_load(loads.actives_alone))
        else:
            active = even_out_all(loads, deal_all(loads), most)
            if loads.greatest(active) > most * (1 + ROUNDING) or loads.count_idle(active):
                active = even_out_all(loads, active, least)
                most, idle = max(most, loads.greatest(active)), loads.count_idle(active)
            of_actives = most
        fields = {each.name: getattr(case, each.name) for each in dataclasses.fields(Case) if each.init} | {"place": place}
        return cls(**fields, loads=loads, least=least, most=most, idle=idle, most_of_actives=of_actives, dealt=dealt)

    def search_placed(self) -> Found:
        """The placement of little price, within the tolerance where that was found."""
        return self.search_once("placed", self.place)

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bound of the load, rounded down as the measure is rounded."""
        return {LOAD.name: math.floor(self.least * 1e6) / 1e6}

    def reaches_target(self, answer: Placement) -> bool:
        """Whether the load is balanced."""
        balanced = self.loads.greatest_of(answer) <= self.most * (1 + ROUNDING)
        return balanced and self.loads.count_idle(answer.active) <= self.idle

    def is_balanced(self, answer: Placement) -> bool:
        """The same."""
        return self.reaches_target(answer)

    def measure_imbalance(self, placed: Placement) -> tuple[float, ...]:
        """Its greatest load, and its idle threads."""
        return self.loads.greatest_of(placed), self.loads.count_idle(placed.active)

    def has_no_more_imbalance(self, own: Placement, found: Placement) -> bool:
        """Whether its greatest load, and its idle threads, are no more."""
        mine, theirs = (self.measure_imbalance(each) for each in (own, found))
        return mine[0] <= theirs[0] * (1 + ROUNDING) and mine[1] <= theirs[1]

    def widen_target_to(self, answer: Placement) -> LoadCase:
        """The same case, which demands no more than the answer has."""
        most = max(self.most, self.loads.greatest_of(answer))
        return replace(self, most=most, idle=max(self.idle, self.loads.count_idle(answer.active)))
