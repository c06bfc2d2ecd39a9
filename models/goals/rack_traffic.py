"""Goal (a), `rack_traffic`: pairs of a copy and a partition that it reads without a replica in its rack (KIP-925)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optassign.models.forced import Forced
from optassign.models.goals.goal import GoalModel
from optassign.models.placed import Placed
from optassign.models.problem import IntArray

if TYPE_CHECKING:
    from optassign.models.cp_sat.variables import Expression, Variables

NAME = "rack_traffic"


@dataclass(frozen=True, eq=False)
class Racks:
    """What the goal needs to know of a snapshot; R racks."""

    rack_of: IntArray
    """(C,) rack of each client."""
    active: IntArray
    """(T, R) partitions that the task's active copy reads and that have no replica in the rack."""
    standby: IntArray
    """(T, R) the same of its standbys."""


def _value(placed: Placed) -> int:
    racks = placed.problem.data_of(NAME, Racks)
    if racks is None:
        return 0
    C = placed.problem.C
    of_roles = ((placed.active_keys, racks.active), (placed.standby_keys, racks.standby))
    return sum(int(crossings[keys // C, racks.rack_of[keys % C]].sum()) for keys, crossings in of_roles)


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    racks = p.data_of(NAME, Racks)
    if racks is None:
        return 0
    rack = racks.rack_of[p.col_client]
    of_roles = ((v.actives, racks.active[p.col_task, rack]), (v.standbys, racks.standby[p.col_task, rack]))
    costs = [
        (variable, int(each[i]))
        for variables, each in of_roles
        for i in np.flatnonzero(each).tolist()
        for variable in variables([i])
    ]
    return v.weighted([variable for variable, _ in costs], np.array([cost for _, cost in costs], dtype=np.int64))


GOAL = GoalModel(NAME, _value, _express)
