"""The least cost of restoring under a greatest load, client by client, by exact knapsack covers.

A task whose cheapest client carries too much may leave it, and then costs at least its second cheapest price. So each client
pays for the cheapest tasks that weigh what it has too much, whatever the others do, and no task is paid for twice: it has one
cheapest client. The room of other clients is left out.
"""

from __future__ import annotations

import numpy as np

from optassign_models.load.covering import find_cheapest_cover
from optassign_models.load.loads import Loads
from optassign_models.load.prices import Prices
from optassign_models.policy.load import ROUNDING


def bound_price(loads: Loads, prices: Prices, level: float) -> int:
    """A lower bound of the prices of all actives with loads up to `level`."""
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
    room = loads.size * level * (1 + ROUNDING)
    for client in range(loads.C):
        tasks = by_client[ends[client] : ends[client + 1]]
        need = float(loads.weight[tasks].sum() - room[client])
        if need > 0:
            cover = find_cheapest_cover(loads.weight[tasks], more[tasks], need)
            total += 0 if cover is None else cover[1]
    return total
