"""The best offload as one min-cost flow of the actives: the clients' shares are a cost, in seconds for each surplus task."""

from __future__ import annotations

import numpy as np

from optassign_models.flows.actives import ActivesNetwork
from optassign_models.goals import active_moves
from optassign_models.goals.goal import PairCosts
from optassign_models.offload import OFFLOAD, OffloadOptions, Price
from optassign_models.problem import IntArray
from optassign_models.shares import Shares

_OFF_TARGET, _IMBALANCE = "off_target", "active_imbalance"


def find_offload(options: OffloadOptions, shares: Shares, plan_active: IntArray, price: Price) -> tuple[IntArray, int] | None:
    """Actives (T,) of the least value, and a bound of it; of equals most actives where the plan (T,) has them, then fewest
    moves, then least imbalance. None where the places of a pool could not be dealt out."""
    problem = options.problem
    off_target = (plan_active[problem.col_task] != problem.col_client).astype(np.int64)
    moves = active_moves.GOAL.cost_per_active
    assert moves is not None
    costs = {
        OFFLOAD: options.cost,
        _OFF_TARGET: PairCosts(off_target, np.ones(problem.T, dtype=np.int64)),
        active_moves.GOAL.name: moves(problem),
    }
    network = ActivesNetwork(problem, costs, (*costs, _IMBALANCE, "tie"))
    network.add_columns(options.columns)
    network.add_pools(options.pools)
    network.add_soft_shares(shares, _IMBALANCE, (OFFLOAD, price.imbalance))
    found = network.solve(1)
    if found is None or found.active is None:
        return None
    return found.active, found.bounds[0]
