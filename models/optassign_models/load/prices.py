"""The cost of an active copy on each client, its standbys included, so that actives can be placed by themselves.

With n standbys the active copy on client c costs what has to be restored there and on the n cheapest other clients: no
placement of standbys is cheaper with that active copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.default_order import ACTIVE_MIGRATIONS
from optassign_models.load.loads import LoadArrays
from optassign_models.problem import IntArray, Problem

NOT_ALLOWED = 1 << 60
"""Price of a place where a task must not be."""
_MOST_PRICE = 1 << 50
"""Greater prices are counted in greater units."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of active copies: those of columns (A of the problem) and those of any other client."""

    task: IntArray
    """(A,) of each column."""
    client: IntArray
    """(A,) of each column."""
    column: IntArray
    """(A,) price of the active copy on the column's client; columns of draining clients are left out."""
    pool: IntArray
    """(T,) price on any client without a column."""
    base: IntArray
    """(T,) the least price of each task."""

    @property
    def start(self) -> IntArray:
        """(T + 1,) the columns of task t are start[t] : start[t + 1]."""
        return np.searchsorted(self.task, np.arange(len(self.pool) + 1))


def price_restoring(problem: Problem, forced: Forced, loads: LoadArrays) -> Prices:
    """Return offsets to restore, and a migration as a little more; what R3 to R5 force in this answer anyway costs nothing."""
    column = np.where(forced.mandatory | (forced.tied & forced.tie_not_caught_up[problem.col_task]), 0, problem.col_cost)
    pool = np.where(forced.pool_tied & forced.tie_not_caught_up, 0, problem.pool_cost)
    if problem.standbys:
        column, pool = _add_standbys(problem, column, pool)
    migrates = ACTIVE_MIGRATIONS.cost_per_active
    assert migrates is not None
    moves, unit = migrates(problem), 1 + max(int(column.max(initial=0)), int(pool.max(initial=0))) // _MOST_PRICE
    return make_prices(problem, loads, column // unit * 2 + moves.columns, pool // unit * 2 + moves.pools)


def make_prices(problem: Problem, loads: LoadArrays, column: IntArray, pool: IntArray) -> Prices:
    """Return prices of the problem's columns (A,) and pools (T,)."""
    open_ = loads.size[problem.col_client] > 0
    task, client, column = problem.col_task[open_], problem.col_client[open_], column[open_]
    most = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(most, task, column)
    pool = np.where(problem.pool_size > 0, pool, most)  # without a pool no client is beyond the dearest column
    base = pool.copy()
    np.minimum.at(base, task, column)
    return Prices(task, client, column, pool, base)


def _add_standbys(problem: Problem, column: IntArray, pool: IntArray) -> tuple[IntArray, IntArray]:
    """Return prices with those of the cheapest other clients for standbys: (A,) and (T,)."""
    n, start = problem.standbys, problem.col_start
    columns, pools = column.copy(), pool.copy()
    for task in np.flatnonzero(problem.logged).tolist():
        own = slice(start[task], start[task + 1])
        beside = min(int(problem.pool_size[task]), n + 1)
        every = np.sort(np.concatenate([column[own], np.full(beside, pool[task])]))
        cheapest, last = int(every[:n].sum()), int(every[min(n, len(every) - 1)])
        bar = int(every[n - 1])
        # A client among the n cheapest is replaced by the next.
        columns[own] = np.where(column[own] <= bar, cheapest - column[own] + last, cheapest) + column[own]
        pools[task] = (cheapest - pool[task] + last if pool[task] <= bar else cheapest) + pool[task]
    return columns, pools
