"""Improving a flow by augmenting cycles of negative cost: local search that knows when it is done, without a solver.

The greedy methods start from a flow that is nearly right and mend what is left here: an arc may carry a *soft window*, whose
excess e costs weight × e (e + 1) / 2, so that being outside of a window is only dear, and repairing it is one more
improvement. A round searches the residual arcs by labels (Bellman, Ford; all nodes that changed at once, as array operations)
and then walks back the paths it found, one by one, each counted anew on the flow as it has become. So a round mends many
things, a wrong turn costs nothing, and the flow is never worse than it was.

Everything is deterministic: limits are numbers of rounds and passes, never times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .problem import BoolArray, IntArray
from .windows import Window

_FAR = 1 << 61
_STEEPEST = 1 << 9
WINDOW = 1 << 42
"""Marginal excess is cut off here, so that lengths of paths stay within int64."""
_PASSES = 80
_LOOK = 6
"""Passes between two looks for a cycle."""


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
        weight: int = 0,
    ) -> slice:
        """A block of arcs with their present flow; its place among all arcs comes back."""
        n = max(np.size(tail), np.size(head))
        block = np.empty((9, n), dtype=np.int64)
        inside = (0, _FAR) if window is None else (window.low.ravel(), window.high.ravel())
        for row, value in enumerate((tail, head, low, high, cost, *inside, weight, flow)):
            block[row] = value
        self._blocks.append(block)
        place = slice(self.arcs, self.arcs + n)
        self.arcs += n
        return place

    def improved(self, roots: IntArray, rounds: int, budget: int) -> IntArray:
        if not self.arcs:
            return np.zeros(0, dtype=np.int64)
        search = _Search(self.nodes, np.concatenate(self._blocks, axis=1))
        for _ in range(rounds):
            if not len(roots) or not search.through(roots):
                break
        if budget:
            search.anywhere(budget)
        self.stats = search.stats
        return search.flow


class _Search:
    """Residual arcs: i < m is arc i forwards, i + m backwards."""

    def __init__(self, nodes: int, table: IntArray) -> None:
        self.nodes, self.m = nodes, table.shape[1]
        self.tail, self.head, self.low, self.high, self.cost, self.first, self.last, self.weight, self.flow = table
        self.source = np.concatenate([self.tail, self.head])
        self.target = np.concatenate([self.head, self.tail])
        self.order = np.argsort(self.source, kind="stable")
        self.starts = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.source, minlength=nodes), out=self.starts[1:])
        self.rows = [row.tolist() for row in (*table, self.source)]
        self.stats = []
        self.scanned = 0
        self.length = self._length(slice(None))

    def _length(self, some: IntArray) -> IntArray:
        """(2, n) cost of one more unit on some arcs, forwards and backwards; far where there is no room for it."""
        flow, first, last, cost, weight = self.flow[some], self.first[some], self.last[some], self.cost[some], self.weight[some]
        more = cost + weight * np.clip(
            np.where(flow < first, flow - first, np.maximum(flow + 1 - last, 0)), -_STEEPEST, _STEEPEST
        )
        flow1 = flow - 1
        less = cost + weight * np.clip(
            np.where(flow1 < first, flow1 - first, np.maximum(flow - last, 0)), -_STEEPEST, _STEEPEST
        )
        return np.concatenate([np.where(flow < self.high[some], more, _FAR), np.where(flow > self.low[some], -less, _FAR)])

    def _relax(self, label: IntArray, via: IntArray, frontier: IntArray, allowed=None) -> IntArray:
        """One pass from the frontier; the nodes whose label fell."""
        if 3 * len(frontier) > self.nodes:
            some = self.order
        else:
            begin = self.starts[frontier]
            number = self.starts[frontier + 1] - begin
            ends = np.cumsum(number)
            if not len(ends) or not ends[-1]:
                return frontier[:0]
            some = self.order[np.arange(ends[-1]) + np.repeat(begin - ends + number, number)]
        self.scanned += len(some)
        reach = label[self.source[some]] + self.length[some]
        target = self.target[some]
        better = reach < label[target]
        if allowed is not None:
            better &= allowed[target]
        some, reach, target = some[better], reach[better], target[better]
        np.minimum.at(label, target, reach)
        best = reach == label[target]
        via[target[best]] = some[best]
        fell = np.zeros(self.nodes, dtype=np.bool_)
        fell[target] = True
        return np.flatnonzero(fell)

    def through(self, roots: IntArray) -> int:
        """Cancels cycles through the roots; how many."""
        self.length = self._length(slice(None))
        pinned = np.zeros(self.nodes, dtype=np.bool_)
        pinned[roots] = True
        label = np.full(self.nodes, _FAR - 1, dtype=np.int64)
        label[roots] = 0
        via = np.full(self.nodes, -1, dtype=np.int64)
        frontier = roots
        n = 0
        for step in range(1, _PASSES + 1):
            frontier = self._relax(label, via, frontier, ~pinned)
            n += 1
            if not len(frontier):
                break
            if step % _LOOK == 0:
                on_cycle = self._cycles(via)
                if len(on_cycle):
                    c = self._cancel(via[on_cycle].tolist(), via, np.zeros(self.nodes, dtype=np.bool_))[0]
                    self.stats.append(("tc", n, len(on_cycle), c))
                    return c
        closing = np.flatnonzero((self.length < _FAR) & pinned[self.target] & (label[self.source] < _FAR - 1))
        value = label[self.source[closing]] + self.length[closing]
        closing, value = closing[value < 0], value[value < 0]
        c = self._cancel(closing[np.lexsort((closing, value))].tolist(), via, pinned)[0]
        self.stats.append(("t", n, len(closing), c))
        return c

    def anywhere(self, budget: int) -> int:
        """Cancels cycles of negative cost wherever they are; how many. 0: there are none (or none within the passes)."""
        self.length = self._length(slice(None))
        label, via = np.zeros(self.nodes, dtype=np.int64), np.full(self.nodes, -1, dtype=np.int64)
        frontier = np.arange(self.nodes)
        nobody = np.zeros(self.nodes, dtype=np.bool_)
        self.scanned = 0
        cc = 0
        step = 0
        while len(frontier) and self.scanned < budget * 2 * self.m:
            step += 1
            frontier = self._relax(label, via, frontier)
            if step % _LOOK == 0 and len(frontier):
                on_cycle = self._cycles(via)
                if len(on_cycle):
                    c, touched = self._cancel(via[on_cycle].tolist(), via, nobody)
                    cc += c
                    if touched:
                        arcs = np.unique(np.array(touched))
                        length = self._length(arcs)
                        self.length[arcs] = length[: len(arcs)]
                        self.length[arcs + self.m] = length[len(arcs) :]
                        frontier = np.union1d(frontier, np.concatenate([self.tail[arcs], self.head[arcs]]))
                    via[on_cycle] = -1
        self.stats.append(("g", step, self.scanned / 2 / self.m, cc, len(frontier)))
        return cc

    def _cycles(self, via: IntArray) -> IntArray:
        """Nodes that come back to themselves."""
        jump = np.where(via >= 0, self.source[via], np.arange(self.nodes))
        last = via < 0
        for _ in range(self.nodes.bit_length()):
            jump = jump[jump]
        found = np.unique(jump)
        return found[~last[found]]

    def _cancel(self, closing: list[int], via: IntArray, pinned: BoolArray) -> int:
        """Walks back from each closing arc until its cycle closes, and sends one unit round if that still pays."""
        back, ends, source = via.tolist(), pinned.tolist(), self.rows[9]
        target = self.target
        cancelled = 0
        touched = []
        for arc in closing:
            end = int(target[arc])
            path, seen = [arc], {end}
            node = source[arc]
            while node not in seen and not ends[node] and back[node] >= 0:
                seen.add(node)
                path.append(back[node])
                node = source[back[node]]
            if node != end:
                if ends[node] or back[node] < 0:
                    continue
                # A cycle off the root: keep its part of the path.
                start = next(i for i in range(len(path)) if target[path[i]] == node)
                path = path[start:]
            if self._send(path):
                cancelled += 1
                touched.extend(a if a < self.m else a - self.m for a in path)
        return cancelled, touched

    def _send(self, path: list[int]) -> int:
        _, _, low, high, cost, first, last, weight, flow, _ = self.rows
        m, total = self.m, 0
        for arc in path:
            i, back = (arc, 0) if arc < m else (arc - m, 1)
            at = flow[i] - back
            if not (low[i] <= at < high[i]):
                return 0
            step = at - first[i] if at < first[i] else max(at + 1 - last[i], 0)
            unit = cost[i] + weight[i] * step
            total += -unit if back else unit
        if total >= 0:
            return 0
        for arc in path:
            i, step = (arc, 1) if arc < m else (arc - m, -1)
            flow[i] += step
            self.flow[i] += step
        return 1
