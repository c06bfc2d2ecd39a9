"""Rounding a matrix to whole numbers so that its rows and columns come out right: which cells get one more.

1. Cells of gain are taken greedily: first as many as each column needs at least, then the best of the rest.
2. Rows that still lack cells fill up columns that want some.
3. Augmenting paths find the missing ones.
"""

from __future__ import annotations

import numpy as np

from optassign_models.greedy.algorithms.exchange import Exchange
from optassign_models.greedy.algorithms.ranking import accept_pairs
from optassign_models.problem import BoolArray, IntArray
from optassign_models.shares import Share


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
    right = np.array_equal(taken.sum(axis=1), rows) and Share(least, most).holds(taken.sum(axis=0))
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
    network.add_arcs(np.repeat(hub, G), row_nodes, taken.sum(axis=1), share=Share(rows, rows))
    on = network.add_arcs(row_nodes[row], column_nodes[column], taken[row, column], high=1, cost=-gain[row, column])
    network.add_arcs(column_nodes, np.repeat(hub, C), taken.sum(axis=0), share=Share(least, most))
    mended = np.zeros((G, C), dtype=np.bool_)
    mended[row, column] = network.improve(0)[on] > 0
    return mended
