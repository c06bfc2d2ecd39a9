"""Units on the arcs of a network, brought within lower and upper bounds along shortest augmenting paths.

A search labels each node with its distance to the nearest node that lacks units. Then all spare units advance one arc at a time
along shortest paths (Dinic, 1970). The length of an arc is 1 or its cost. With costs, and a start without a cycle of negative
cost, the result is a flow of least cost (successive shortest paths: Ahuja, Magnanti and Orlin, Network Flows, ch. 9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optassign_models.policy.constants import WIDTHS
from optassign_models.problem import BoolArray, IntArray, rank_within
from optassign_models.shares import ShareBounds

FAR = 1 << 40
"""More than any number of units."""
_NONE = 1 << 62
"""More than the length of any path."""


class Network:
    """A network of arcs with bounds and first units, added in blocks."""

    def __init__(self) -> None:
        self._supply: list[IntArray] = []
        self._blocks: list[IntArray] = []
        self._nodes = self._arcs = 0

    def add_nodes(self, supply: IntArray) -> IntArray:
        """Add nodes with this external supply (n,), in units; return their ids (n,)."""
        self._supply.append(supply)
        self._nodes += len(supply)
        return np.arange(self._nodes - len(supply), self._nodes)

    def add_arcs(
        self,
        tail: IntArray,
        head: IntArray,
        flow: npt.NDArray[np.integer | np.bool_],
        bounds: ShareBounds,
        *,
        cost: IntArray | int = 0,
        weight: int = 0,
    ) -> slice:
        """Add arcs (n,); return their place among all arcs.

        Args:
            tail, head: nodes.
            flow: units to begin with.
            bounds: least and most units.
            cost: of one unit; equally short paths take the cheapest arcs first.
            weight: 0 for bounds that always hold. If not all bounds can hold, the least positive weight gives way first.
        """
        block = np.empty((7, len(tail)), dtype=np.int64)
        for row, value in enumerate((tail, head, flow, bounds.low, bounds.high, cost, weight)):
            block[row] = value
        self._blocks.append(block)
        self._arcs += len(tail)
        return slice(self._arcs - len(tail), self._arcs)

    def fill(self, *, by_cost: bool) -> tuple[IntArray, bool]:
        """Return units (arcs,) within the bounds that hold, and whether the whole supply was routed."""
        filling = _Filling(np.concatenate(self._supply), np.concatenate(self._blocks, axis=1), by_cost)
        is_filled = filling.run()
        return filling.flow, is_filled


class _Filling:
    """The residual network: arc i < m forwards, and arc i + m backwards."""

    def __init__(self, supply: IntArray, table: IntArray, by_cost: bool) -> None:
        self.supply, self.m = supply, table.shape[1]
        tail, head, self.flow, self.low, self.high, cost, self.weight = table
        self.source, self.target = np.concatenate([tail, head]), np.concatenate([head, tail])
        cost = np.concatenate([cost, -cost])
        self.by_cost, self.is_strict = by_cost, not self.weight.any()
        self.length = cost * (4 * len(supply)) + 1 if by_cost else np.ones_like(cost)
        later = np.arange(self.m)  # among equals the last leaves a node first: clients keep their smallest tasks
        self.order = np.lexsort((np.append(later, -later), cost, self.source))
        self.starts = np.searchsorted(self.source[self.order], np.arange(len(supply) + 1))

    def run(self) -> bool:
        """Route the supply, widening bounds weight by weight if necessary. Return whether all supply was routed."""
        for weight in np.unique(self.weight):
            for width in (0, *WIDTHS, FAR) if weight else (0,):
                gives_way = (self.weight > 0) & (self.weight <= weight)
                low = np.where(gives_way, 0, self.low)
                high = self.high + np.where(gives_way, np.where(self.weight < weight, FAR, width), 0)
                if self._fill(low, high):
                    return True
                self.by_cost, self.length = False, np.ones_like(self.length)  # wider bounds open cycles of negative cost
        return False

    def _fill(self, low: IntArray, high: IntArray) -> bool:
        """Route the supply within these bounds. Return whether all supply was routed."""
        self.flow = np.clip(self.flow, low, high)
        spare = self.supply.copy()
        np.subtract.at(spare, self.source[: self.m], self.flow)
        np.add.at(spare, self.target[: self.m], self.flow)
        while spare.any() and self._bring_nearer(spare, low, high):
            pass
        return not spare.any()

    def _bring_nearer(self, spare: IntArray, low: IntArray, high: IntArray) -> bool:
        """Route spare units along shortest paths to nodes with `spare` < 0, in place. Return whether any arrived.

        If more nodes lack units than have spare ones, their deficits travel against the arcs instead.
        """
        m, begun = self.m, int(np.abs(spare).sum())
        sign = 1 if np.count_nonzero(spare > 0) >= np.count_nonzero(spare < 0) else -1
        spare *= sign
        more, less = self.flow < high, self.flow > low
        room, length = (np.append(more, less), self.length) if sign > 0 else (np.append(less, more), np.roll(self.length, m))
        distance = self._label(spare, room, length)
        if self.is_strict and np.any(distance[spare > 0] == _NONE):
            return False
        at_arc = distance[self.source[self.order]]
        leads = (at_arc < _NONE) & (at_arc == distance[self.target[self.order]] + length[self.order]) & room[self.order]
        order = self.order[leads]
        starts = np.append(0, np.cumsum(np.bincount(self.source[order], minlength=len(spare))))
        most = np.where(spare < 0, -spare, np.maximum(np.diff(starts), 1))  # units that can go on from a node
        while True:
            some = _list_leaving(order, starts, np.flatnonzero(spare > 0))
            some = some[room[some]]
            some = some[rank_within(self.source[some]) < spare[self.source[some]]]
            some = some[rank_within(self.target[some]) < most[self.target[some]]]
            if not len(some):
                spare *= sign
                return int(np.abs(spare).sum()) < begun
            arc = some % m
            self.flow[arc] += np.where(some < m, sign, -sign)
            more, less = self.flow[arc] < high[arc], self.flow[arc] > low[arc]
            room[arc], room[arc + m] = (more, less) if sign > 0 else (less, more)
            np.subtract.at(spare, self.source[some], 1)
            np.add.at(spare, self.target[some], 1)

    def _label(self, spare: IntArray, room: BoolArray, length: IntArray) -> IntArray:
        """Return lengths (nodes,) of shortest paths over arcs with room to nodes with `spare` < 0; `_NONE` without a path."""
        distance = np.where(spare < 0, 0, _NONE)
        frontier = np.flatnonzero(spare < 0)
        while len(frontier) and (self.by_cost or np.any(distance[spare > 0] == _NONE)):
            arc = (_list_leaving(self.order, self.starts, frontier) + self.m) % (2 * self.m)
            arc = arc[room[arc]]
            reach = distance[self.target[arc]] + length[arc]
            shorter = reach < distance[self.source[arc]]
            fell = np.zeros(len(distance), dtype=np.bool_)
            fell[self.source[arc[shorter]]] = True
            np.minimum.at(distance, self.source[arc[shorter]], reach[shorter])
            frontier = np.flatnonzero(fell)
        return distance


def _list_leaving(order: IntArray, starts: IntArray, nodes: IntArray) -> IntArray:
    """Return the arcs of `order`, sorted by source, that leave the nodes."""
    number = starts[nodes + 1] - starts[nodes]
    ends = np.cumsum(number)
    return order[np.arange(int(number.sum())) + np.repeat(starts[nodes] - ends + number, number)]
