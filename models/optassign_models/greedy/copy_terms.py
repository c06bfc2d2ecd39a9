"""The clients for copies of logged tasks, and their costs for the greedy methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced
from optassign_models.greedy.algorithms.ranking import rank_within
from optassign_models.problem import BoolArray, IntArray, Problem

MUST = 1 << 41
"""The worth of a copy that must be somewhere: more than any price, less than a share."""
_FINE = 1 << 30
"""Restore costs are compared in this many steps from 0 to the greatest."""
_STEP, _COLD = 1 << 6, 1 << 4
"""Price of one such step, and of a copy that is not caught up."""


@dataclass(frozen=True, eq=False)
class CopyTerms:
    """The clients for copies, and their prices: restore work scaled down to small integers, then the number of copies not
    caught up.

    If R5 forces copies on tied clients that are not caught up, that number of copies on tied clients is `free`.
    """

    must: BoolArray
    """(A,) columns to be taken before all others."""
    allowed: BoolArray
    """(A,) columns that may be taken."""
    pools: BoolArray
    """(T,) tasks that may use their pool."""
    price: IntArray
    """(A,) of a copy; of a tied one, what it costs beyond the free ones."""
    pool_price: IntArray
    """(T,) of a copy on a client without a column; of a task whose clients all have columns, as on the dearest of these."""
    tied: BoolArray
    """(A,) a tied client that is not caught up."""
    pool_tied: BoolArray
    """(T,) the pool's clients, and columns that are no better, are tied and not caught up."""
    free: IntArray
    """(T,) how many copies on tied clients that are not caught up cost nothing."""
    worth: IntArray
    """(A,) what a column saves over the pool, and a little more where the copy would stay where it was."""

    @classmethod
    def of_plan(cls, problem: Problem, forced: Forced, must: BoolArray) -> CopyTerms:
        """Copies may be anywhere; forced copies of this answer (R3 to R5) are paid already. `must`: (A,) columns of actives."""
        T, task, stays = problem.T, problem.col_task, _reward_staying(problem, must)
        allowed, pools = problem.logged[task], problem.logged & (problem.pool_size > 0)
        cost = np.where(forced.mandatory, 0, problem.col_cost)
        unit = 1 + int(max(cost.max(initial=0), problem.pool_cost.max(initial=0))) // _FINE
        price = cost // unit * _STEP + np.where((problem.col_rank > 0) & ~forced.mandatory, _COLD, 0)
        pool_price = problem.pool_cost // unit * _STEP + np.where(problem.pool_rank > 0, _COLD, 0)
        dearest = np.zeros(T, dtype=np.int64)
        np.maximum.at(dearest, task, price)
        pool_price = np.where(problem.pool_size > 0, pool_price, dearest)

        tied = forced.tied & forced.tie_cold[task]
        others = np.bincount(task[allowed & ~tied & ~forced.mandatory], minlength=T)
        pool_tied = forced.tie_cold & (forced.pool_tied | ((problem.pool_size == 0) & (others == 0)))
        free = np.where(forced.tie_cold, forced.choices, 0)
        # A column has one worth for all its task's copies: so some of the tied ones are free, the others are not.
        some = np.flatnonzero(tied & ~pool_tied[task])
        turn = (problem.col_client[some] - task[some]) % problem.C
        some = some[np.lexsort((turn, -stays[some], task[some]))]
        paid = price.copy()
        paid[some[rank_within(task[some]) < free[task[some]]]] = 0
        # If the pool is tied it has the free places: only columns that are forced save anything.
        best = np.where(pool_tied[task] & ~forced.mandatory & ~tied, 0, pool_price[task])
        worth = best - paid + stays + MUST * must
        return cls(must, allowed, pools, price, pool_price, tied, pool_tied, free, worth)

    @classmethod
    def of_now(cls, problem: Problem, forced: Forced, must: BoolArray) -> CopyTerms:
        """Copies may be where R5 allows them in this rebalance. They cost nothing; best they stay where they were.

        `must`: (A,) columns to be taken before all others.
        """
        nothing, never = np.zeros(problem.T, dtype=np.int64), np.zeros(problem.T, dtype=np.bool_)
        stays = _reward_staying(problem, must)
        must = must | forced.mandatory
        worth = 1 + stays + MUST * must
        no, free = np.zeros_like(must), np.zeros_like(worth)
        return cls(must, forced.mandatory | forced.tied, forced.pool_tied, free, nothing, no, never, nothing, worth)

    def are_better_than_pool(self) -> BoolArray:
        """(A,) columns that are allowed and worth more than a copy in the pool."""
        return self.allowed & (self.worth > 0)

    def are_worse_than_pool(self, problem: Problem) -> BoolArray:
        """(A,) columns that must not be dealt as if they were clients of the pool: not allowed, or dearer."""
        task = problem.col_task
        dearer = (self.price > self.pool_price[task]) | (self.pool_tied[task] & ~self.tied & (self.price > 0))
        return ~self.allowed | dearer


def _reward_staying(problem: Problem, actives: BoolArray) -> IntArray:
    """(A,) a little worth where a copy would stay: owners before standbys before other state on disk.

    actives: (A,) columns of the actives, if these are known: then owners are worth no more than others.
    """
    owners = 0 if actives.any() else 8
    return owners * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state
