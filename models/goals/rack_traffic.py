"""Goal (a), `rack_traffic`: pairs of a copy and a partition of its task that has no replica in the client's rack (KIP-925)."""

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
    crossings: IntArray
    """(T, R) partitions of the task that have no replica in the rack."""


def _value(placed: Placed) -> int:
    racks = placed.problem.data_of(NAME, Racks)
    if racks is None:
        return 0
    C = placed.problem.C
    keys = np.concatenate([placed.active_keys, placed.standby_keys])
    return int(racks.crossings[keys // C, racks.rack_of[keys % C]].sum())


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    racks = p.data_of(NAME, Racks)
    if racks is None:
        return 0
    each = racks.crossings[p.col_task, racks.rack_of[p.col_client]].tolist()
    copies = [(variable, each[i]) for i in range(len(each)) if each[i] for variable in v.copies([i])]
    return v.weighted([variable for variable, _ in copies], np.array([cost for _, cost in copies], dtype=np.int64))


GOAL = GoalModel(NAME, _value, _express)
