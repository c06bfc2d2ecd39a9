"""Goal (a), `rack_traffic`: pairs of a copy and a partition that it reads without a replica in its rack (KIP-925)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.goal import GoalModel, PairCosts, Placed
from optassign_models.problem import IntArray, Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables

NAME = "rack_traffic"


@dataclass(frozen=True, eq=False)
class Racks:
    """The goal's data from a snapshot; R racks."""

    rack_of: IntArray
    """(C,) rack of each client."""
    active: IntArray
    """(T, R) partitions that the task's active copy reads and that have no replica in the rack."""
    standby: IntArray
    """(T, R) the same of its standbys."""


def count_crossings(racks: Racks, placed: Placed) -> int:
    """Count reads across racks of the copies of a plan."""
    C = placed.problem.C
    of_roles = ((placed.active_keys, racks.active), (placed.standby_keys, racks.standby))
    return sum(int(crossings[keys // C, racks.rack_of[keys % C]].sum()) for keys, crossings in of_roles)


def express_crossings(racks: Racks, v: Variables) -> Expression:
    """The same of the copies of a model."""
    p = v.problem
    rack = racks.rack_of[p.col_client]
    of_roles = ((v.actives, racks.active[p.col_task, rack]), (v.standbys, racks.standby[p.col_task, rack]))
    costs = [
        (variable, int(each[i]))
        for variables, each in of_roles
        for i in np.flatnonzero(each).tolist()
        for variable in variables([i])
    ]
    return v.weighted([variable for variable, _ in costs], np.array([cost for _, cost in costs], dtype=np.int64))


def _value(placed: Placed) -> int:
    racks = placed.problem.data_of(NAME, Racks)
    return 0 if racks is None else count_crossings(racks, placed)


def _express(v: Variables, forced: Forced) -> Expression:
    racks = v.problem.data_of(NAME, Racks)
    return 0 if racks is None else express_crossings(racks, v)


def price_crossings(p: Problem, crossings: IntArray, rack_of: IntArray) -> PairCosts:
    """The cost of a copy of one role by its reads across racks: `crossings` (T, R)."""
    return PairCosts(crossings[p.col_task, rack_of[p.col_client]], crossings)


def _tell_apart(problem: Problem) -> IntArray:
    racks = problem.data_of(NAME, Racks)
    return np.zeros(problem.C, dtype=np.int64) if racks is None else racks.rack_of


def _cost_per_active(problem: Problem) -> PairCosts:
    racks = problem.data_of(NAME, Racks)
    return PairCosts.nothing(problem) if racks is None else price_crossings(problem, racks.active, racks.rack_of)


def _cost_per_standby(problem: Problem) -> PairCosts:
    racks = problem.data_of(NAME, Racks)
    return PairCosts.nothing(problem) if racks is None else price_crossings(problem, racks.standby, racks.rack_of)


GOAL = GoalModel(
    NAME,
    _value,
    _express,
    cost_per_active=_cost_per_active,
    cost_per_standby=_cost_per_standby,
    tells_apart=_tell_apart,
)
