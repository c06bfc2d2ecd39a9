"""Goal (a), `load`: the greatest load per thread × capacity, in thousandths of an even spread (KAFKA-4969).

A task's load is rounded down to a millionth of an even spread, so that bounds of the sums bound the loads as well. The peak is
rounded up to thousandths, so the least peak is above the load that it stands for by less than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from optassign_models.goals.goal import Carried, EvaluatedPlan, GoalModel
from optassign_models.problem import IntArray, Problem

_MOST_CARRIED = 1 << 40
"""Millionths of an even spread that one task adds at most: with more, as on a client of next to no capacity, sums would
leave int64."""


@dataclass(frozen=True, eq=False)
class TaskWeights:
    """The goal's data from a snapshot."""

    of_task: IntArray
    """(T,) load of each active copy, in whole units."""
    standby_share: float = 0.0
    """The part of that load that each standby puts on its client."""


def _carried(p: Problem, loads: TaskWeights, task: IntArray, client: IntArray) -> IntArray:
    """Each pair's load of the task on the client, in millionths of an even spread over the clients that stay."""
    staying = p.units[~p.draining] if not p.draining.all() else p.units
    total = max(1.0, float(loads.of_task.sum()))
    if loads.standby_share:
        beside = min(p.standbys, max(0, len(staying) - 1)) * loads.standby_share
        total = max(1.0, float((loads.of_task * (1 + beside * p.logged)).sum()))
    share: npt.NDArray[np.float64] = 1e6 * float(staying.sum()) / (p.units.astype(np.float64) * total)
    carried: IntArray = np.minimum(loads.of_task[task] * share[client], _MOST_CARRIED).astype(np.int64)
    return carried


def _carried_by_standbys(p: Problem, loads: TaskWeights, task: IntArray, client: IntArray) -> IntArray:
    """The same of a standby; on a draining client it weighs nothing, unless all drain."""
    counts = ~p.draining[client] | p.draining.all()
    carried: IntArray = np.where(counts, _carried(p, loads, task, client) * loads.standby_share, 0).astype(np.int64)
    return carried


def _value(placed: EvaluatedPlan) -> int:
    p, active = placed.problem, placed.plan.active
    loads = p.data_of(LOAD.name, TaskWeights)
    if loads is None:
        return 0
    carried = np.bincount(active, weights=_carried(p, loads, np.arange(p.T), active), minlength=p.C)
    if loads.standby_share:
        task, client = placed.plan.standby_task, placed.plan.standby_client
        carried += np.bincount(client, weights=_carried_by_standbys(p, loads, task, client), minlength=p.C)
    return int(-(-carried.max() // 1000))


def _carry(p: Problem) -> Carried | None:
    loads = p.data_of(LOAD.name, TaskWeights)
    if loads is None:
        return None
    return Carried(loads.of_task, partial(_carried, p, loads), partial(_carried_by_standbys, p, loads), grain=1000)


LOAD = GoalModel("load", _value, carries=_carry)
GOALS = (LOAD,)
