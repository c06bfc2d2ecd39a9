"""Improving a flow by augmenting paths: local search that knows when it is done, without a solver.

The greedy methods start from a flow that is nearly right and have the rest repaired here. An arc may carry a *soft share*,
whose imbalance e costs `SHARE` × e (e + 1) / 2: being outside of a share is possible but dear.

1. `mend` brings arcs into their shares. The surplus on an arc is lifted off and pushed to nodes with a deficit, along labels of
   distance (as in push-relabel: Goldberg and Tarjan, 1988), everywhere at once: a few rounds of array operations.
2. `cancel_cycles` saves cost: it sends units round cycles of negative cost (Klein, 1967), found by the labels of Bellman and
   Ford, from all nodes at once. A cycle is counted anew on the flow as it is before anything is sent, so the flow never gets
   worse. If the labels come to rest, they prove that no cycle is left: the flow is optimal.

Everything is deterministic: limits are numbers of rounds and of arcs looked at, never times.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from optassign_models.greedy.places import accept_pairs, rank_within
from optassign_models.policy.constants import LABEL_PASSES, LEAST_PASSES, PUSHING_ROUNDS
from optassign_models.problem import BoolArray, IntArray
from optassign_models.shares import ShareBounds

SHARE = 1 << 42
"""Cost of the first unit outside of a share: more than any path of other costs."""
_FAR = 1 << 61
"""More than any flow and any length of a path."""
_STEEPEST = 1 << 9
"""Marginal imbalance is cut off here, so that lengths of paths stay within int64."""


CompareCosts = Callable[[BoolArray, int, int], IntArray]
"""For (held, a, b): (N,) what a task's copy costs on client b more than on a; only tasks that one of the two holds count."""


class Exchange:
    """A flow that is to be improved, on arcs that are added in blocks."""

    def __init__(self) -> None:
        self.nodes = 0
        """How many nodes there are so far."""
        self.arcs = 0
        """How many arcs there are so far."""
        self._blocks: list[IntArray] = []

    def add_nodes(self, number: int) -> IntArray:
        """Adds nodes and returns their ids, (number,)."""
        self.nodes += number
        return np.arange(self.nodes - number, self.nodes, dtype=np.int64)

    def add_arcs(
        self,
        tail: IntArray,
        head: IntArray,
        flow: npt.NDArray[np.integer | np.bool_],
        *,
        high: IntArray | int = _FAR,
        cost: IntArray | int = 0,
        share: ShareBounds | None = None,
    ) -> slice:
        """Adds a block of arcs (n,) and returns its place among all arcs.

        Args:
            tail, head: nodes.
            flow: present units on each arc, from 0 to `high`.
            high: most units that each arc can take.
            cost: of one unit.
            share: soft bounds of the flow; being outside of them is possible, but dear.
        """
        block = np.empty((_Search.ROWS, len(tail)), dtype=np.int64)
        low, top = (0, _FAR) if share is None else (share.low, share.high)
        for row, value in enumerate((tail, head, high, cost, low, top, flow)):
            block[row] = value
        self._blocks.append(block)
        self.arcs += len(tail)
        return slice(self.arcs - len(tail), self.arcs)

    def improve(self, effort: int) -> IntArray:
        """(arcs,) the flow after it was improved.

        `effort`: arcs to examine for saving costs; with 0 arcs are only brought into their shares.
        """
        if not self.arcs:
            return np.zeros(0, dtype=np.int64)
        search = _Search(self.nodes, np.concatenate(self._blocks, axis=1))
        search.mend()
        if effort >= LEAST_PASSES * self.arcs:
            search.cancel_cycles(effort)
        return search.flow


class _Search:
    """The flow while it is improved. Arrays are (m,), one element for each arc, but where noted.

    There are 2 m residual arcs: i < m is arc i forwards, i + m is the same arc backwards.
    """

    ROWS = 7
    """Rows of the table of arcs: tail, head, high, cost, first and last flow inside the soft share, flow."""

    def __init__(self, nodes: int, table: IntArray) -> None:
        self.nodes, self.m = nodes, table.shape[1]
        self.tail, self.head, self.high, self.cost, self.first, self.last, self.flow = table
        # (2 m,) sources of the residual arcs; the arcs that leave node v are order[starts[v]: starts[v + 1]].
        self.source = np.concatenate([self.tail, self.head])
        self.target = np.concatenate([self.head, self.tail])
        self.order = np.argsort(self.source, kind="stable")
        self.starts = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.source, minlength=nodes), out=self.starts[1:])
        self._lists: list[list[int]] = []

    def mend(self) -> None:
        """Brings arcs into their shares, and where that cannot be, lets them out again."""
        low, high = self.first, np.minimum(self.high, self.last)
        lifted = self.flow - np.clip(self.flow, low, high)
        if not lifted.any():
            return
        spare = np.zeros(self.nodes, dtype=np.int64)
        np.add.at(spare, self.tail, lifted)
        np.subtract.at(spare, self.head, lifted)
        self.flow -= lifted
        for _ in range(PUSHING_ROUNDS):
            if not self._push(spare, low, high):
                break
        while spare.any() and self._push(spare, np.zeros_like(low), self.high):
            pass

    def _push(self, spare: IntArray, low: IntArray, high: IntArray) -> int:
        """Moves units from nodes that have them to spare to nodes that lack some (spare < 0), along shortest paths.

        Returns how many units arrived. `spare` (nodes,) and the flow are changed in place.
        """
        m = self.m
        room = np.concatenate([self.flow < high, self.flow > low])
        distance = self._label_distances(spare, room)
        lacking = -int(np.minimum(spare, 0).sum())
        cost = np.concatenate([self.cost, -self.cost])
        while True:
            some = self._list_leaving(np.flatnonzero((spare > 0) & (distance > 0) & (distance <= self.nodes)))
            some = some[room[some] & (distance[self.target[some]] == distance[self.source[some]] - 1)]
            some = some[np.lexsort((cost[some], self.source[some]))]
            some = some[rank_within(self.source[some]) < spare[self.source[some]]]
            some = some[rank_within(self.target[some]) < np.maximum(-spare[self.target[some]], 1)]
            if not len(some):
                return lacking + int(np.minimum(spare, 0).sum())
            arc = some % m
            self.flow[arc] += np.where(some < m, 1, -1)
            room[arc], room[arc + m] = self.flow[arc] < high[arc], self.flow[arc] > low[arc]
            np.subtract.at(spare, self.source[some], 1)
            np.add.at(spare, self.target[some], 1)

    def _label_distances(self, spare: IntArray, room: BoolArray) -> IntArray:
        """(nodes,) residual arcs with room (2 m,) on the way to the next node that lacks units (spare < 0).

        Nodes that are further than all those with units to spare may stay without a distance: more than `nodes`.
        """
        m, far = self.m, self.nodes + 1
        distance = np.full(self.nodes, far, dtype=np.int64)
        frontier = np.flatnonzero(spare < 0)
        distance[frontier] = step = 0
        while len(frontier) and np.any(distance[spare > 0] == far):
            step += 1
            back = self._list_leaving(frontier)
            back = back[room[np.where(back < m, back + m, back - m)]]
            there = self.target[back]
            there = there[distance[there] == far]
            distance[there] = step
            frontier = np.unique(there)
        return distance

    def cancel_cycles(self, budget: int) -> None:
        """Cancels cycles of negative cost until there are none, or the budget is spent."""
        length = self._compute_lengths(np.arange(self.m)).ravel()
        label, via = np.zeros(self.nodes, dtype=np.int64), np.full(self.nodes, -1, dtype=np.int64)
        frontier, passes = np.arange(self.nodes), 0
        while len(frontier) and budget > 0:
            some = self.order if 3 * len(frontier) > self.nodes else self._list_leaving(frontier)
            budget -= len(some)
            reach, target = label[self.source[some]] + length[some], self.target[some]
            better = reach < label[target]
            some, reach, target = some[better], reach[better], target[better]
            np.minimum.at(label, target, reach)
            best = reach == label[target]
            via[target[best]] = some[best]
            fell = np.zeros(self.nodes, dtype=np.bool_)
            fell[target] = True
            frontier = np.flatnonzero(fell)
            passes += 1
            if passes % LABEL_PASSES == 0 and len(frontier):
                on_cycle = self._find_nodes_on_cycles(via)
                changed = self._cancel_found(on_cycle, via)
                via[on_cycle] = -1
                length[changed], length[changed + self.m] = self._compute_lengths(changed)
                frontier = np.union1d(frontier, np.concatenate([self.tail[changed], self.head[changed]]))

    def _compute_lengths(self, some: IntArray) -> IntArray:
        """(2, n) cost of one more unit on the arcs (n,), and of one less; `_FAR` where there is no room for it."""
        flow, cost, share = self.flow[some], self.cost[some], ShareBounds(self.first[some], self.last[some])

        def price_next(flow: IntArray) -> IntArray:
            """The share's cost at flow + 1 less that at flow."""
            return SHARE * np.clip(share.next_imbalance(flow), -_STEEPEST, _STEEPEST)

        more = np.where(flow < self.high[some], cost + price_next(flow), _FAR)
        less = np.where(flow > 0, -cost - price_next(flow - 1), _FAR)
        return np.stack([more, less])

    def _list_leaving(self, nodes: IntArray) -> IntArray:
        """Residual arcs that leave the nodes, node by node, with and without room."""
        begin, number = self.starts[nodes], self.starts[nodes + 1] - self.starts[nodes]
        ends = np.cumsum(number)
        total = int(ends[-1]) if len(ends) else 0
        return self.order[np.arange(total) + np.repeat(begin - ends + number, number)]

    def _find_nodes_on_cycles(self, via: IntArray) -> IntArray:
        """Nodes on cycles of the labels' arcs: following `via` backwards often enough ends on a cycle, if there is one."""
        jump = np.where(via >= 0, self.source[via], np.arange(self.nodes))
        for _ in range(self.nodes.bit_length()):
            jump = jump[jump]
        found = np.unique(jump)
        return found[via[found] >= 0]

    def _cancel_found(self, on_cycle: IntArray, via: IntArray) -> IntArray:
        """Sends one unit round each of these cycles, if that still saves cost, and returns the arcs whose flow changed."""
        done: set[int] = set()
        changed: set[int] = set()
        for start in on_cycle.tolist():
            path, node = [], start
            while node not in done:
                done.add(node)
                path.append(int(via[node]))
                node = int(self.source[path[-1]])
            if path and node == start and self._send_round(path):
                changed.update(arc % self.m for arc in path)
        return np.array(sorted(changed), dtype=np.int64)

    def _send_round(self, path: list[int]) -> bool:
        """Sends one unit round a cycle of residual arcs; False, and nothing done, where there is no room or nothing saved."""
        if not self._lists:
            self._lists = [row.tolist() for row in (self.high, self.cost, self.first, self.last, self.flow)]
        high, cost, first, last, flow = self._lists
        total = 0
        for arc in path:
            i, back = arc % self.m, arc >= self.m
            at = flow[i] - back
            if not 0 <= at < high[i]:
                return False
            step = at - first[i] if at < first[i] else max(at + 1 - last[i], 0)
            total += -(cost[i] + SHARE * step) if back else cost[i] + SHARE * step
        if total >= 0:
            return False
        for arc in path:
            i, unit = arc % self.m, -1 if arc >= self.m else 1
            flow[i] += unit
            self.flow[i] += unit
        return True


def round_cells(optional: BoolArray, gain: IntArray, rows: IntArray, least: IntArray, most: IntArray) -> BoolArray:
    """(G, C) which cells get one more: `rows[g]` in each row, `least[c]` to `most[c]` in each column, of much gain.

    If rows and columns cannot all be kept, most of them are.

    Args:
        optional: (G, C) cells that may get one more.
        gain: (G, C) ≥ 0.
        rows: (G,) how many cells of each row.
        least, most: (C,) for each column.
    """
    rows = np.clip(rows, 0, optional.sum(axis=1))
    most = np.minimum(most, optional.sum(axis=0))
    least = np.minimum(least, most)
    taken = _take_best_cells(optional & (gain > 0), gain, rows, least, most)
    _fill_rows(optional, taken, rows, _spread_over_columns(taken, int(rows.sum()), least, most))
    right = np.array_equal(taken.sum(axis=1), rows) and ShareBounds(least, most).holds(taken.sum(axis=0))
    return taken if right else _mend_by_paths(optional, gain, taken, rows, least, most)


def _take_best_cells(cells: BoolArray, gain: IntArray, rows: IntArray, least: IntArray, most: IntArray) -> BoolArray:
    """(G, C) first up to `least` in each column, then as many more as leave enough for every other column's least."""
    taken = np.zeros(cells.shape, dtype=np.bool_)
    row, column = np.nonzero(cells)
    order = np.argsort(-gain[row, column], kind="stable")
    sure = accept_pairs(order, column, least, row, rows)
    taken[row[sure], column[sure]] = True
    spare = int(rows.sum() - least.sum())
    if spare > 0:
        held = taken.sum(axis=0)
        room = np.where(held >= least, most - held, 0)
        more = accept_pairs(order[~sure[order]], column, room, row, rows - taken.sum(axis=1))
        best = order[more[order]][:spare]
        taken[row[best], column[best]] = True
    return taken


def _spread_over_columns(taken: BoolArray, total: int, least: IntArray, most: IntArray) -> IntArray:
    """(C,) the number of cells of each column: its present or needed ones, and in turn one more until `total` is reached."""
    goal = np.maximum(least, taken.sum(axis=0))
    for _ in range(int(np.max(most - goal, initial=0))):
        missing = total - int(goal.sum())
        if missing <= 0:
            break
        goal[np.flatnonzero(goal < most)[:missing]] += 1
    return goal


def _fill_rows(optional: BoolArray, taken: BoolArray, rows: IntArray, goal: IntArray) -> None:
    """In place: rows with least choice come first; each takes the columns that lack most of their goal (C,)."""
    want = goal - taken.sum(axis=0)
    left = rows - taken.sum(axis=1)
    choice = np.count_nonzero(optional & ~taken & (want > 0), axis=1) - left
    for row in np.argsort(choice, kind="stable").tolist():
        if left[row] > 0:
            can = np.flatnonzero(optional[row] & ~taken[row] & (want > 0))
            best = can[np.argsort(-want[can], kind="stable")[: left[row]]]
            taken[row, best] = True
            want[best] -= 1


def _mend_by_paths(
    optional: BoolArray, gain: IntArray, taken: BoolArray, rows: IntArray, least: IntArray, most: IntArray
) -> BoolArray:
    """(G, C) the cells after augmenting paths repair rows that lack some and columns outside of their bounds."""
    G, C = optional.shape
    network = Exchange()
    hub, row_nodes, column_nodes = (network.add_nodes(n) for n in (1, G, C))
    row, column = np.nonzero(optional)
    network.add_arcs(np.repeat(hub, G), row_nodes, taken.sum(axis=1), share=ShareBounds(rows, rows))
    on = network.add_arcs(row_nodes[row], column_nodes[column], taken[row, column], high=1, cost=-gain[row, column])
    network.add_arcs(column_nodes, np.repeat(hub, C), taken.sum(axis=0), share=ShareBounds(least, most))
    mended = np.zeros((G, C), dtype=np.bool_)
    mended[row, column] = network.improve(0)[on] > 0
    return mended


def swap_copies(held: BoolArray, group: IntArray, compare_costs: CompareCosts, budget: int) -> BoolArray:
    """(N, C) the copies after the swaps; each row keeps its number of copies, each client its number by subtopology.

    Args:
        held: (N, C) copies of each task.
        group: (N,) subtopology of each task, ascending.
        compare_costs: what decides between two clients.
        budget: rows to sort, at most.
    """
    held = held.copy()
    C = held.shape[1]
    changed = True
    while changed and budget > 0:
        changed = False
        for a in range(C):
            for b in range(a + 1, C):
                rows = np.flatnonzero(held[:, a] != held[:, b])
                if not len(rows):
                    continue
                budget -= len(rows)
                on_a = _share_out(held[rows, a], group[rows], compare_costs(held, a, b)[rows])
                if np.any(on_a != held[rows, a]):
                    changed = True
                    held[rows, a], held[rows, b] = on_a, ~on_a
    return held


def _share_out(on_a: BoolArray, group: IntArray, cost: IntArray) -> BoolArray:
    """(n,) the tasks that go to the first of two clients: as many of each subtopology as it has, the cheapest there.

    Args:
        on_a: (n,) the tasks that it has.
        group: (n,) subtopology of each task, ascending.
        cost: (n,) what the task costs on the other client more than here.
    """
    order = np.lexsort((~on_a, -cost, group))  # among equals, the present copies stay
    of_group = group[order]
    place = np.arange(len(group)) - np.searchsorted(of_group, of_group)
    number = np.bincount(group[on_a], minlength=int(group[-1]) + 1)
    stays = np.empty(len(group), dtype=np.bool_)
    stays[order] = place < number[of_group]
    return stays
