"""The surviving part of the assignment before: the start of the baselines that move copies."""

from __future__ import annotations

import numpy as np

from optassign.solving.situation.situation import Situation
from optassign_models.problem import Placement, make_placement

_IN_TRANSIT = -2
"""`col_first_rank` of the client that the remembered answer made active, of a task in transit (R10)."""


def find_surviving(situation: Situation) -> Placement:
    """The copies of before on clients that are here: active −1 where there is none, standbys perhaps too few, never too many.

    A task that several clients claim is with the one that lags least, then of least id; one in transit is with the client
    that the remembered answer gave it to. If there are more standbys than wanted (without memory, Kafka lists every task
    directory on disk), those with the least lag stay.
    """
    problem = situation.problem
    T, C = problem.T, problem.C
    order = np.lexsort((problem.col_client, problem.col_lag, problem.col_task))
    task, client = problem.col_task[order], problem.col_client[order]

    claims = (problem.col_owner | (problem.col_first_rank == _IN_TRANSIT))[order]
    active = np.full(T, -1, dtype=np.int64)
    active[task[claims][::-1]] = client[claims][::-1]  # the last written is the one that lags least

    stands = problem.col_standby[order] & problem.logged[task] & (active[task] != client)
    task, client = task[stands], client[stands]
    place = np.arange(len(task)) - np.searchsorted(task, task)
    keep = place < problem.standbys
    return make_placement(active, task[keep] * C + client[keep], C)
