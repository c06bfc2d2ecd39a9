"""Choice of pairs of a task and a client within bounds of counts: keep the most valuable pairs, then fill counts up.

1. *Keep* (`_keep`): take pairs one by one while all counts have room, the greatest loss of a task first.
2. *Fill* (`_fill`): give each task that lacks pairs places in its pool, the clients without a valuable pair. Places go where
   counts are short. Shortest augmenting paths in a network (`Network`) then bring all counts within bounds.
3. *Deal* (`_deal`): give the places to tasks. If no task can take a place (R2), two tasks exchange clients.

Small groups start from each task's best pairs, and paths of least cost fill the counts.

In a network a search labels each node with its distance to the nearest node that lacks units. Then all spare units advance one
arc at a time along shortest paths (Dinic, 1970). The length of an arc is 1 or its cost. With costs, and a start without a cycle
of negative cost, the result is a flow of least cost (successive shortest paths: Ahuja, Magnanti, Orlin, Network Flows, ch. 9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optassign_models.policy.constants import DEALING_TURNS, EXACT_PAIRS, KEEPING_ROUNDS, WIDTHS
from optassign_models.problem import BoolArray, IntArray, Problem, rank_within
from optassign_models.shares import ShareBounds

FAR = 1 << 40
"""More than any number of units."""
_NONE = 1 << 62
"""More than the length of any path."""


class ArcTable:
    """The nodes and arcs of a network, to which both are added in blocks."""

    def __init__(self) -> None:
        self._supply: list[IntArray] = []
        self._blocks: list[IntArray] = []
        self._nodes = self._arcs = 0

    def add_nodes(self, supply: IntArray) -> IntArray:
        """Add nodes with this external supply (n,), in units, < 0 for demand; return their ids (n,)."""
        self._supply.append(supply)
        self._nodes += len(supply)
        return np.arange(self._nodes - len(supply), self._nodes)

    def _append(self, *values: npt.NDArray[np.integer | np.bool_] | int) -> slice:
        """Add arcs with these values, (n,) each or one for all; return their slice of all arcs."""
        self._blocks.append(np.stack(np.broadcast_arrays(*values)).astype(np.int64))
        first, self._arcs = self._arcs, self._arcs + self._blocks[-1].shape[1]
        return slice(first, self._arcs)


class Network(ArcTable):
    """A network with bounds and an initial flow on its arcs."""

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
        """Add arcs (n,); return their slice of all arcs.

        Args:
            tail, head: (n,) nodes.
            flow: (n,) initial units.
            bounds: (n,) least and most units.
            cost: cost of a unit; equally short paths take the cheapest arcs first.
            weight: 0 for bounds that always hold. If not all bounds can hold, the least positive weight gives way first.
        """
        return self._append(tail, head, flow, bounds.low, bounds.high, cost, weight)

    def fill(self, *, by_cost: bool) -> tuple[IntArray, bool]:
        """Return units (arcs,), and whether the whole supply was routed.

        If the supply does not fit within the bounds, they become wider, weight by weight.
        """
        tail, head, self.flow, low, high, cost, weights = np.concatenate(self._blocks, axis=1)
        # The residual network has arc i < m forwards, and arc i + m backwards.
        self.m, self.source, self.target = self._arcs, np.concatenate([tail, head]), np.concatenate([head, tail])
        cost = np.concatenate([cost, -cost])
        self.by_cost, self.is_strict = by_cost, not weights.any()
        self.length = cost * (4 * self._nodes) + 1 if by_cost else np.ones_like(cost)
        later = np.arange(self.m)  # among equals the last leaves a node first: clients keep their smallest tasks
        self.order = np.lexsort((np.append(later, -later), cost, self.source))
        self.starts = np.searchsorted(self.source[self.order], np.arange(self._nodes + 1))
        for weight in np.unique(weights):
            for width in (0, *WIDTHS, FAR) if weight else (0,):
                gives_way = (weights > 0) & (weights <= weight)
                most = high + np.where(gives_way, np.where(weights < weight, FAR, width), 0)
                if self._fill(np.where(gives_way, 0, low), most):
                    return self.flow, True
                self.by_cost, self.length = False, np.ones_like(self.length)  # wider bounds open cycles of negative cost
        return self.flow, False

    def _fill(self, low: IntArray, high: IntArray) -> bool:
        """Route the supply within these bounds. Return whether all supply was routed."""
        self.flow = np.clip(self.flow, low, high)
        spare = np.concatenate(self._supply)
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
        most = np.where(spare < 0, -spare, np.maximum(np.diff(starts), 1))  # units that a node can absorb or pass on
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


@dataclass(frozen=True, eq=False)
class Level:
    """Bounds (C,) of the number of pairs of some subtopologies (G,) on each client. Each level includes the level before."""

    bounds: ShareBounds
    counted: BoolArray
    weight: int
    """The weight of the bounds, as in `Network.add_arcs`."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """Pairs to choose. With weights 0 no pair is chosen unless all bounds can hold."""

    need: IntArray
    """(T,) pairs of each task."""
    worth: IntArray
    """(A,) gain of a column over a client of the pool; a column without gain counts as such a client."""
    allowed: BoolArray
    """(A,) whether the column may be chosen."""
    must: BoolArray
    """(A,) whether the column must be chosen."""
    pools: BoolArray
    """(T,) whether the task may be on clients of its pool."""
    cells: ShareBounds
    """(G, C) bounds of each subtopology's pairs on each client."""
    weight: int
    """Weight of the cells, as in `Network.add_arcs`."""
    levels: tuple[Level, ...]
    """Bounds per client, the innermost level first."""


def choose_pairs(problem: Problem, wanted: Wanted) -> tuple[IntArray, IntArray]:
    """Return sorted keys task × C + client (n,) of the pairs, and the task (k,) of each pair that found no client."""
    tasks = np.arange(problem.T)
    filled = _fill(problem, wanted) if problem.T else None
    if filled is None:
        return tasks[:0], np.repeat(tasks, wanted.need)
    keys, need, places = filled
    in_pool = np.where(wanted.pools, need, 0)
    group = problem.group[keys // problem.C]
    waits = np.bincount(problem.group, in_pool, problem.G) > 0
    dealt, lost = [keys[~waits[group]]], [np.repeat(tasks, need - in_pool)]
    for each in np.flatnonzero(waits).tolist():
        new, left = _deal(problem, wanted, each, in_pool, places[each], keys[group == each])
        dealt.append(new)
        lost.append(left)
    return np.sort(np.concatenate(dealt)), np.concatenate(lost)


def _order_columns(problem: Problem, wanted: Wanted) -> IntArray:
    """Return the columns with a gain: first the best `need` of each task, the greatest loss first; then the others."""
    column = np.flatnonzero((wanted.allowed & (wanted.worth > 0)) | wanted.must)
    column = column[np.lexsort((-wanted.worth[column], ~wanted.must[column]))]
    task = problem.col_task[column]
    place, need = rank_within(task), wanted.need[task]
    instead = np.zeros(problem.T, dtype=np.int64)
    instead[task[place == need]] = wanted.worth[column[place == need]]
    missed = wanted.worth[column] - np.where(place < need, instead[task], 0)
    return column[np.lexsort((-missed, place >= need, ~wanted.must[column]))]


def _take_in_order(order: IntArray, sides: list[tuple[IntArray, IntArray]]) -> IntArray:
    """Return the elements that a greedy choice in this order takes, each if all its sides still have room.

    `sides`: the side of each element, and the room of each side. Each round takes the elements that have room even if all
    earlier ones are taken. After `KEEPING_ROUNDS` rounds, elements that a greedy choice takes later may be missing.
    """
    taken, sides = [order[:0]], [(side, room.copy()) for side, room in sides]
    for _ in range(KEEPING_ROUNDS):
        for side, room in sides:
            order = order[room[side[order]] > 0]
        fits = np.ones(len(order), dtype=np.bool_)
        for side, room in sides:
            fits &= rank_within(side[order]) < room[side[order]]
        taken.append(order[fits])
        for side, room in sides:
            np.subtract.at(room, side[order[fits]], 1)
        order = order[~fits]
    return np.concatenate(taken)


def _keep(problem: Problem, wanted: Wanted, column: IntArray) -> BoolArray:
    """Return whether to keep each of the ordered columns (n,): up to the lower bounds of cells, then up to the upper ones."""
    T, G, C = problem.T, problem.G, problem.C
    task, client = problem.col_task[column], problem.col_client[column]
    group = problem.group[task]
    total = np.bincount(problem.group, wanted.need, G).astype(np.int64)
    # The second pass keeps the pairs of a subtopology for which clients with few candidates have no room.
    first = wanted.levels[0]
    listed = np.bincount(client[first.counted[group]], minlength=C)
    elsewhere = np.minimum(wanted.cells.high, np.maximum(first.bounds.high - listed, 0)).sum(axis=1)
    taken = wanted.must[column]
    nothing = np.zeros_like(wanted.cells.low)
    lows, highs = wanted.cells.low, wanted.cells.high
    for high, rest, low in ((lows, 0, nothing), (highs, elsewhere, nothing), (highs, 0, lows)):
        count = np.bincount(group[taken] * C + client[taken], minlength=G * C).reshape(G, C)
        sides = [(task, wanted.need - np.bincount(task[taken], minlength=T)), (group * C + client, (high - count).ravel())]
        sides.append((group, total - rest - np.maximum(count, low).sum(axis=1)))
        for level in wanted.levels:
            room = np.append(level.bounds.high - count[level.counted].sum(axis=0), FAR)
            sides.append((np.where(level.counted[group], client, C), room))
        taken[_take_in_order(np.flatnonzero(~taken), sides)] = True
    return taken


def _choose_places(problem: Problem, wanted: Wanted, count: IntArray, left: IntArray) -> IntArray:
    """Return places (G, C) for the remaining pairs (G,) of each subtopology, on the clients furthest below their bounds."""
    lacking = np.maximum(wanted.cells.low - count, 0)
    places = np.clip(left[:, None] - (np.cumsum(lacking, axis=1) - lacking), 0, lacking)
    left = left - places.sum(axis=1)
    open_ = wanted.cells.high > count + places
    low, high = (np.array([getattr(level.bounds, side) for level in wanted.levels]) for side in ("low", "high"))
    counted = np.array([level.counted for level in wanted.levels])
    held = counted @ (count + places)
    for group in np.argsort(np.count_nonzero(open_, axis=1) - left, kind="stable").tolist():  # least choice first
        if left[group] > 0:
            mine = counted[:, group]
            room, lack = (high - held)[mine].min(axis=0), np.maximum(low - held, 0)[mine].sum(axis=0)
            client = np.flatnonzero(open_[group] & (room > 0))
            best = client[np.lexsort((-room[client], -lack[client]))[: left[group]]]
            places[group, best] += 1
            held[:, best] += mine[:, None]
    return places


def _fill(problem: Problem, wanted: Wanted) -> tuple[IntArray, IntArray, IntArray] | None:
    """Return the keys of chosen columns, the pairs (T,) that each task still needs, and places (G, C) for them.

    None if weights are 0 and not all bounds can hold.
    """
    T, G, C = problem.T, problem.G, problem.C
    column = _order_columns(problem, wanted)
    task = problem.col_task[column]
    cell = problem.group[task] * C + problem.col_client[column]
    is_small = len(column) + G * C <= EXACT_PAIRS
    taken = rank_within(task) < wanted.need[task] if is_small else _keep(problem, wanted, column)
    closed = np.bincount(problem.col_task[~wanted.allowed], minlength=T)
    room = np.where(wanted.pools, C - closed - np.bincount(task, minlength=T), 0)
    pooled = np.minimum(wanted.need - np.bincount(task[taken], minlength=T), room)
    count, places = np.bincount(cell[taken], minlength=G * C).reshape(G, C), np.zeros((G, C), dtype=np.int64)
    if not is_small:
        places = _choose_places(problem, wanted, count, np.bincount(problem.group, pooled, G).astype(np.int64))
        count = count + places

    network, nothing = Network(), np.zeros(max(G * C, T), dtype=np.int64)
    sizes = (G, G * C, *(C for _ in wanted.levels))
    tasks, pools, cells, *levels = network.add_nodes(wanted.need), *(network.add_nodes(nothing[:n]) for n in sizes)
    hub = np.repeat(network.add_nodes(-wanted.need.sum(keepdims=True)), C)
    bounds = ShareBounds(wanted.must[column].astype(np.int64), np.ones_like(column))
    on = network.add_arcs(tasks[task], cells[cell], taken, bounds, cost=-wanted.worth[column])
    some = np.flatnonzero(room > 0)
    bounds = ShareBounds(nothing[: len(some)], room[some])
    to_pool = network.add_arcs(tasks[some], pools[problem.group[some]], pooled[some], bounds)
    group = np.flatnonzero(wanted.levels[-1].counted)
    at = (group[:, None] * C + np.arange(C)).ravel()
    barred = (~wanted.allowed | wanted.must) & wanted.pools[problem.col_task]
    barred_cells = problem.group[problem.col_task[barred]] * C + problem.col_client[barred]
    takers = np.bincount(problem.group[wanted.pools], minlength=G).repeat(C) - np.bincount(barred_cells, minlength=G * C)
    bounds = ShareBounds(nothing[: len(at)], takers[at])
    from_pool = network.add_arcs(pools[at // C], cells[at], places.ravel()[at], bounds)
    inner = np.argmax([level.counted for level in wanted.levels], axis=0)
    heads, low, high = np.array(levels)[inner[group]].ravel(), wanted.cells.low.ravel()[at], wanted.cells.high.ravel()[at]
    network.add_arcs(cells[at], heads, count.ravel()[at], ShareBounds(low, high), weight=wanted.weight)
    for level, tail, head in zip(wanted.levels, levels, [*levels[1:], hub], strict=True):
        network.add_arcs(tail, head, count[level.counted].sum(axis=0), level.bounds, weight=level.weight)
    flow, is_filled = network.fill(by_cost=is_small)
    if not is_filled and not wanted.weight:
        return None
    taken, need = flow[on] > 0, wanted.need.copy()
    np.subtract.at(need, task[taken], 1)
    need[some] = flow[to_pool]
    places.ravel()[at] = flow[from_pool]
    return problem.col_keys[column[taken]], need, places


def _deal(
    problem: Problem, wanted: Wanted, group: int, need: IntArray, places: IntArray, keys: IntArray
) -> tuple[IntArray, IntArray]:
    """Give client c to `places[c]` of the tasks that `need` (T,) clients. Return all keys, and tasks that still need some."""
    C = problem.C
    first, end = np.searchsorted(problem.group, [group, group + 1]).tolist()
    columns = slice(problem.col_start[first], problem.col_start[end])
    open_ = np.repeat(wanted.pools[first:end, None], C, axis=1)
    open_[problem.col_task[columns] - first, problem.col_client[columns]] = wanted.allowed[columns]
    open_[keys // C - first, keys % C] = False
    row = np.repeat(np.arange(end - first), need[first:end])
    row = row[np.argsort(-need[first + row], kind="stable")]
    client = np.repeat(np.arange(C), places)
    client = client[np.lexsort((client, rank_within(client) - places[client]))][: len(row)]
    lost, row = row[len(client) :], row[: len(client)]
    for turn in range(DEALING_TURNS):
        fits = open_[row, client] & (rank_within(row * C + client) == 0)
        open_[row[fits], client[fits]] = False
        keys = np.append(keys, (row[fits] + first) * C + client[fits])
        row, client = row[~fits], np.roll(client[~fits], turn + 1)
    for one, place in zip(row.tolist(), client.tolist(), strict=True):
        # The pair with the least loss takes the place, and its client goes to the task.
        pair = keys[open_[keys // C - first, place] & open_[one, keys % C] & ~problem.flag_of(keys, wanted.must)]
        if not len(pair):
            lost = np.append(lost, one)
            continue
        moved, gained = pair // C * C + place, (one + first) * C + pair % C
        lost_worth, *won = (problem.look_up(each, wanted.worth, 0) for each in (pair, moved, gained))
        best = int(np.argmin(lost_worth - won[0] - won[1]))
        keys = np.append(keys[keys != pair[best]], [moved[best], gained[best]])
        open_[pair[best] // C - first, [place, pair[best] % C]] = False, True
        open_[one, pair[best] % C] = False
    return keys, lost + first
