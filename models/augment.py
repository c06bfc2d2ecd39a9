"""Improving a flow by augmenting paths: local search that knows when it is done, without a solver.

The greedy methods start from a flow that is nearly right and mend what is left here. An arc may carry a *soft window*, whose
excess e costs `WINDOW` × e (e + 1) / 2: so being outside of a window is possible but dear, and a flow is improved by sending
one unit round a cycle of negative cost. Cycles are found in two ways:

* `mend`: for each arc outside of its window the cheapest way round, by Dijkstra's labels from the arc's own end. Few arcs are
  outside, and the way is mostly short.
* `anywhere`: any cycle of negative cost, by Bellman's and Ford's labels, from all nodes at once as array operations. Where the
  labels come to rest, they prove that no cycle is left, so the flow is optimal.

A cycle is counted anew on the flow as it is before anything is sent, so the flow never gets worse. Everything is deterministic:
limits are numbers of arcs looked at, never times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .problem import IntArray
from .quotas import rank_within
from .windows import Window

WINDOW = 1 << 42
_FAR = 1 << 61
_STEEPEST = 1 << 9
"""Marginal excess is cut off here, so that lengths of paths stay within int64."""
_PASSES = 6
"""Passes of the labels between two looks for cycles."""
_ROUNDS = 40
"""Length of an arc that costs nothing: short ways first."""
_SEARCH = 20_000
"""Arcs that one search for a way round looks at, at most."""


@dataclass
class Exchange:
    """A flow on arcs that are added in blocks; `low` ≤ flow ≤ `high` always holds, soft windows cost."""

    nodes: int = 0
    arcs: int = 0
    _blocks: list[IntArray] = field(default_factory=list)

    def add_nodes(self, number: int) -> IntArray:
        """Ids of new nodes, (number,)."""
        first = self.nodes
        self.nodes += number
        return np.arange(first, self.nodes, dtype=np.int64)

    def add_arcs(
        self,
        tail: IntArray,
        head: IntArray,
        flow: IntArray | int,
        *,
        low: IntArray | int = 0,
        high: IntArray | int = _FAR,
        cost: IntArray | int = 0,
        window: Window | None = None,
    ) -> slice:
        """A block of arcs with their present flow; its place among all arcs comes back."""
        n = max(np.size(tail), np.size(head))
        block = np.empty((8, n), dtype=np.int64)
        inside = (0, _FAR) if window is None else (window.low.ravel(), window.high.ravel())
        for row, value in enumerate((tail, head, low, high, cost, *inside, flow)):
            block[row] = value
        self._blocks.append(block)
        place = slice(self.arcs, self.arcs + n)
        self.arcs += n
        return place

    def improved(self, effort: int) -> IntArray:
        """(arcs,) the flow after improvement; `effort`: arcs to look at for saving costs."""
        if not self.arcs:
            return np.zeros(0, dtype=np.int64)
        search = _Search(self.nodes, np.concatenate(self._blocks, axis=1))
        search.mend()
        if effort:
            search.anywhere(effort)
        self.stats = search.stats
        return search.flow


class _Search:
    """Residual arcs: i < m is arc i forwards, i + m backwards."""

    def __init__(self, nodes: int, table: IntArray) -> None:
        self.nodes, self.m = nodes, table.shape[1]
        self.tail, self.head, self.low, self.high, self.cost, self.first, self.last, self.flow = table
        self.source = np.concatenate([self.tail, self.head])
        self.target = np.concatenate([self.head, self.tail])
        self.order = np.argsort(self.source, kind="stable")
        self.starts = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.source, minlength=nodes), out=self.starts[1:])
        self.rows: list[list[int]] = []
        self.stats: list[object] = []

    def _lists(self) -> list[list[int]]:
        if not self.rows:
            table = (self.source, self.target, self.low, self.high, self.cost, self.first, self.last, self.flow)
            self.rows = [row.tolist() for row in table]
        return self.rows

    def mend(self) -> None:
        """Brings arcs into their windows, and where that cannot be, lets them out again.

        What is too much on an arc is lifted off and stands at its tail, where it seeks its way to where too little arrives:
        pushes along labels of distance, in all places at once.
        """
        low, high = np.maximum(self.low, self.first), np.minimum(self.high, self.last)
        inside = np.clip(self.flow, low, high)
        lifted = self.flow - inside
        if not lifted.any():
            return
        spare = np.bincount(self.tail, lifted, self.nodes) - np.bincount(self.head, lifted, self.nodes)
        spare = spare.astype(np.int64)
        self.flow[:] = inside
        s0 = int(np.maximum(spare, 0).sum())
        for _ in range(_ROUNDS):
            if not self._push(spare, low, high):
                break
        s1 = int(np.maximum(spare, 0).sum())
        while spare.any() and self._push(spare, self.low, self.high):
            pass
        self.stats.append(("mend", s0, s1, int(np.maximum(spare, 0).sum()), _))

    def _push(self, spare: IntArray, low: IntArray, high: IntArray) -> int:
        """Moves spare units to nodes that lack some, along shortest ways; how many arrived."""
        room = np.concatenate([self.flow < high, self.flow > low])
        far = self.nodes + 1
        distance = np.full(self.nodes, far, dtype=np.int64)
        frontier = np.flatnonzero(spare < 0)
        distance[frontier] = 0
        lacking = -int(spare[frontier].sum())
        waiting = spare > 0
        step = 0
        while len(frontier) and np.any(distance[waiting] == far):
            step += 1
            back = self._leaving(frontier)
            there = self.target[back]
            there = there[(distance[there] == far) & room[np.where(back < self.m, back + self.m, back - self.m)]]
            distance[there] = step
            frontier = np.unique(there)
        cost = np.concatenate([self.cost, -self.cost])
        while True:
            active = np.flatnonzero((spare > 0) & (distance > 0) & (distance < far))
            if not len(active):
                break
            some = self._leaving(active)
            some = some[(distance[self.target[some]] == distance[self.source[some]] - 1) & room[some]]
            some = some[np.lexsort((cost[some], self.source[some]))]
            some = some[rank_within(self.source[some]) < spare[self.source[some]]]
            some = some[rank_within(self.target[some]) < np.maximum(-spare[self.target[some]], 1)]
            if not len(some):
                break
            arc, back = np.where(some < self.m, some, some - self.m), some >= self.m
            self.flow[arc] += np.where(back, -1, 1)
            room[arc], room[arc + self.m] = self.flow[arc] < high[arc], self.flow[arc] > low[arc]
            np.subtract.at(spare, self.source[some], 1)
            np.add.at(spare, self.target[some], 1)
        return lacking + int(np.minimum(spare, 0).sum())

    def anywhere(self, budget: int) -> None:
        """Cancels cycles of negative cost until there are none, or the budget is spent."""
        length = self._length(np.arange(self.m)).ravel()
        label, via = np.zeros(self.nodes, dtype=np.int64), np.full(self.nodes, -1, dtype=np.int64)
        frontier = np.arange(self.nodes)
        passes = cc = 0
        b0 = budget
        while len(frontier) and budget > 0:
            some = self.order if 3 * len(frontier) > self.nodes else self._leaving(frontier)
            budget -= len(some)
            reach = label[self.source[some]] + length[some]
            target = self.target[some]
            better = reach < label[target]
            some, reach, target = some[better], reach[better], target[better]
            np.minimum.at(label, target, reach)
            best = reach == label[target]
            via[target[best]] = some[best]
            fell = np.zeros(self.nodes, dtype=np.bool_)
            fell[target] = True
            frontier = np.flatnonzero(fell)
            passes += 1
            if passes % _PASSES == 0 and len(frontier):
                on_cycle = self._on_cycles(via)
                if len(on_cycle):
                    changed = self._cancel(on_cycle.tolist(), via)
                    cc += len(changed) > 0
                    via[on_cycle] = -1
                    length[changed], length[changed + self.m] = self._length(changed)
                    frontier = np.union1d(frontier, np.concatenate([self.tail[changed], self.head[changed]]))
        self.stats.append(("any", passes, cc, b0 - budget, len(frontier)))

    def _length(self, some: IntArray) -> IntArray:
        """(2, n) cost of one more unit on arcs and of one less; far where there is no room for it."""
        flow, cost, first, last = self.flow[some], self.cost[some], self.first[some], self.last[some]

        def steps(flow: IntArray) -> IntArray:
            """Excess at flow + 1 minus excess at flow."""
            change = np.where(flow < first, flow - first, np.maximum(flow + 1 - last, 0))
            return WINDOW * np.clip(change, -_STEEPEST, _STEEPEST)

        more = np.where(flow < self.high[some], cost + steps(flow), _FAR)
        less = np.where(flow > self.low[some], -cost - steps(flow - 1), _FAR)
        return np.stack([more, less])

    def _leaving(self, nodes: IntArray) -> IntArray:
        """Residual arcs that leave the nodes, with and without room."""
        begin, end = self.starts[nodes], self.starts[nodes + 1]
        ends = np.cumsum(end - begin)
        return self.order[np.arange(ends[-1]) + np.repeat(end - ends, end - begin)]

    def _on_cycles(self, via: IntArray) -> IntArray:
        """Nodes that the labels' arcs, followed backwards, come back to."""
        jump = np.where(via >= 0, self.source[via], np.arange(self.nodes))
        for _ in range(self.nodes.bit_length()):
            jump = jump[jump]
        found = np.unique(jump)
        return found[via[found] >= 0]

    def _cancel(self, on_cycle: list[int], via: IntArray) -> IntArray:
        """Sends one unit round each of these cycles, if that still pays; the arcs whose flow changed."""
        source = self._lists()[0]
        done: set[int] = set()
        changed: set[int] = set()
        for start in on_cycle:
            path, node = [], start
            while node not in done:
                done.add(node)
                path.append(int(via[node]))
                node = source[path[-1]]
            if path and node == start and self._send(path):
                changed.update(arc if arc < self.m else arc - self.m for arc in path)
        return np.array(sorted(changed), dtype=np.int64)

    def _send(self, path: list[int]) -> bool:
        """Sends one unit round a cycle, if there is room and that saves anything."""
        _, _, low, high, cost, first, last, flow = self.rows
        total = 0
        for arc in path:
            i, back = (arc, 0) if arc < self.m else (arc - self.m, 1)
            at = flow[i] - back
            if not low[i] <= at < high[i]:
                return False
            step = at - first[i] if at < first[i] else max(at + 1 - last[i], 0)
            total += -(cost[i] + WINDOW * step) if back else cost[i] + WINDOW * step
        if total >= 0:
            return False
        for arc in path:
            i, step = (arc, 1) if arc < self.m else (arc - self.m, -1)
            flow[i] += step
            self.flow[i] += step
        return True
