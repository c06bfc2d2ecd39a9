"""Rounding counts of subtopologies on clients to whole numbers, so that rows and columns come out right."""

from __future__ import annotations

import numpy as np

from optassign.models.greedy.augment import Exchange
from optassign.models.greedy.quotas import accept_pairs
from optassign.models.problem import BoolArray, IntArray
from optassign.models.windows import Window


def round_cells(optional: BoolArray, gain: IntArray, rows: IntArray, least: IntArray, most: IntArray) -> BoolArray:
    """(G, C) which cells get one more: `rows[g]` in each row, `least[c]` to `most[c]` in each column, of much gain.

    Cells of gain are taken greedily, the others filled up, and what is then missing is found by augmenting paths. Only what
    cannot be kept is not kept.

    Args:
        optional: (G, C) cells that may get one more.
        gain: (G, C) ≥ 0.
        rows: (G,) how many cells of each row.
        least, most: (C,) for each column.
    """
    rows = np.clip(rows, 0, optional.sum(axis=1))
    most = np.minimum(most, optional.sum(axis=0))
    least = np.minimum(least, most)
    total = int(rows.sum())
    taken = _greedy_cells(optional & (gain > 0), gain, rows, least, most)
    goal = np.maximum(least, taken.sum(axis=0))
    for _ in range(int(np.max(most - goal, initial=0))):  # whole columns at a time: first those with least
        missing = total - int(goal.sum())
        if missing <= 0:
            break
        goal[np.flatnonzero(goal < most)[:missing]] += 1
    _fill(optional, taken, rows, goal)
    inside = np.array_equal(taken.sum(axis=1), rows) and Window(least, most).holds(taken.sum(axis=0))
    return taken if inside else _completed(optional, gain, taken, rows, least, most)


def _greedy_cells(cells: BoolArray, gain: IntArray, rows: IntArray, least: IntArray, most: IntArray) -> BoolArray:
    """First up to `least` in each column, then as many more as leave enough for every other column's least."""
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


def _fill(optional: BoolArray, taken: BoolArray, rows: IntArray, goal: IntArray) -> None:
    """Rows with least choice come first; each takes the columns that want most."""
    want = goal - taken.sum(axis=0)
    left = rows - taken.sum(axis=1)
    choice = np.count_nonzero(optional & ~taken & (want > 0), axis=1) - left
    for row in np.argsort(choice, kind="stable").tolist():
        if left[row] > 0:
            can = np.flatnonzero(optional[row] & ~taken[row] & (want > 0))
            best = can[np.argsort(-want[can], kind="stable")[: left[row]]]
            taken[row, best] = True
            want[best] -= 1


def _completed(
    optional: BoolArray, gain: IntArray, taken: BoolArray, rows: IntArray, least: IntArray, most: IntArray
) -> BoolArray:
    """Rows that lack cells, and columns outside of their bounds, find some by augmenting paths."""
    G, C = optional.shape
    net = Exchange()
    hub, row_nodes, column_nodes = (net.add_nodes(n) for n in (1, G, C))
    row, column = np.nonzero(optional)
    net.add_arcs(np.repeat(hub, G), row_nodes, taken.sum(axis=1), window=Window(rows, rows))
    on = net.add_arcs(row_nodes[row], column_nodes[column], taken[row, column], high=1, cost=-gain[row, column])
    net.add_arcs(column_nodes, np.repeat(hub, C), taken.sum(axis=0), window=Window(least, most))
    result = np.zeros((G, C), dtype=np.bool_)
    result[row, column] = net.improved(0)[on] > 0
    return result
