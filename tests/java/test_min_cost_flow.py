"""Tests of the planner's minimum-cost flow against OR-Tools' on random networks."""

import subprocess
from pathlib import Path
from random import Random

from ortools.graph.python import min_cost_flow

from optassign.assignors.baselines import jvm
from optassign_benchmarks.kafka.jars import planner_classpath

NETWORKS = 400
PROGRAM = Path(__file__).parent / "FlowCosts.java"
Network = tuple[list[int], list[tuple[int, int, int, int, int, int]]]
"""Supply of each node; tail, head, least and greatest flow, level of the cost, and cost of each arc."""
FIRST_LEVEL = 1_000_000
"""A unit of cost of level 0 in units of level 1: more than any sum of costs of level 1."""


def make_network(rng: Random) -> Network:
    n = rng.choice([rng.randint(1, 12)] * 9 + [rng.randint(20, 80)])
    most_cost, most_units, levels = rng.choice([3, 10, 10**6]), rng.choice([1, 3, 50]), rng.randint(1, 2)
    least_cost = rng.choice([0, -most_cost])
    supply, arcs = [0] * n, []
    for _ in range(rng.randint(0, 6 * n)):
        low = rng.choice([0, 0, 0, rng.randint(0, most_units)])
        level = rng.randrange(levels)
        cost = rng.randint(max(least_cost, -10), min(most_cost, 10)) if level else rng.randint(least_cost, most_cost)
        arcs.append((rng.randrange(n), rng.randrange(n), low, low + rng.randint(0, most_units), level, cost))
    if rng.random() < 0.7:  # ensures a feasible flow
        units = [(tail, head, rng.randint(low, high)) for tail, head, low, high, _, _ in arcs]
    else:
        units = [(rng.randrange(n), rng.randrange(n), rng.randint(0, 3)) for _ in range(rng.randint(0, n))]
    for tail, head, number in units:
        supply[tail] += number
        supply[head] -= number
    return supply, arcs


def find_least_costs(network: Network) -> str:
    supply, arcs = list(network[0]), network[1]
    solver, cost = min_cost_flow.SimpleMinCostFlow(), 0
    for tail, head, low, high, level, of_unit in arcs:
        each = of_unit if level else of_unit * FIRST_LEVEL
        if tail == head:
            cost += each * (low if each >= 0 else high)
            continue
        cost += each * low
        supply[tail] -= low
        supply[head] += low
        solver.add_arc_with_capacity_and_unit_cost(tail, head, high - low, each)
    for node, units in enumerate(supply):
        solver.set_node_supply(node, units)
    if solver.solve() != solver.OPTIMAL:
        return "none"
    cost += solver.optimal_cost()
    first = round(cost / FIRST_LEVEL)
    return f"{first} {cost - first * FIRST_LEVEL}"


def test_costs_of_both_levels_are_those_of_ortools() -> None:
    rng = Random(1)
    networks = [make_network(rng) for _ in range(NETWORKS)]
    rows = [[len(supply), len(arcs), *supply, *(number for arc in arcs for number in arc)] for supply, arcs in networks]
    text = "\n".join([str(NETWORKS), *(" ".join(map(str, row)) for row in rows)])
    command = [jvm.command()[0], "-cp", planner_classpath(), str(PROGRAM)]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    expected = [find_least_costs(network) for network in networks]
    assert run.stdout.splitlines() == expected
    assert NETWORKS / 2 < sum(costs != "none" for costs in expected) < NETWORKS
