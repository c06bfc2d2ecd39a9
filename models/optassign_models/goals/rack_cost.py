"""Goal (a), `rack_cost`: traffic cost × what is read across racks + non-overlap cost × copies that are not where they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals import active_moves, rack_traffic, standby_migrations
from optassign_models.goals.goal import GoalModel, PairCosts, Placed
from optassign_models.goals.rack_traffic import Racks
from optassign_models.problem import IntArray, Problem

if TYPE_CHECKING:
    from optassign_models.cp_sat.variables import Expression, Variables

NAME = "rack_cost"


@dataclass(frozen=True, eq=False)
class RackCosts:
    """The goal's data from a snapshot."""

    racks: Racks
    traffic: int
    """The cost of a partition that is read across racks."""
    elsewhere: int
    """The cost of a copy at a new place."""


def _value(placed: Placed) -> int:
    costs = placed.problem.data_of(NAME, RackCosts)
    if costs is None:
        return 0
    moves = active_moves.GOAL.value(placed) + standby_migrations.GOAL.value(placed)
    return costs.traffic * rack_traffic.count_crossings(costs.racks, placed) + costs.elsewhere * moves


def _express(v: Variables, forced: Forced) -> Expression:
    costs = v.problem.data_of(NAME, RackCosts)
    if costs is None:
        return 0
    moves = active_moves.GOAL.express(v, forced) + standby_migrations.GOAL.express(v, forced)
    return costs.traffic * rack_traffic.express_crossings(costs.racks, v) + costs.elsewhere * moves


def _tell_apart(problem: Problem) -> IntArray:
    costs = problem.data_of(NAME, RackCosts)
    return np.zeros(problem.C, dtype=np.int64) if costs is None else costs.racks.rack_of


def _cost_per_active(problem: Problem) -> PairCosts:
    costs = problem.data_of(NAME, RackCosts)
    if costs is None or active_moves.GOAL.cost_per_active is None:
        return PairCosts.nothing(problem)
    return _add_up(problem, costs, costs.racks.active, active_moves.GOAL.cost_per_active(problem))


def _cost_per_standby(problem: Problem) -> PairCosts:
    costs = problem.data_of(NAME, RackCosts)
    if costs is None or standby_migrations.GOAL.cost_per_standby is None:
        return PairCosts.nothing(problem)
    return _add_up(problem, costs, costs.racks.standby, standby_migrations.GOAL.cost_per_standby(problem))


def _add_up(problem: Problem, costs: RackCosts, crossings: IntArray, moves: PairCosts) -> PairCosts:
    read = rack_traffic.price_crossings(problem, costs.traffic * crossings, costs.racks.rack_of)
    return read.plus(moves, costs.elsewhere)


GOAL = GoalModel(
    NAME,
    _value,
    _express,
    cost_per_active=_cost_per_active,
    cost_per_standby=_cost_per_standby,
    tells_apart=_tell_apart,
)
