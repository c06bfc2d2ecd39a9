"""The clients where each task may be active, and the costs for the greedy methods."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.problem import BoolArray, IntArray, Problem

COLD = 1 << 28
"""Cost of an active that is not caught up."""
MOVED = 1 << 20
"""Cost of an active that leaves its owner."""
_STANDBY_LOST, _EARLY = 1 << 18, 1 << 17
"""Cost of a standby that becomes active and so is lost as a standby; most that an early task costs more when it moves."""


@dataclass(frozen=True, eq=False)
class ActiveOptions:
    """The clients where each task may be active, and the costs."""

    columns: BoolArray
    """(A,) columns that may be used."""
    pools: BoolArray
    """(T,) tasks that may be on any client without a column of the task; a task without changelog on any other client."""
    cost: IntArray
    """(A,) of an active on each column."""
    pool_cost: IntArray
    """(T,) of an active on a client of the pool."""

    @classmethod
    def of(cls, problem: Problem, columns: BoolArray, pools: BoolArray) -> ActiveOptions:
        """Actives not caught up cost most, then moves; a client keeps its smallest tasks. `columns` is (A,), `pools` (T,)."""
        T, task = problem.T, problem.col_task
        moved = np.where(problem.has_owner, MOVED + (T - np.arange(T)) * _EARLY // max(T, 1), 0)
        cold = problem.logged[task] & (problem.col_rank > 0)
        lost = problem.col_standby & ~problem.col_owner
        cost = COLD * cold + np.where(problem.col_owner, 0, moved[task]) + _STANDBY_LOST * lost
        return cls(columns, pools, cost, COLD * (problem.logged & (problem.pool_rank > 0)) + moved)

    def put_first(self, cost: IntArray, pool_cost: IntArray) -> ActiveOptions:
        """The same options where other costs come first; of the old ones, only moves still count.

        Args:
            cost: (A,) of each column.
            pool_cost: (T,) of each task's pool.
        """
        return replace(
            self, cost=4 * cost + self.cost % COLD // MOVED, pool_cost=4 * pool_cost + self.pool_cost % COLD // MOVED
        )

    def choose_cheapest(self, problem: Problem) -> IntArray:
        """(T,) the cheapest column of each task, of equals the first; −1 for tasks without."""
        column = np.flatnonzero(self.columns)
        column = column[np.lexsort((self.cost[column], problem.col_task[column]))]
        column = column[rank_within(problem.col_task[column]) == 0]
        active = np.full(problem.T, -1, dtype=np.int64)
        active[problem.col_task[column]] = problem.col_client[column]
        return active
