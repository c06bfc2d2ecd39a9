"""Which copies of the plan to warm up in this rebalance (KIP-441; docs/rules.md, "Warm-ups").

At most `max_warmups` copies of the plan are warmed up, on clients that hold no copy of the task in this answer. The order of
the queue is strict, and a slot serves one copy, so the first copies in the queue are the optimum: no solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.problem import IntArray, Placement, Problem
from optassign.models.windows import Windows, count_copies

PATIENCE = 3
"""Answers over which a lag may stay as it is before the copy goes to the end of the queue."""


@dataclass(frozen=True, eq=False)
class Progress:
    """The copies that the plan waits for, as the last answers saw them; all arrays are sorted by key."""

    keys: IntArray
    """(n,) task × C + client of each copy."""
    lag: IntArray
    """(n,) its lag at the last answer, offsets."""
    idle: IntArray
    """(n,) answers in a row over which its lag has not fallen."""

    def idle_of(self, keys: IntArray) -> IntArray:
        """`idle` of each key; 0 for keys that nothing is known of."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.idle[at], 0)


@dataclass(frozen=True, eq=False)
class Queue:
    """The copies that want a warm-up slot."""

    keys: IntArray
    """(n,) task × C + client, in the order in which they are served."""
    served: int
    """How many of them, from the first on, have a slot in this rebalance."""


def queue_warmups(
    problem: Problem,
    windows: Windows,
    plan: Placement,
    answer: Placement,
    under_way: IntArray,
    progress: Progress,
) -> Queue:
    """The plan's copies that this answer does not hold, in the order in which they get slots.

    The criteria, most important first: not yet caught up; not stuck for `PATIENCE` answers; under way already; most state
    to lose if it is not kept; an active that relieves the client furthest above its window; least lag; least key.

    Args:
        under_way: keys of the warm-ups of the remembered answer, sorted.
        progress: of the copies waited for.
    """
    C = problem.C
    keys = np.setdiff1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    task, client = keys // C, keys % C
    lag, caught_up = problem.lag_of(keys), problem.rank_of(keys) == 0
    to_lose = np.where(problem.flag_of(keys, problem.col_state), np.maximum(problem.end[task] - lag, 0), 0)
    counts = count_copies(problem, answer)
    over = np.maximum(counts.active - windows.active.high, 0) / problem.threads
    relief = np.where(plan.active[task] == client, over[answer.active[task]], -1.0)
    stuck = progress.idle_of(keys) >= PATIENCE
    order = np.lexsort((keys, lag, -relief, -to_lose, ~np.isin(keys, under_way), stuck, caught_up))
    return Queue(keys[order], min(len(keys), problem.max_warmups))
