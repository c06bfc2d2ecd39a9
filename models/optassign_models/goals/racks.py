"""Racks: goals (a) `rack_traffic` and `rack_cost` (KIP-925).

`rack_traffic` counts pairs of a copy and a partition that it reads without a replica in its rack. `rack_cost` is traffic cost ×
these pairs + non-overlap cost × copies that are not where they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.goals.goal import EvaluatedPlan, GoalModel, PairCosts
from optassign_models.goals.moves import ACTIVE_MOVES, STANDBY_MIGRATIONS
from optassign_models.problem import IntArray, Problem


@dataclass(frozen=True, eq=False)
class Racks:
    """The goal's data from a snapshot; R racks."""

    rack_of: IntArray
    """(C,) rack of each client."""
    active: IntArray
    """(T, R) partitions that the task's active copy reads and that have no replica in the rack."""
    standby: IntArray
    """(T, R) the same of its standbys."""


def _count_crossings(racks: Racks, placed: EvaluatedPlan) -> int:
    """Count reads across racks of the copies of a plan."""
    C = placed.problem.C
    of_roles = ((placed.active_keys, racks.active), (placed.standby_keys, racks.standby))
    return sum(int(crossings[keys // C, racks.rack_of[keys % C]].sum()) for keys, crossings in of_roles)


def _count_traffic(placed: EvaluatedPlan) -> int:
    racks = placed.problem.data_of(RACK_TRAFFIC.name, Racks)
    return 0 if racks is None else _count_crossings(racks, placed)


def _price_crossings(p: Problem, crossings: IntArray, rack_of: IntArray) -> PairCosts:
    """Return the cost of a copy of one role by its reads across racks: `crossings` (T, R)."""
    return PairCosts(crossings[p.col_task, rack_of[p.col_client]], crossings)


def _tell_racks_apart(problem: Problem) -> IntArray:
    racks = problem.data_of(RACK_TRAFFIC.name, Racks)
    return np.zeros(problem.C, dtype=np.int64) if racks is None else racks.rack_of


def _price_active_traffic(problem: Problem) -> PairCosts:
    racks = problem.data_of(RACK_TRAFFIC.name, Racks)
    return PairCosts.nothing(problem) if racks is None else _price_crossings(problem, racks.active, racks.rack_of)


def _price_standby_traffic(problem: Problem) -> PairCosts:
    racks = problem.data_of(RACK_TRAFFIC.name, Racks)
    return PairCosts.nothing(problem) if racks is None else _price_crossings(problem, racks.standby, racks.rack_of)


@dataclass(frozen=True, eq=False)
class RackCosts:
    """The goal's data from a snapshot."""

    racks: Racks
    traffic: int
    """The cost of a partition that is read across racks."""
    elsewhere: int
    """The cost of a copy at a new place."""


def _sum_costs(placed: EvaluatedPlan) -> int:
    costs = placed.problem.data_of(RACK_COST.name, RackCosts)
    if costs is None:
        return 0
    moves = ACTIVE_MOVES.value(placed) + STANDBY_MIGRATIONS.value(placed)
    return costs.traffic * _count_crossings(costs.racks, placed) + costs.elsewhere * moves


def _tell_apart_by_cost(problem: Problem) -> IntArray:
    costs = problem.data_of(RACK_COST.name, RackCosts)
    return np.zeros(problem.C, dtype=np.int64) if costs is None else costs.racks.rack_of


def _price_active_cost(problem: Problem) -> PairCosts:
    costs = problem.data_of(RACK_COST.name, RackCosts)
    if costs is None or ACTIVE_MOVES.cost_per_active is None:
        return PairCosts.nothing(problem)
    return _add_up(problem, costs, costs.racks.active, ACTIVE_MOVES.cost_per_active(problem))


def _price_standby_cost(problem: Problem) -> PairCosts:
    costs = problem.data_of(RACK_COST.name, RackCosts)
    if costs is None or STANDBY_MIGRATIONS.cost_per_standby is None:
        return PairCosts.nothing(problem)
    return _add_up(problem, costs, costs.racks.standby, STANDBY_MIGRATIONS.cost_per_standby(problem))


def _add_up(problem: Problem, costs: RackCosts, crossings: IntArray, moves: PairCosts) -> PairCosts:
    read = _price_crossings(problem, costs.traffic * crossings, costs.racks.rack_of)
    return read.plus(moves, costs.elsewhere)


RACK_TRAFFIC = GoalModel(
    "rack_traffic",
    _count_traffic,
    cost_per_active=_price_active_traffic,
    cost_per_standby=_price_standby_traffic,
    tells_apart=_tell_racks_apart,
)
RACK_COST = GoalModel(
    "rack_cost",
    _sum_costs,
    cost_per_active=_price_active_cost,
    cost_per_standby=_price_standby_cost,
    tells_apart=_tell_apart_by_cost,
)
GOALS = (RACK_TRAFFIC, RACK_COST)
