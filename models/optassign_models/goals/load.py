"""Goal (a), `load`: the greatest load per thread × capacity, in thousandths of an even spread (KAFKA-4969).

A copy's load is rounded down to a millionth of an even spread, so that bounds of the sums bound the loads as well. The peak is
rounded up to thousandths, so the least peak is above the load that it stands for by less than one. A task loads one thread.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from optassign_models.goals.goal import Carried, GoalModel
from optassign_models.load.loads import (
    LOAD_NAME,
    FloatArray,
    LoadArrays,
    TaskWeights,
    bound_greatest_load,
    read_loads,
)
from optassign_models.problem import IntArray, Problem

_MOST_CARRIED = 1 << 40
"""Millionths of an even spread that one copy adds at most: with more, as on a client of next to no capacity, sums would
leave int64."""


def _scale(p: Problem, loads: LoadArrays, weight: FloatArray, client: IntArray) -> IntArray:
    """Return loads (n,) of weights (n,) on clients (n,), draining ones included, in millionths of an even spread."""
    size = p.threads[client] * loads.capacity[client]
    scaled: IntArray = np.minimum(1e6 * weight / size, _MOST_CARRIED).astype(np.int64)
    return scaled


def _carried(p: Problem, loads: LoadArrays, task: IntArray, client: IntArray) -> IntArray:
    """Return loads (n,) of active copies."""
    return _scale(p, loads, loads.weigh_pairs(task, client), client)


def _carried_by_standbys(p: Problem, loads: LoadArrays, task: IntArray, client: IntArray) -> IntArray:
    """Return loads (n,) of standbys; 0 on a draining client, unless all drain."""
    if loads.standby is None:
        return np.zeros(len(task), dtype=np.int64)
    return _scale(p, loads, np.where(loads.size[client] > 0, loads.standby[task], 0.0), client)


def _carried_alone(p: Problem, loads: LoadArrays, task: IntArray, client: IntArray) -> IntArray:
    """Return loads (n,) of the threads that run the tasks."""
    return _carried(p, loads, task, client) * p.threads[client]


def _find_floor(loads: LoadArrays) -> int:
    """Return a bound of the greatest load in thousandths, rounded down."""
    return int(1000 * bound_greatest_load(loads) * (1 - 1e-9))


def _carry(p: Problem) -> Carried | None:
    weights = p.data_of(LOAD_NAME, TaskWeights)
    if weights is None:
        return None
    loads = read_loads(p)
    by_active, by_standby, alone = (partial(each, p, loads) for each in (_carried, _carried_by_standbys, _carried_alone))
    return Carried(weights.of_task, by_active, by_standby, grain=1000, find_floor=partial(_find_floor, loads), alone=alone)


LOAD = GoalModel(LOAD_NAME, carries=_carry)
GOALS = (LOAD,)
