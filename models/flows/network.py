"""Min-cost flow with lower bounds and costs in lexicographic order.

OR-Tools' SimpleMinCostFlow takes one int64 cost per arc. Goals that come one after the other would need weights that soon
leave int64, so only as many are weighted together as fit: the optimum of one cost yields node potentials, an arc whose
reduced cost is not zero keeps its flow in every optimum (complementary slackness), and the next cost is optimised over the
arcs that remain free. Every stage is exact, and the potentials are a proof of optimality that does not rest on the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from ortools.graph.python import min_cost_flow

from optassign.models.problem import IntArray

_HEADROOM = 1 << 61


class FlowError(RuntimeError):
    """The solver gave something that is not an optimal flow, though the network is feasible."""


@dataclass
class Network:
    """Arcs are added in blocks; `cost` has one row per goal, first goal first."""

    goals: int
    _tail: list[IntArray] = field(default_factory=list)
    _head: list[IntArray] = field(default_factory=list)
    _low: list[IntArray] = field(default_factory=list)
    _high: list[IntArray] = field(default_factory=list)
    _cost: list[IntArray] = field(default_factory=list)
    _supply: list[tuple[IntArray, IntArray]] = field(default_factory=list)
    nodes: int = 0
    arcs: int = 0

    def add_nodes(self, number: int) -> IntArray:
        """Ids of new nodes, (number,)."""
        first = self.nodes
        self.nodes += number
        return np.arange(first, self.nodes, dtype=np.int64)

    def add_arcs(
        self,
        tail: IntArray,
        head: IntArray,
        high: IntArray | int,
        low: IntArray | int = 0,
        cost: dict[int, IntArray | int] | None = None,
    ) -> slice:
        """A block of arcs; `cost` maps a goal to its unit costs. The block's place among all arcs comes back."""
        n = max(np.size(tail), np.size(head))

        def full(value: IntArray | int) -> IntArray:
            return np.broadcast_to(np.asarray(value, dtype=np.int64), (n,))

        table = np.zeros((self.goals, n), dtype=np.int64)
        for goal, unit in (cost or {}).items():
            table[goal] = unit
        self._tail.append(full(tail))
        self._head.append(full(head))
        self._low.append(full(low))
        self._high.append(full(high))
        self._cost.append(table)
        block = slice(self.arcs, self.arcs + n)
        self.arcs += n
        return block

    def add_supply(self, nodes: IntArray, amount: IntArray | int) -> None:
        """Supply (> 0) or demand (< 0) of nodes; amounts of one node add up."""
        nodes = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
        self._supply.append((nodes, np.broadcast_to(np.asarray(amount, dtype=np.int64), nodes.shape)))

    def solve(self, face_after: int = 0) -> FlowResult | None:
        """The lexicographic optimum, or None where no flow keeps the bounds.

        `face_after`: number of goals after which the remaining upper bounds are kept as `face_high`.
        """
        if not self.arcs:
            nothing = np.zeros(0, dtype=np.int64)
            return FlowResult(nothing, [0] * self.goals, [1] * self.goals, nothing)
        tail, head = np.concatenate(self._tail), np.concatenate(self._head)
        low, high = np.concatenate(self._low), np.concatenate(self._high)
        cost = np.concatenate(self._cost, axis=1)
        supply = np.zeros(self.nodes, dtype=np.int64)
        for nodes, amount in self._supply:
            np.add.at(supply, nodes, amount)
        if np.any(low > high):
            return None
        flow: IntArray | None = None
        bounds: list[int] = []
        scales: list[int] = []
        face_high = high
        goal = 0
        while goal < self.goals:
            if goal == face_after:
                face_high = high
            if flow is not None and not np.any(cost[goal][low < high]):
                bounds.append(_dot(cost[goal], flow))
                scales.append(1)
                goal += 1
                continue
            upto = _together(cost, low, high, goal, face_after if goal < face_after else self.goals, self.nodes)
            merged, scale = _merged(cost, low, high, goal, upto, self.nodes)
            flow = _solve(tail, head, low, high, merged, supply)
            if flow is None:
                return None
            low, high = _optimal_face(tail, head, low, high, merged, flow, self.nodes)
            if scale > 1:
                bounds.append(_dot(merged, flow) * scale)
            else:
                bounds.extend(_dot(cost[g], flow) for g in range(goal, upto))
            scales.extend([scale] * (upto - goal))
            goal = upto
        if face_after >= self.goals:
            face_high = high
        assert flow is not None
        return FlowResult(flow, bounds, scales, face_high)


@dataclass(frozen=True, eq=False)
class FlowResult:
    """`flow` (arcs,); per goal a proven lower bound, exact where `scale` is 1 and costs were not rounded."""

    flow: IntArray
    bounds: list[int]
    scales: list[int]
    face_high: IntArray
    """(arcs,) upper bounds on the optimal face of the first goals: an arc at its lower bound there is in no such optimum."""


def _spread(cost: IntArray, low: IntArray, high: IntArray) -> int:
    """No two flows within the bounds differ by more in this cost."""
    return int(np.sum(np.abs(cost).astype(np.float64) * (high - low))) + 1


def _together(cost: IntArray, low: IntArray, high: IntArray, goal: int, stop: int, nodes: int) -> int:
    """The first goal after `goal` that cannot be weighted into the same cost without leaving int64."""
    room = _HEADROOM // (4 * (nodes + 2))
    weight, upto = int(np.abs(cost[goal]).max(initial=0)), goal + 1
    while upto < stop:
        weight = (weight + 1) * (2 * _spread(cost[upto], low, high) + 1)
        if weight > room:
            break
        upto += 1
    return upto


def _merged(cost: IntArray, low: IntArray, high: IntArray, goal: int, upto: int, nodes: int) -> tuple[IntArray, int]:
    """One cost for goals `goal` to `upto` − 1: each outweighs all that come after it.

    A single goal whose costs are too large is rounded down to a resolution, the second result: bounds stay bounds.
    """
    merged = cost[goal]
    for g in range(goal + 1, upto):
        merged = merged * (2 * _spread(cost[g], low, high) + 1) + cost[g]
    if upto > goal + 1:
        return merged, 1
    top = int(np.abs(merged).max(initial=0))
    scale = max(1, -(-top * (nodes + 2) * 4 // _HEADROOM))
    return (merged // scale if scale > 1 else merged), scale


def _dot(cost: IntArray, flow: IntArray) -> int:
    """Exact Σ cost × flow, beyond int64 where need be."""
    used = flow != 0
    c, f = cost[used], flow[used]
    if len(c) == 0:
        return 0
    if int(np.abs(c).max()) * int(np.abs(f).max()) * len(c) < 1 << 62:
        return int(np.dot(c, f))
    return int(np.sum(c.astype(object) * f.astype(object)))


def _solve(tail: IntArray, head: IntArray, low: IntArray, high: IntArray, cost: IntArray, supply: IntArray) -> IntArray | None:
    """One cost, bounds low ≤ flow ≤ high, supplies that must be met."""
    net = supply.copy()
    np.subtract.at(net, tail, low)
    np.add.at(net, head, low)
    free = np.flatnonzero(high > low)
    if net.sum() != 0:
        return None
    solver = min_cost_flow.SimpleMinCostFlow()
    if len(free):
        solver.add_arcs_with_capacity_and_unit_cost(tail[free], head[free], (high - low)[free], cost[free])
    nodes = np.flatnonzero(net)
    if len(nodes):
        if not len(free) or nodes.max() > max(tail[free].max(), head[free].max()):
            return None  # a node without an arc cannot pass its supply on
        solver.set_nodes_supplies(nodes, net[nodes])
    flow = low.copy()
    if not len(free):
        return flow
    status = solver.solve()
    if status == solver.INFEASIBLE:
        return None
    if status != solver.OPTIMAL:
        raise FlowError(f"min-cost flow ended with {status}")
    flow[free] += solver.flows(np.arange(len(free)))
    return flow


def _optimal_face(
    tail: IntArray, head: IntArray, low: IntArray, high: IntArray, cost: IntArray, flow: IntArray, nodes: int
) -> tuple[IntArray, IntArray]:
    """Bounds that leave exactly the optimal flows: arcs of nonzero reduced cost are fixed at their flow."""
    forward, backward = np.flatnonzero(flow < high), np.flatnonzero(flow > low)
    source = np.concatenate([tail[forward], head[backward]])
    target = np.concatenate([head[forward], tail[backward]])
    length = np.concatenate([cost[forward], -cost[backward]])
    order = np.argsort(target, kind="stable")
    source, target, length = source[order], target[order], length[order]
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    reached = target[starts]
    distance = np.zeros(nodes, dtype=np.int64)
    for _ in range(nodes + 1):
        if not len(starts):
            break
        best = np.minimum.reduceat(distance[source] + length, starts)
        better = best < distance[reached]
        if not better.any():
            break
        distance[reached[better]] = best[better]
    else:
        raise FlowError("the flow is not optimal: a residual cycle has negative cost")
    fixed = cost + distance[tail] - distance[head] != 0
    return np.where(fixed, flow, low), np.where(fixed, flow, high)
