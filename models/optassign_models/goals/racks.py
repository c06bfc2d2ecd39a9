"""Racks: goals (a) `rack_traffic` and `rack_cost` (KIP-925; docs/reference/rules.md, "Configured goals")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from optassign_models.goals.goal import GoalModel, PairCosts, price_active_moves, price_standby_migrations
from optassign_models.problem import IntArray, Problem


@dataclass(frozen=True, eq=False)
class Racks:
    """The snapshot's data for one of the two goals; R racks."""

    rack_of: IntArray
    """(C,) rack of each client."""
    active: IntArray
    """(T, R) partitions that the task's active copy reads and that have no replica in the rack."""
    standby: IntArray
    """(T, R) partitions that a standby of the task reads and that have no replica in the rack."""
    traffic: int = 1
    """The cost of a partition that is read across racks."""
    elsewhere: int = 0
    """The cost of an active move or a standby migration."""


def _price(name: str, p: Problem, *, is_active: bool) -> PairCosts:
    racks, elsewhere = p.data_of(name, Racks), price_active_moves(p) if is_active else price_standby_migrations(p)
    if racks is None:
        return PairCosts(np.zeros_like(p.col_task), np.zeros_like(p.group))
    crossings = racks.traffic * (racks.active if is_active else racks.standby)
    columns = crossings[p.col_task, racks.rack_of[p.col_client]] + racks.elsewhere * elsewhere.columns
    return PairCosts(columns, crossings + racks.elsewhere * elsewhere.pools[:, None])


def _classify_by_rack(name: str, problem: Problem) -> IntArray:
    racks = problem.data_of(name, Racks)
    return np.zeros(problem.C, dtype=np.int64) if racks is None else racks.rack_of


def _make_goal(name: str) -> GoalModel:
    return GoalModel(
        name,
        cost_per_active=partial(_price, name, is_active=True),
        cost_per_standby=partial(_price, name, is_active=False),
        distinguishes=partial(_classify_by_rack, name),
    )


RACK_TRAFFIC, RACK_COST = _make_goal("rack_traffic"), _make_goal("rack_cost")
GOALS = (RACK_TRAFFIC, RACK_COST)
