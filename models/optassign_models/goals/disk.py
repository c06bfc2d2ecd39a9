"""Goal (a), `disk`: the greatest state on a client, active copies and standbys alike, in thousandths of an even spread.

A copy's state is rounded down to a millionth of an even spread, the greatest sum up to a thousandth.
"""

from __future__ import annotations

import numpy as np

from optassign_models.forced import exact_sum
from optassign_models.goals.goal import Carried, GoalModel
from optassign_models.problem import IntArray, Problem


def list_sizes(p: Problem) -> IntArray:
    """(T,) what a copy of each task adds to a client's state, in millionths of an even spread over the clients that stay."""
    staying = p.C if p.draining.all() else int(np.sum(~p.draining))
    size = np.where(p.logged, p.end, 0)
    total = max(1, exact_sum(size, np.ones(p.T, dtype=np.int64)) * (p.standbys + 1))
    return np.array([each * 1_000_000 * staying // total for each in size.tolist()], dtype=np.int64)


def _carry(p: Problem) -> Carried:
    size = list_sizes(p)

    def weigh(task: IntArray, client: IntArray) -> IntArray:
        return size[task]

    return Carried(size, weigh, weigh, grain=1000)


DISK = GoalModel("disk", carries=_carry)
GOALS = (DISK,)
