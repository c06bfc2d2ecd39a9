"""The exchange against the exact flow: from any start it ends at the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from optassign_models.flows.network import Network
from optassign_models.greedy.exchange import Exchange
from optassign_models.shares import ShareBounds


@pytest.mark.parametrize("seed", range(40))
def test_an_exchange_ends_at_the_optimum(seed: int) -> None:
    """Workers to jobs, each job with its share: what the exchange makes of any start is what the flow finds."""
    rng = np.random.default_rng(seed)
    workers, jobs = 30, 6
    cost = rng.integers(0, 50, (workers, jobs))
    low = rng.integers(0, 6, jobs)
    high = low + rng.integers(0, 4, jobs)
    network = Network(1)
    left, right, sink = network.add_nodes(workers), network.add_nodes(jobs), network.add_nodes(1)
    network.add_supply(left, 1)
    network.add_supply(sink, -workers)
    network.add_arcs(np.repeat(left, jobs), np.tile(right, workers), 1, cost={0: cost.ravel()})
    network.add_arcs(right, np.repeat(sink, jobs), high, low=low)
    best = network.solve()

    start = rng.integers(0, jobs, workers)
    exchange = Exchange()
    left, right, sink = exchange.add_nodes(workers), exchange.add_nodes(jobs), exchange.add_nodes(1)
    chosen = (start[:, None] == np.arange(jobs)).ravel()
    on = exchange.add_arcs(np.repeat(left, jobs), np.tile(right, workers), chosen, high=1, cost=cost.ravel())
    number = np.bincount(start, minlength=jobs)
    exchange.add_arcs(right, np.repeat(sink, jobs), number, share=ShareBounds(low, high))
    flow = exchange.improve(1_000_000)[on].reshape(workers, jobs)
    assert np.all(flow.sum(axis=1) == 1)
    inside = bool(np.all((flow.sum(axis=0) >= low) & (flow.sum(axis=0) <= high)))
    assert inside == (best is not None)
    if best is not None:
        assert int((flow * cost).sum()) == best.bounds[0]
