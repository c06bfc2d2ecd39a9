"""Actives of least restore work under a greatest load: a heuristic, programs that bound and guide it, neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.deadline import Deadline
from optassign_models.load.heuristics.placing import place_actives
from optassign_models.load.loads import Loads
from optassign_models.load.prices import Prices
from optassign_models.load.programs.neighbourhoods import improve_actives
from optassign_models.load.programs.program import solve_pooled
from optassign_models.load.programs.shedding import bound_price
from optassign_models.policy.load import NEIGHBOURHOODS, PROGRAM_NODES, PROGRAM_PAIRS, PROGRAM_SHARE, ROUNDING, WHOLE_PAIRS
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
