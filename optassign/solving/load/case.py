"""The data that the stages of one rebalance share if load is balanced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from optassign.solving.case import Case
from optassign_models.load.bounds import bound_greatest_load
from optassign_models.load.heuristics.dealing import deal_all, deal_copies
from optassign_models.load.heuristics.exchange import even_out_all
from optassign_models.load.heuristics.lightening import lighten
from optassign_models.load.loads import Loads, read_loads
from optassign_models.policy.load import ROUNDING
from optassign_models.problem import Placement

LOAD = "load"


@dataclass(frozen=True, eq=False)
class LoadCase(Case):
    """A case whose target is a greatest load, and no thread idle while another has two; shares demand nothing."""

    loads: Loads
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

    @classmethod
    def of(cls, case: Case, tolerance: float) -> LoadCase:
        """The case with what its loads demand: within the tolerance of the bound or, where that is not reached, what is."""
        loads = read_loads(case.problem)
        least = bound_greatest_load(loads)
        most, idle = least * (1 + tolerance), 0
        if loads.standby is not None:
            return cls._of_copies(case, loads, least, tolerance)
        dealt = even_out_all(loads, deal_all(loads), most)
        if loads.greatest(dealt) > most * (1 + ROUNDING) or loads.count_idle(dealt):
            dealt = even_out_all(loads, dealt, least)
            most, idle = max(most, loads.greatest(dealt)), loads.count_idle(dealt)
        fields = {name: getattr(case, name) for name in Case.__dataclass_fields__}
        return cls(**fields, loads=loads, least=least, most=most, idle=idle, most_of_actives=most, dealt=None)

    @classmethod
    def _of_copies(cls, case: Case, loads: Loads, least: float, tolerance: float) -> LoadCase:
        """The same where standbys weigh something."""
        most = least * (1 + tolerance)
        dealt = lighten(case.problem, loads, deal_copies(case.problem, loads), most, None)
        most, idle = max(most, loads.greatest_of(dealt)), loads.count_idle(dealt.active)
        of_actives = max(most * loads.active_share, bound_greatest_load(loads.actives_alone))
        fields = {name: getattr(case, name) for name in Case.__dataclass_fields__}
        return cls(**fields, loads=loads, least=least, most=most, idle=idle, most_of_actives=of_actives, dealt=dealt)

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bound of the load, rounded down as the measure is rounded."""
        return {LOAD: math.floor(self.least * 1e6) / 1e6}

    def reaches_target(self, answer: Placement) -> bool:
        """Whether the load is balanced."""
        balanced = self.loads.greatest_of(answer) <= self.most * (1 + ROUNDING)
        return balanced and self.loads.count_idle(answer.active) <= self.idle

    def is_balanced(self, answer: Placement) -> bool:
        """The same."""
        return self.reaches_target(answer)

    def widen_target_to(self, answer: Placement) -> LoadCase:
        """The same case, which demands no more than the answer has."""
        most = max(self.most, self.loads.greatest_of(answer))
        return replace(self, most=most, idle=max(self.idle, self.loads.count_idle(answer.active)))
