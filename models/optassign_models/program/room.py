"""Rows that say what merged places have room for: a pool's copies on them are no more than all these places together take.

A place takes what its subtopology has there at most, and what columns leave of the share. The row adds up the share where that
is the lesser one without columns, and otherwise the number of tasks. By Gale's theorem (1957) on flows from pools to clients,
what may still not fit is a matter of single clients: `reading.py` tells their places apart.
"""

from __future__ import annotations

import numpy as np

from optassign_models.lp.program import Program
from optassign_models.problem import LOGGED, BoolArray, IntArray
from optassign_models.program.imbalance import OF_ACTIVES, OF_COPIES, Steps
from optassign_models.program.variables import MergedPlaces, Variables

_FAR = 1 << 50
"""More than any sum of copies."""


def require_room(program: Program, v: Variables, steps: Steps | None) -> None:
    """A row for each pool that has merged places; with `steps`, what is beyond the shares counts as room that costs."""
    scope = v.scope
    for family, merged in ((OF_COPIES, v.r), *((OF_ACTIVES, merged) for merged in v.m)):
        share = (scope.copies_bounds if family == OF_COPIES else scope.actives_bounds)[1][merged.cell]
        tasks = scope.place_bounds[1][merged.cell] if merged.kind == LOGGED else np.full(len(share), scope.problem.T)
        room = np.bincount(merged.row, weights=np.minimum(share, tasks), minlength=len(merged.pool)).astype(np.int64)
        rows = program.add_rows(np.full_like(room, -_FAR), room)
        program.add_entries(rows, merged.of_pool, 1)
        _take_room(program, v, steps, family, _map_to_rows(merged, rows, share <= tasks, len(scope.pool_of_cell)))
        beyond = _nothing() if steps is None else steps.list_beyond(family, merged.kind)
        program.add_entries(rows[: len(beyond)], beyond, -1)


def _take_room(program: Program, v: Variables, steps: Steps | None, family: int, row_of: IntArray) -> None:
    """The columns' part of the shares that rows add up, `row_of` (G × C,) or −1; beyond a share, it costs there."""
    if family == OF_COPIES:
        variables, cell = v.y, v.scope.column_cell[v.scope.copies.column]
    else:
        variables, cell = v.a, v.scope.column_cell[v.a_column]
    above = [] if steps is None else steps.list_above(family)
    for each, cells, sign in ((variables, cell, 1), *((*step, -1) for step in above)):
        row = row_of[cells]
        program.add_entries(row[row >= 0], each[row >= 0], sign)


def _map_to_rows(merged: MergedPlaces, rows: IntArray, some: BoolArray, cells: int) -> IntArray:
    """(G × C,) the row of each place that `some` (k,) says, −1 of others."""
    row_of = np.full(cells, -1, dtype=np.int64)
    row_of[merged.cell[some]] = rows[merged.row[some]]
    return row_of


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)
