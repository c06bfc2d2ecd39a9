"""The cost of an active copy on each client, its standbys included, so that actives can be placed by themselves.

With n standbys the active copy on client c costs what has to be restored there and on the n cheapest other clients. No
placement of standbys is cheaper with that active copy, so the least cost under these prices bounds the restore work of actives
and standbys together. A client sheds what it has too much at least price, by a
knapsack cover (`find_cheapest_cover`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced
from optassign_models.goals.moves import ACTIVE_MIGRATIONS
from optassign_models.load.loads import FloatArray, LoadArrays
from optassign_models.policy.constants import COVER_SETS
from optassign_models.problem import IntArray, Problem

NOT_ALLOWED = 1 << 60
"""Price of a place where a task must not be."""
_LARGEST = 1 << 52
"""The most that a sum of prices may be: solvers count in doubles."""


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
    """Offsets to restore; what R3 to R5 force in this answer anyway costs nothing."""
    column = np.where(forced.mandatory | (forced.tied & forced.tie_not_caught_up[problem.col_task]), 0, problem.col_cost)
    pool = np.where(forced.pool_tied & forced.tie_not_caught_up, 0, problem.pool_cost)
    if problem.standbys:
        column, pool = _add_standbys(problem, column, pool)
    return make_prices(problem, loads, column, pool)


@dataclass(frozen=True, eq=False)
class FinePrices:
    """Prices with what comes after them as a little more."""

    prices: Prices
    unit: int
    """The coarse prices are rounded down to multiples of this,"""
    scale: int
    """and each multiple counts as much."""

    def bound_coarse(self, bound: int) -> int:
        """A bound of the sum of coarse prices, from one of the sum of these: all that comes after is less than `scale`."""
        return self.unit * -(-(bound - self.scale + 1) // self.scale)


def add_migrations(problem: Problem, loads: LoadArrays, prices: Prices) -> FinePrices:
    """The same prices with a pause as a little more: fewest migrations among what costs least."""
    paused = ACTIVE_MIGRATIONS.cost_per_active
    assert paused is not None
    costs = paused(problem)
    open_ = loads.size[problem.col_client] > 0
    most = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(most, prices.task, prices.column)
    most = np.maximum(most, prices.pool)
    total = float(most.astype(np.float64).sum())
    scale = problem.T + 1
    unit = max(1, int(-(-total * scale // _LARGEST)))
    column, pool = prices.column // unit * scale + costs.columns[open_], prices.pool // unit * scale + costs.pools
    return FinePrices(_make_prices(prices.task, prices.client, column, pool), unit, scale)


def make_prices(problem: Problem, loads: LoadArrays, column: IntArray, pool: IntArray) -> Prices:
    """Prices of the problem's columns (A,) and pools (T,)."""
    open_ = loads.size[problem.col_client] > 0
    most = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(most, problem.col_task[open_], column[open_])
    pool = np.where(problem.pool_size > 0, pool, most)  # without a pool no client is beyond the dearest column
    return _make_prices(problem.col_task[open_], problem.col_client[open_], column[open_], pool)


def _make_prices(task: IntArray, client: IntArray, column: IntArray, pool: IntArray) -> Prices:
    base = pool.copy()
    np.minimum.at(base, task, column)
    return Prices(task, client, column, pool, base)


def _add_standbys(problem: Problem, column: IntArray, pool: IntArray) -> tuple[IntArray, IntArray]:
    """Prices with those of the cheapest other clients for standbys: (A,) and (T,)."""
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


def bound_price(loads: LoadArrays, prices: Prices, level: float) -> int:
    """A lower bound of the prices of all actives with loads up to `level`, client by client, by exact knapsack covers.

    A task whose cheapest client carries too much may leave it, and then costs at least its second cheapest price. So each
    client pays for the cheapest tasks that weigh what it has too much, whatever the others do. No task is paid for twice: it
    has one cheapest client. The room of other clients is left out.
    """
    order = np.lexsort((prices.column, prices.task))
    task, first = np.unique(prices.task[order], return_index=True)
    best = prices.pool.copy()
    home = np.full(loads.T, -1, dtype=np.int64)
    cheapest = order[first]
    is_cheap = prices.column[cheapest] < prices.pool[task]
    home[task[is_cheap]] = prices.client[cheapest[is_cheap]]
    best[task[is_cheap]] = prices.column[cheapest[is_cheap]]
    second = prices.pool.copy()
    others = np.ones(len(prices.task), dtype=np.bool_)
    others[cheapest[is_cheap]] = False
    np.minimum.at(second, prices.task[others], prices.column[others])
    more = np.where(home >= 0, second - best, 0)
    total = int(best.sum())
    bound_to = np.flatnonzero((home >= 0) & (more > 0) & ~loads.is_oversized)
    by_client = bound_to[np.argsort(home[bound_to], kind="stable")]
    ends = np.searchsorted(home[by_client], np.arange(loads.C + 1))
    room = loads.measure_room(level)
    for client in range(loads.C):
        tasks = by_client[ends[client] : ends[client + 1]]
        need = float(loads.weight[tasks].sum() - room[client])
        if need > 0:
            cover = find_cheapest_cover(loads.weight[tasks], more[tasks], need)
            total += 0 if cover is None else cover[1]
    return total


def find_cheapest_cover(weight: FloatArray, price: IntArray, need: float) -> tuple[IntArray, int] | None:
    """Items (indices into (n,) `weight` and `price`) of least price that weigh `need` or more, and a bound of that price;
    None if all weigh less.

    The bound is the price itself, unless there were too many sets to examine.
    """
    if need <= 0:
        return np.zeros(0, dtype=np.int64), 0
    if float(weight.sum()) < need:
        return None
    order = np.lexsort((-weight, price / np.maximum(weight, 1e-12)))
    sums, costs = np.zeros(1), np.zeros(1, dtype=np.int64)
    cheapest = _cover_greedily(weight, price, need, order)
    most = int(price[cheapest].sum())
    left = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    layers: list[tuple[IntArray, IntArray]] = []
    for place, item in enumerate(order.tolist()):
        both_sums = np.concatenate([sums, sums + weight[item]])
        both_costs = np.concatenate([costs, costs + price[item]])
        origin = np.concatenate([np.arange(len(sums)), np.arange(len(sums))])
        taken = np.arange(len(both_sums)) >= len(sums)
        # Too expensive, or too light even with all that follow.
        useful = np.flatnonzero((both_costs <= most) & (both_sums + left[place + 1] >= need))
        useful = useful[np.lexsort((-both_sums[useful], both_costs[useful]))]
        heaviest = np.maximum.accumulate(np.append(-1.0, np.minimum(both_sums[useful], need)))[:-1]
        kept = useful[np.minimum(both_sums[useful], need) > heaviest]
        if len(kept) > COVER_SETS:
            return cheapest, 0
        layers.append((origin[kept], taken[kept].astype(np.int64)))
        sums, costs = both_sums[kept], both_costs[kept]
    enough = np.flatnonzero(sums >= need)
    if not len(enough):
        return cheapest, most
    at = int(enough[np.argmin(costs[enough])])
    best, chosen = int(costs[at]), []
    for item, (origin, taken_here) in zip(reversed(order.tolist()), reversed(layers), strict=True):
        if taken_here[at]:
            chosen.append(item)
        at = int(origin[at])
    return np.array(sorted(chosen), dtype=np.int64), best


def _cover_greedily(weight: FloatArray, price: IntArray, need: float, order: IntArray) -> IntArray:
    """The first items in order that weigh enough, without the superfluous ones; or one item that is cheaper than these."""
    number = int(np.searchsorted(np.cumsum(weight[order]), need)) + 1
    chosen = order[:number].tolist()
    spare = float(weight[chosen].sum()) - need
    for item in sorted(chosen, key=lambda i: (-int(price[i]), i)):
        if weight[item] <= spare:
            chosen.remove(item)
            spare -= float(weight[item])
    enough = np.flatnonzero(weight >= need)
    if len(enough):
        single = int(enough[np.argmin(price[enough])])
        if price[single] < price[chosen].sum():
            chosen = [single]
    return np.array(sorted(chosen), dtype=np.int64)
