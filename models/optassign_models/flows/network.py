"""Min-cost flow with lower bounds and costs in lexicographic order.

OR-Tools' SimpleMinCostFlow takes one int64 cost per arc, so goals that come one after the other are optimised in stages:

1. The flow of least cost in the first goal is found.
2. Its optimum yields node potentials. An arc whose reduced cost is not zero keeps its flow in every optimum (complementary
   slackness: Ahuja, Magnanti, Orlin, Network Flows, 1993, chapter 9), so it is fixed, and the next goal is optimised over the
   arcs that remain free.

Every stage is exact, and the potentials are a proof of optimality that does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from ortools.graph.python import min_cost_flow

from optassign_models.forced import exact_sum
from optassign_models.problem import IntArray

_LARGEST_COST = 1 << 61
"""Costs of paths, and the solver's own multiples of costs, have to stay below this to fit into int64."""


class FlowError(RuntimeError):
    """The solver gave something that is not an optimal flow, though the network is feasible."""


class Network:
    """A network to which nodes and arcs are added in blocks."""

    def __init__(self, goals: int) -> None:
        """Make an empty network. `goals`: the number of costs of each arc, the most important first."""
        self._goals = goals
        self._supply: list[IntArray] = []
        self._blocks: list[IntArray] = []
        self._nodes = self._arcs = 0

    def add_nodes(self, supply: IntArray) -> IntArray:
        """Add nodes with this supply (n,), in units, < 0 for demand; return their ids (n,)."""
        self._supply.append(supply)
        self._nodes += len(supply)
        return np.arange(self._nodes - len(supply), self._nodes)

    def add_arcs(
        self, tail: IntArray, head: IntArray, high: IntArray | int, cost: Mapping[int, IntArray | int] = MappingProxyType({})
    ) -> slice:
        """Add arcs (n,); return their place among all arcs.

        Args:
            tail, head: nodes (n,).
            high: most units.
            cost: of one unit (n,), by goal; 0 for goals that are left out.
        """
        block = np.zeros((3 + self._goals, len(tail)), dtype=np.int64)
        block[0], block[1], block[2] = tail, head, high
        for goal, each in cost.items():
            block[3 + goal] = each
        self._blocks.append(block)
        self._arcs += len(tail)
        return slice(self._arcs - len(tail), self._arcs)

    def solve(self) -> tuple[IntArray, list[int]] | None:
        """Find the lexicographic optimum; None if no flow keeps the bounds.

        Returns:
            (arcs,) units on each arc, and a lower bound of each goal's cost: the optimum, unless its costs were rounded.
        """
        table, supply = np.concatenate(self._blocks, axis=1), np.concatenate(self._supply)
        arcs, cost = _Arcs(self._nodes, table[0], table[1], np.zeros_like(table[2]), table[2]), table[3:]
        flow: IntArray | None = None
        bounds: list[int] = []
        for each in cost:
            if flow is not None and not np.any(each[arcs.low < arcs.high]):
                bounds.append(exact_sum(each, flow))  # no arc that is still free has a cost: nothing to optimise
                continue
            greatest = int(np.abs(each).max(initial=0))
            scale = max(1, -(-greatest * (self._nodes + 2) * 4 // _LARGEST_COST))
            rounded = each // scale  # downwards: so bounds stay bounds
            flow = _find_least_cost_flow(arcs, rounded, supply)
            if flow is None:
                return None
            arcs = _fix_to_optima(arcs, rounded, flow)
            bounds.append(exact_sum(rounded, flow) * scale)
        assert flow is not None
        return flow, bounds


@dataclass(frozen=True, eq=False)
class _Arcs:
    """All arcs: ends and bounds of the flow, (arcs,) each."""

    nodes: int
    tail: IntArray
    head: IntArray
    low: IntArray
    high: IntArray


def _find_least_cost_flow(arcs: _Arcs, cost: IntArray, supply: IntArray) -> IntArray | None:
    """Return (arcs,) the flow of least cost that keeps the bounds and meets the supplies exactly; None if there is none.

    FlowError if the solver ends in any other way.
    """
    net = supply.copy()
    np.subtract.at(net, arcs.tail, arcs.low)
    np.add.at(net, arcs.head, arcs.low)
    free = np.flatnonzero(arcs.high > arcs.low)
    if net.sum() != 0:
        return None
    tail, head = arcs.tail[free], arcs.head[free]
    solver = min_cost_flow.SimpleMinCostFlow()
    if len(free):
        solver.add_arcs_with_capacity_and_unit_cost(tail, head, (arcs.high - arcs.low)[free], cost[free])
    nodes = np.flatnonzero(net)
    if len(nodes):
        if not len(free) or nodes.max() > max(tail.max(), head.max()):
            return None  # a node without an arc cannot pass its supply on
        solver.set_nodes_supplies(nodes, net[nodes])
    flow = arcs.low.copy()
    if not len(free):
        return flow
    status = solver.solve()
    if status == solver.INFEASIBLE:
        return None
    if status != solver.OPTIMAL:
        raise FlowError(f"min-cost flow ended with {status}")
    flow[free] += solver.flows(np.arange(len(free)))
    return flow


def _fix_to_optima(arcs: _Arcs, cost: IntArray, flow: IntArray) -> _Arcs:
    """Return the arcs with bounds that leave exactly the optimal flows: arcs of nonzero reduced cost are fixed at their flow.

    The potentials are shortest distances in the residual network, by the labels of Bellman and Ford. FlowError if they show
    that the flow is not optimal.
    """
    forward, backward = np.flatnonzero(flow < arcs.high), np.flatnonzero(flow > arcs.low)
    source = np.concatenate([arcs.tail[forward], arcs.head[backward]])
    target = np.concatenate([arcs.head[forward], arcs.tail[backward]])
    length = np.concatenate([cost[forward], -cost[backward]])
    order = np.argsort(target, kind="stable")
    source, target, length = source[order], target[order], length[order]
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    reached = target[starts]
    distance = np.zeros(arcs.nodes, dtype=np.int64)
    for _ in range(arcs.nodes + 1):
        if not len(starts):
            break
        best = np.minimum.reduceat(distance[source] + length, starts)
        better = best < distance[reached]
        if not better.any():
            break
        distance[reached[better]] = best[better]
    else:
        raise FlowError("the flow is not optimal: a residual cycle has negative cost")
    fixed = cost + distance[arcs.tail] - distance[arcs.head] != 0
    return replace(arcs, low=np.where(fixed, flow, arcs.low), high=np.where(fixed, flow, arcs.high))
