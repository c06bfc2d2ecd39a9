"""A case whose target is a greatest load."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.goals.load import LOAD
from optassign_models.load.dealing import Copies, deal, even_out
from optassign_models.load.loads import LoadArrays, bound_greatest_load, read_loads
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import Placement
from optassign_models.solving.methods.method import Case


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
