"""Goal (a), `load`: the greatest load per thread × capacity, in thousandths of an even spread (KAFKA-4969).

A copy's load is rounded down to a millionth of an even spread, so bounds of the sums bound the loads as well. The greatest sum
is rounded up to thousandths, so it exceeds the load by less than one thousandth. A task loads one thread.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import Carried, GoalModel
from optassign_models.load.loads import LOAD_NAME, TaskWeights, bound_greatest_load, read_loads
from optassign_models.problem import FloatArray, IntArray, Problem

_MOST_CARRIED = 1 << 40
"""The most that one copy adds, in millionths of an even spread: with more, as on a client of tiny capacity, sums would
overflow int64."""


def _carry(p: Problem) -> Carried | None:
    weights = p.data_of(LOAD_NAME, TaskWeights)
    if weights is None:
        return None
    loads = read_loads(p)

    def scale(weight: FloatArray, client: IntArray) -> IntArray:
        """Return loads (n,) of weights (n,) on clients (n,), draining ones included, in millionths of an even spread."""
        size = p.threads[client] * loads.capacity[client]
        return np.minimum(1e6 * weight / size, _MOST_CARRIED).astype(np.int64)

    def weigh_active(task: IntArray, client: IntArray) -> IntArray:
        return scale(loads.weigh_actives(task, client), client)

    def weigh_standby(task: IntArray, client: IntArray) -> IntArray:
        """Return loads (n,) of standbys; 0 on a draining client, unless all drain."""
        return scale(loads.weigh_standbys(task, client), client)

    def weigh_alone(task: IntArray, client: IntArray) -> IntArray:
        """Return loads (n,) of the threads that run the tasks."""
        return weigh_active(task, client) * p.threads[client]

    def find_floor() -> int:
        """Return a bound of the greatest load in thousandths, rounded down."""
        return int(1000 * bound_greatest_load(loads) * (1 - 1e-9))

    return Carried(weights.of_task, weigh_active, weigh_standby, grain=1000, find_floor=find_floor, least_sum=weigh_alone)


LOAD = GoalModel(LOAD_NAME, carries=_carry)
GOALS = (LOAD,)
