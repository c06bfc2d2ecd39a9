"""Goal (a), `rack_cost`: traffic cost × what is read across racks + non-overlap cost × copies that are not where they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optassign.models.forced import Forced
from optassign.models.goals import active_moves, rack_traffic, standby_moves
from optassign.models.goals.goal import GoalModel
from optassign.models.goals.rack_traffic import Racks
from optassign.models.placed import Placed

if TYPE_CHECKING:
    from optassign.models.cp_sat.variables import Expression, Variables

NAME = "rack_cost"


@dataclass(frozen=True, eq=False)
class Costs:
    """What the goal needs to know of a snapshot."""

    racks: Racks
    traffic: int
    """Of a partition that is read across racks."""
    elsewhere: int
    """Of a copy that is not where it was."""


def _value(placed: Placed) -> int:
    costs = placed.problem.data_of(NAME, Costs)
    if costs is None:
        return 0
    moves = active_moves.GOAL.value(placed) + standby_moves.GOAL.value(placed)
    return costs.traffic * rack_traffic.count_crossings(costs.racks, placed) + costs.elsewhere * moves


def _express(v: Variables, forced: Forced) -> Expression:
    costs = v.problem.data_of(NAME, Costs)
    if costs is None:
        return 0
    moves = active_moves.GOAL.express(v, forced) + standby_moves.GOAL.express(v, forced)
    return costs.traffic * rack_traffic.express_crossings(costs.racks, v) + costs.elsewhere * moves


GOAL = GoalModel(NAME, _value, _express)
