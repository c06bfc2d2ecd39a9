"""Actives of this very rebalance: among the clients that R3 lets lead, few moves, and a greatest load."""

from __future__ import annotations

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.moves import ACTIVE_MOVES
from optassign_models.load.heuristics.placing import place_actives
from optassign_models.load.loads import Loads
from optassign_models.load.prices import NOT_ALLOWED, make_prices
from optassign_models.policy.constants import ROUNDING
from optassign_models.problem import BoolArray, IntArray, Problem
from optassign_models.results import Actives
from optassign_models.shares import Shares


def find_leading_actives(problem: Problem, forced: Forced, loads: Loads, most: float) -> IntArray | None:
    """(T,) actives that R3 allows now, with loads up to `most` and few moves; None where none were found."""
    moved = ACTIVE_MOVES.cost_per_active
    assert moved is not None
    costs = moved(problem)
    column = np.where(forced.leading, costs.columns, NOT_ALLOWED)
    pool = np.where(forced.pool_leading, costs.pools, NOT_ALLOWED)
    prices = make_prices(problem, loads, column, pool)
    if np.any(prices.base >= NOT_ALLOWED):
        return None
    active = place_actives(loads, prices, most, at_any_price=False)
    if loads.greatest(active) > most * (1 + ROUNDING):
        return None
    at = problem.find(np.arange(problem.T) * problem.C + active)
    allowed = np.where(
        at >= 0, forced.leading[np.maximum(at, 0)] if len(at) and len(forced.leading) else False, forced.pool_leading
    )
    return active if allowed.all() else None


def choose_least_loaded(loads: Loads, problem: Problem, shares: Shares, columns: BoolArray, pools: BoolArray) -> Actives | None:
    """For each task one of its columns, on the least loaded client if there are several; the heaviest choose first.

    Only the columns in `columns` (A,) are used. None where a task has none of them; `pools` (T,) are not used.
    """
    number = np.bincount(problem.col_task[columns], minlength=problem.T)
    if np.any(number == 0):
        return None
    active = np.full(problem.T, -1, dtype=np.int64)
    single = columns & (number[problem.col_task] == 1)
    active[problem.col_task[single]] = problem.col_client[single]
    sums = loads.sum_up(active)
    size = np.where(loads.size > 0, loads.size, 1e-9)
    several = np.flatnonzero(number > 1)
    chosen = np.flatnonzero(columns)
    start = np.searchsorted(problem.col_task[chosen], np.arange(problem.T + 1))
    for task in several[np.lexsort((several, -loads.weight[several]))].tolist():
        clients = problem.col_client[chosen[start[task] : start[task + 1]]]
        carried = loads.weigh_pairs(np.full(len(clients), task), clients)
        at = int(np.argmin((sums[clients] + carried) / size[clients]))
        active[task] = clients[at]
        sums[clients[at]] += carried[at]
    return Actives(active, [])
