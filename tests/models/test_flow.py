"""Tests of the lexicographic minimum-cost flow against enumeration of all assignments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign_models.flows import Network


def assignment_network(costs: np.ndarray, high: np.ndarray) -> Network:
    """Return a network that assigns workers to jobs, at most high[j] to job j. `costs` has shape (goals, workers, jobs)."""
    goals, workers, jobs = costs.shape
    network = Network(goals)
    supplies = np.ones(workers), np.zeros(jobs), np.array([-workers])
    left, right, sink = (network.add_nodes(supply.astype(np.int64)) for supply in supplies)
    tails = np.repeat(left, jobs)
    network.add_arcs(tails, np.tile(right, workers), 1, cost={g: costs[g].ravel() for g in range(goals)})
    network.add_arcs(right, np.broadcast_to(sink, (jobs,)), high)
    return network


@pytest.mark.parametrize("seed", range(60))
def test_lexicographic_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    workers, jobs = 5, 3
    costs = rng.integers(-3, 4, (3, workers, jobs))
    high = rng.integers(0, 5, jobs)
    best = None
    for choice in itertools.product(range(jobs), repeat=workers):
        used = np.bincount(choice, minlength=jobs)
        if np.all(used <= high):
            value = tuple(int(costs[g, np.arange(workers), choice].sum()) for g in range(3))
            best = value if best is None else min(best, value)
    found = assignment_network(costs, high).solve()
    if best is None:
        assert found is None
        return
    assert found is not None
    flow = found[0][: workers * jobs].reshape(workers, jobs)
    assert tuple(int((costs[g] * flow).sum()) for g in range(3)) == best
    assert tuple(found[1]) == best


def test_a_node_without_an_outgoing_path_is_infeasible() -> None:
    network = Network(1)
    nodes = network.add_nodes(np.array([1, 0, -1]))
    network.add_arcs(nodes[:1], nodes[1:2], 1)
    assert network.solve() is None


def test_costs_near_the_end_of_int64_keep_the_bound_a_bound() -> None:
    big = 2**62
    costs = np.array([[[big, big - 1], [big, big]]])
    found = assignment_network(costs, np.array([1, 1])).solve()
    assert found is not None
    assert 2 * big - 1 - 400 <= found[1][0] <= 2 * big - 1
