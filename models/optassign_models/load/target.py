"""The target under load: a greatest load, and no thread idle while another has two tasks. Shares demand nothing then."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.load.dealing import Copies, deal, even_out
from optassign_models.load.loads import LOAD_NAME, LoadArrays, bound_greatest_load, read_loads
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import Placement, Problem


@dataclass(frozen=True, eq=False)
class LoadTarget:
    """The greatest load to allow, and a placement that keeps it."""

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
    def of(cls, problem: Problem, tolerance: float) -> LoadTarget:
        """Return the demand that loads are within the tolerance of the bound, or no greater than dealing reaches."""
        loads = read_loads(problem)
        copies, least = Copies.of(problem, loads), bound_greatest_load(loads)
        every, most = np.ones(len(copies.task), dtype=np.bool_), least * (1 + tolerance)
        client = deal(copies, np.full(len(copies.task), -1, dtype=np.int64))
        for stop_at in (most, least):
            client = even_out(copies, client, every, stop_at)
            dealt = copies.read(client)
            greatest, idle = loads.greatest_of(dealt), loads.count_idle(dealt.active)
            if greatest <= most * (1 + ROUNDING) and not idle:
                break
        return cls(loads, copies, least, max(most, greatest), idle, dealt)

    @property
    def most_of_actives(self) -> float:
        """The same as `most` of active copies alone, so that their standbys have room where these weigh something."""
        if self.loads.standby is None:
            return self.most
        return max(self.most * self.loads.active_share, bound_greatest_load(self.loads.actives_alone))

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bound of the load, rounded down as the measure is rounded."""
        return {LOAD_NAME: math.floor(self.least * 1e6) / 1e6}

    def holds(self, placed: Placement) -> bool:
        """Return whether the load is balanced."""
        greatest, idle = self.measure(placed)
        return greatest <= self.most * (1 + ROUNDING) and idle <= self.idle

    def measure(self, placed: Placement) -> tuple[float, int]:
        """Return the greatest load of a placement and its number of idle threads."""
        return self.loads.greatest_of(placed), self.loads.count_idle(placed.active)

    def widen_to(self, placed: Placement) -> LoadTarget:
        """Return a demand that the placement meets."""
        greatest, idle = self.measure(placed)
        return replace(self, most=max(self.most, greatest), idle=max(self.idle, idle))
