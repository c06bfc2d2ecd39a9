"""Tests of flows on a network: within bounds wherever possible, at least cost from a start without negative cycles."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.graph.python import min_cost_flow

from optassign_models.greedy.choosing import Network
from optassign_models.problem import IntArray
from optassign_models.shares import ShareBounds

TASKS, CLIENTS = 12, 4


def draw(seed: int) -> tuple[IntArray, ShareBounds]:
    """Return random (TASKS, CLIENTS) costs, and satisfiable (CLIENTS,) bounds of the number of tasks on each client."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, TASKS // CLIENTS + 1, CLIENTS)
    return rng.integers(0, 50, (TASKS, CLIENTS)), ShareBounds(low, low + rng.integers(TASKS // CLIENTS, TASKS, CLIENTS))


def fill(cost: IntArray, bounds: ShareBounds, *, weight: int = 0, by_cost: bool = True) -> tuple[IntArray, bool]:
    """Fill the network from each task's cheapest client; return the (TASKS, CLIENTS) flow, and whether it is complete."""
    start = np.zeros(cost.shape, dtype=np.bool_)
    start[np.arange(len(cost)), cost.argmin(axis=1)] = True
    network, one = Network(), np.ones(len(cost), dtype=np.int64)
    tasks, clients = network.add_nodes(one), network.add_nodes(np.zeros(CLIENTS, dtype=np.int64))
    hub = np.repeat(network.add_nodes(-one.sum(keepdims=True)), CLIENTS)
    once = ShareBounds(np.zeros(cost.size, dtype=np.int64), np.ones(cost.size, dtype=np.int64))
    on = network.add_arcs(np.repeat(tasks, CLIENTS), np.tile(clients, len(cost)), start.ravel(), once, cost=cost.ravel())
    network.add_arcs(clients, hub, start.sum(axis=0), bounds, weight=weight)
    flow, is_filled = network.fill(by_cost=by_cost)
    return flow[on].reshape(cost.shape), is_filled


def find_least_cost(cost: IntArray, bounds: ShareBounds) -> int:
    """Return the least cost by OR-Tools' flow, in which a unit missing from a lower bound costs more than all arcs."""
    flow, far = min_cost_flow.SimpleMinCostFlow(), 10_000
    sink = TASKS + CLIENTS
    for task in range(TASKS):
        flow.set_node_supply(task, 1)
        for client in range(CLIENTS):
            flow.add_arc_with_capacity_and_unit_cost(task, TASKS + client, 1, int(cost[task, client]))
    for client in range(CLIENTS):
        flow.add_arc_with_capacity_and_unit_cost(TASKS + client, sink, int(bounds.low[client]), -far)
        flow.add_arc_with_capacity_and_unit_cost(TASKS + client, sink, int((bounds.high - bounds.low)[client]), 0)
    flow.set_node_supply(sink, -TASKS)
    assert flow.solve() == flow.OPTIMAL
    return int(flow.optimal_cost()) + far * int(bounds.low.sum())


@pytest.mark.parametrize("seed", range(40))
def test_counts_are_filled_at_least_cost(seed: int) -> None:
    cost, bounds = draw(seed)
    found, is_filled = fill(cost, bounds)
    assert is_filled
    assert np.all(found.sum(axis=1) == 1)
    assert bounds.imbalance(found.sum(axis=0)) == 0
    assert int((found * cost).sum()) == find_least_cost(cost, bounds)


@pytest.mark.parametrize("seed", range(40))
def test_paths_of_fewest_arcs_fill_counts_too(seed: int) -> None:
    cost, bounds = draw(seed)
    found, is_filled = fill(cost, bounds, by_cost=False)
    assert is_filled
    assert np.all(found.sum(axis=1) == 1)
    assert bounds.imbalance(found.sum(axis=0)) == 0


@pytest.mark.parametrize("by_cost", [False, True])
def test_conflicting_bounds_give_way_equally(by_cost: bool) -> None:
    cost, bounds = draw(0)
    tight = ShareBounds(np.zeros_like(bounds.low), np.array([1, 1, 2, 2]))
    found, is_filled = fill(cost, tight, weight=1, by_cost=by_cost)
    assert is_filled
    assert np.all(found.sum(axis=0) - tight.high <= 2)


def test_bounds_without_weight_never_give_way() -> None:
    cost, bounds = draw(0)
    assert not fill(cost, ShareBounds(np.zeros_like(bounds.low), np.ones_like(bounds.high)))[1]
