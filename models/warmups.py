"""Which copies of the plan to warm up in this rebalance (R6, R11; docs/rules.md, "Warm-ups").

At most `max_warmups` of the plan's copies on clients that hold no copy of the task in this answer. The order of the queue is
strict, and a slot serves one copy, so the first in the queue are the optimum: no solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.problem import IntArray, Placement, Problem
from optassign.models.windows import Windows, count

PATIENCE = 3
"""Answers over which a lag may stay as it is before the copy goes to the end of the queue."""


@dataclass(frozen=True, eq=False)
class Progress:
    """What the last answers saw of the copies that the plan waits for, sorted by key (task × C + client)."""

    keys: IntArray
    lag: IntArray
    idle: IntArray
    """Answers in a row over which the lag has not fallen."""

    def idle_of(self, keys: IntArray) -> IntArray:
        """`idle` of each key; 0 where nothing is known."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.idle[at], 0)


@dataclass(frozen=True, eq=False)
class Queue:
    """Keys, in the order in which they are served; the first `served` have a slot."""

    keys: IntArray
    served: int


def queue(
    problem: Problem,
    windows: Windows,
    plan: Placement,
    answer: Placement,
    under_way: IntArray,
    progress: Progress,
) -> Queue:
    """The plan's copies that this answer does not hold, in the order in which they get slots.

    Args:
        under_way: keys of the warm-ups of the remembered answer, sorted.
        progress: of the copies waited for.
    """
    C = problem.C
    keys = np.setdiff1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    task, client = keys // C, keys % C
    lag, caught_up = problem.lag_of(keys), problem.rank_of(keys) == 0
    to_lose = np.where(problem.flag_of(keys, problem.col_state), np.maximum(problem.end[task] - lag, 0), 0)
    counts = count(problem, answer.active, answer.standby_task, answer.standby_client)
    over = np.maximum(counts.active - windows.active.high, 0) / problem.threads
    relief = np.where(plan.active[task] == client, over[answer.active[task]], -1.0)
    stuck = progress.idle_of(keys) >= PATIENCE
    order = np.lexsort((keys, lag, -relief, -to_lose, ~np.isin(keys, under_way), stuck, caught_up))
    return Queue(keys[order], min(len(keys), problem.max_warmups))
