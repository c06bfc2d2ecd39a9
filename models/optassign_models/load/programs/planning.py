"""Actives of least restore work under a greatest load: a heuristic, programs that bound and guide it, neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.load.covering import find_cheapest_cover
from optassign_models.load.heuristics.placing import place_actives
from optassign_models.load.loads import Loads
from optassign_models.load.prices import Prices
from optassign_models.load.programs.neighbourhoods import improve_actives
from optassign_models.load.programs.program import solve_pooled
from optassign_models.policy.constants import NEIGHBOURHOODS, PROGRAM_NODES, PROGRAM_PAIRS, PROGRAM_SHARE, ROUNDING, WHOLE_PAIRS
from optassign_models.problem import IntArray


@dataclass(frozen=True, eq=False)
class PricedActives:
    """Actives, and what is known of their price."""

    active: IntArray
    """(T,)"""
    price: int
    bound: int
    by_program: bool
    """Whether a program bounds it, not only covers client by client."""
    limited: bool
    """The deadline ended some search."""


def plan_actives(loads: Loads, prices: Prices, fine: Prices, level: float, deadline: Deadline) -> PricedActives:
    """Actives with loads up to `level`, wherever that was found, of little price.

    Args:
        prices: what counts and is bounded.
        fine: the same prices with what comes after them as a little more.
    """
    best = place_actives(loads, fine, level)
    bound = bound_price(loads, prices, level)
    by_program = limited = False
    columns = int(np.sum(prices.column < prices.pool[prices.task]))
    tried = (False, True) if columns <= WHOLE_PAIRS else (False,)
    for whole in tried if columns <= PROGRAM_PAIRS else ():
        if _is_best(loads, prices, level, best, bound):
            break
        part = Deadline.after(deadline.left * PROGRAM_SHARE if np.isfinite(deadline.at) else None)
        pooled = solve_pooled(loads, prices, level, part, PROGRAM_NODES, whole=whole)
        limited |= not part.left
        if np.isfinite(pooled.bound) and pooled.bound > bound:
            bound, by_program = int(np.ceil(pooled.bound - 1e-6 * max(1.0, abs(pooled.bound)))), True
        if pooled.active is not None:
            best = _choose(loads, fine, level, best, place_actives(loads, fine, level, start=pooled.active))
    if loads.greatest(best) <= level * (1 + ROUNDING) and not _is_best(loads, prices, level, best, bound):
        best = improve_actives(loads, fine, level, best, deadline, NEIGHBOURHOODS)
        limited |= not deadline.left
    return PricedActives(best, _add_up(prices, best), bound, by_program, limited)


def _add_up(prices: Prices, active: IntArray) -> int:
    """Sum up the prices of all actives."""
    price = prices.pool.copy()
    here = active[prices.task] == prices.client
    price[prices.task[here]] = prices.column[here]
    return int(price.sum())


def _is_best(loads: Loads, prices: Prices, level: float, active: IntArray, bound: int) -> bool:
    return loads.greatest(active) <= level * (1 + ROUNDING) and _add_up(prices, active) <= bound


def _choose(loads: Loads, prices: Prices, level: float, one: IntArray, other: IntArray) -> IntArray:
    """The one that is within the level, of both the cheaper."""

    def rank(active: IntArray) -> tuple[float, int, int]:
        return max(level * (1 + ROUNDING), loads.greatest(active)), loads.count_idle(active), _add_up(prices, active)

    return min((one, other), key=rank)


def bound_price(loads: Loads, prices: Prices, level: float) -> int:
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
