"""Builds the program on the copies' face, block by block; `face_program.py` has the table of its variables and rows."""

from __future__ import annotations

import numpy as np

from optassign.models.flows.face import CopiesFace, LayerFace
from optassign.models.lp.face_program import FaceProgram, MergedPlaces
from optassign.models.lp.program import Program
from optassign.models.problem import STATELESS, BoolArray, IntArray
from optassign.models.windows import Windows

_GLOP_UP_TO = 5_000
"""Free variables of a program with tags: beyond, HiGHS takes half the time, and less and less."""


def build_face_program(face: CopiesFace, windows: Windows, apart: BoolArray | None = None) -> FaceProgram:
    """The program for the given windows of actives; the windows of copies are in the face already.

    `apart` (G × C,): places that are to be told apart beside those that have to be.
    """
    builder = _Builder(face, windows, apart)
    builder.add_copies()
    builder.add_actives()
    builder.tie_actives_to_copies()
    builder.add_windows_of_copies()
    builder.add_windows_of_actives()
    return builder.finish()


class _Builder:
    """Adds the blocks of the program, in the order of the table above."""

    def __init__(self, face: CopiesFace, windows: Windows, apart: BoolArray | None) -> None:
        self._face, self._windows, self._program = face, windows, Program()
        self._problem = problem = face.problem
        cells = problem.G * problem.C
        self._column_cell = problem.group[problem.col_task] * problem.C + problem.col_client
        self._p_pool = problem.group[face.pooled] * face.zones.number + face.pooled_zone
        self._pool_of_cell = face.zones.find_pools(problem, *np.divmod(np.arange(cells), problem.C))
        self._copies_low, self._copies_high = _spread(cells, face.cell, face.in_cell.low, face.in_cell.high)
        self._actives_low = windows.group_active.low.ravel()
        self._actives_high = np.minimum(windows.group_active.high.ravel(), problem.T)
        place = face.place_group * problem.C + face.place_client
        self._place_low, self._place_high = _spread(cells, place, face.places.low, face.places.high)
        is_apart: BoolArray = (self._copies_low > 0) | (self._place_low > 0) | (self._actives_low > 0)
        if apart is not None:
            is_apart |= apart
        self._is_apart = is_apart
        self._q_cell = place[is_apart[place]]
        self._r_cell = place[~is_apart[place] & (self._place_high[place] > 0)]

    def add_copies(self) -> None:
        """y, p, q and r, with R4, and pools that add up."""
        face, problem, program = self._face, self._problem, self._program
        self._y = program.add_variables(face.on_column.low, face.on_column.high)
        low, high = face.in_pool.low, face.in_pool.high
        for layer in face.layers:  # where nothing else is on a value, its bounds are those of the pool
            alone = layer.count_pooled[layer.of_pooled] + layer.count_columns[layer.of_pooled] == 1
            low = np.where(alone, np.maximum(low, layer.copies.low[layer.of_pooled]), low)
            high = np.where(alone, np.minimum(high, layer.copies.high[layer.of_pooled]), high)
        self._p, self._p_high = program.add_variables(low, high), high
        self._q = program.add_variables(self._place_low[self._q_cell], self._place_high[self._q_cell])
        copies = np.where(problem.logged, problem.standbys + 1, 0)
        rows = program.add_rows(copies, copies)
        program.add_entries(rows[problem.col_task[face.column]], self._y, 1)
        program.add_entries(rows[face.pooled], self._p, 1)
        rows = self._add_pools(self._p_pool, self._p, self._q_cell, self._q)
        self._r = self._merge(self._r_cell, self._place_high[self._r_cell], rows, self._face.zones.of_client)

    def _add_pools(self, pool: IntArray, in_pool: IntArray, cell: IntArray, places: IntArray) -> IntArray:
        """(G × Z,) rows in which what tasks have in their pools is what the places have."""
        rows = self._add_equations(self._problem.G * self._face.zones.number)
        self._program.add_entries(rows[pool], in_pool, 1)
        self._program.add_entries(rows[self._pool_of_cell[cell]], places, -1)
        return rows

    def _merge(self, cell: IntArray, most: IntArray, rows: IntArray, zone: IntArray) -> MergedPlaces:
        """Variables for merged places of at `most` so many copies, which add up in each zone.

        `rows` (G × Z,): the pools they are part of; `zone` (C,): of each client.
        """
        C, zones = self._problem.C, self._face.zones.number
        pool, place = np.unique(self._pool_of_cell[cell], return_inverse=True)
        by_pool = np.bincount(place, weights=most, minlength=len(pool)).astype(np.int64)
        by_client = np.bincount(cell % C, weights=most, minlength=C).astype(np.int64)
        of_pool = self._program.add_variables(np.zeros_like(by_pool), by_pool)
        of_client = self._program.add_variables(np.zeros_like(by_client), by_client)
        self._program.add_entries(rows[pool], of_pool, -1)
        together = self._add_equations(zones)
        self._program.add_entries(together[pool % zones], of_pool, 1)
        self._program.add_entries(together[zone], of_client, -1)
        return MergedPlaces(cell, place.reshape(-1), pool, of_pool, of_client)

    def _add_equations(self, number: int) -> IntArray:
        """Rows that are zero."""
        nothing = np.zeros(number, dtype=np.int64)
        return self._program.add_rows(nothing, nothing)

    def add_actives(self) -> None:
        """a, f, b and m, with R1 and pools that add up."""
        face, problem, program = self._face, self._problem, self._program
        free = np.flatnonzero(~problem.logged[problem.col_task])
        free_tasks = np.flatnonzero(~problem.logged & (problem.pool_size > 0))
        in_pool = np.bincount(problem.group[free_tasks], minlength=problem.G)
        groups = np.flatnonzero(in_pool)
        free_cells = (groups[:, None] * problem.C + np.arange(problem.C)).ravel()
        most = self._place_high.copy()
        most[free_cells] = np.repeat(in_pool[groups], problem.C)
        most = np.minimum(most, self._actives_high)
        self._a_column = np.concatenate([face.column, free])
        self._f_task = np.concatenate([face.pooled, free_tasks])
        self._f_pool = np.concatenate([self._p_pool, problem.group[free_tasks] * face.zones.number])
        self._b_cell = np.concatenate([self._q_cell, free_cells[self._is_apart[free_cells]]])

        def up_to(high: IntArray) -> IntArray:
            return program.add_variables(np.zeros_like(high), high)

        self._a = up_to(np.concatenate([face.on_column.high, np.ones_like(free)]))
        self._f = up_to(np.concatenate([np.minimum(self._p_high, 1), np.ones_like(free_tasks)]))
        self._b = up_to(most[self._b_cell])
        one = np.ones(problem.T, dtype=np.int64)
        rows = program.add_rows(one, one)
        program.add_entries(rows[problem.col_task[self._a_column]], self._a, 1)
        program.add_entries(rows[self._f_task], self._f, 1)
        rows = self._add_pools(self._f_pool, self._f, self._b_cell, self._b)
        merged = [(self._r_cell, face.zones.of_client)]
        for kind in np.unique(problem.kind[groups]).tolist():
            of_kind = free_cells[problem.kind[free_cells // problem.C] == kind]
            merged.append((of_kind[~self._is_apart[of_kind]], np.zeros_like(face.zones.of_client)))
        self._m = tuple(self._merge(cell, most[cell], rows, zone) for cell, zone in merged)

    def tie_actives_to_copies(self) -> None:
        """A ≤ y, f ≤ p, b ≤ q, m ≤ r."""
        r, m = self._r, self._m[0]
        pairs = (
            (self._a, self._y),
            (self._f, self._p),
            (self._b, self._q),
            (m.of_pool, r.of_pool),
            (m.of_client, r.of_client),
        )
        for active, copies in pairs:
            number = len(copies)
            nothing = np.zeros(number, dtype=np.int64)
            rows = self._program.add_rows(nothing, np.full(number, self._problem.T * (self._problem.standbys + 1)))
            self._program.add_entries(rows, copies, 1)
            self._program.add_entries(rows, active[:number], -1)

    def add_windows_of_copies(self) -> None:
        """Tied copies, cells and clients."""
        face, problem, program = self._face, self._problem, self._program
        task, client = problem.col_task[face.column], problem.col_client[face.column]
        rows = program.add_rows(face.on_tied.low, face.on_tied.high)
        row_of = np.full(problem.T, -1, dtype=np.int64)
        row_of[face.tied_task] = rows
        program.add_entries(row_of[task[face.column_is_tied]], self._y[face.column_is_tied], 1)
        program.add_entries(row_of[face.pooled[face.pool_is_tied]], self._p[face.pool_is_tied], 1)

        for layer in face.layers:
            self._add_layer(layer)

        in_cells = [(self._y, self._column_cell[face.column]), (self._q, self._q_cell)]
        self._add_cells(self._copies_low, self._copies_high, in_cells)
        rows = program.add_rows(face.on_client.low, face.on_client.high)
        program.add_entries(rows[client], self._y, 1)
        program.add_entries(rows[self._q_cell % problem.C], self._q, 1)
        program.add_entries(rows, self._r.of_client, 1)

    def _add_layer(self, layer: LayerFace) -> None:
        """Rows for the values of a tag, where the face leaves a task less than all its copies there."""
        low, high = layer.copies.low, layer.copies.high
        is_needed = (layer.count_columns > 0) | (layer.count_pooled > 1)
        nodes = np.flatnonzero(is_needed & ((low > 0) | (high <= self._problem.standbys)))
        rows = self._program.add_rows(low[nodes], high[nodes])
        row_of = np.full(len(low), -1, dtype=np.int64)
        row_of[nodes] = rows
        for node, variables in ((layer.of_column, self._y), (layer.of_pooled, self._p)):
            some = row_of[node] >= 0
            self._program.add_entries(row_of[node[some]], variables[some], 1)

    def add_windows_of_actives(self) -> None:
        """Cells, then stateful and all actives of each client."""
        problem, windows, program = self._problem, self._windows, self._program
        C = problem.C
        cell = self._column_cell[self._a_column]
        self._add_cells(self._actives_low, self._actives_high, [(self._a, cell), (self._b, self._b_cell)])
        is_stateful = problem.kind != STATELESS
        for window, counts in ((windows.stateful, is_stateful), (windows.active, np.ones(problem.G, dtype=np.bool_))):
            rows = program.add_rows(window.low, np.minimum(window.high, problem.T))
            for variables, cells in ((self._a, cell), (self._b, self._b_cell)):
                some = counts[cells // C]
                program.add_entries(rows[cells[some] % C], variables[some], 1)
            for merged in self._m:
                if len(merged.pool) and counts[merged.pool[0] // self._face.zones.number]:
                    program.add_entries(rows, merged.of_client, 1)

    def _add_cells(self, low: IntArray, high: IntArray, parts: list[tuple[IntArray, IntArray]]) -> None:
        """A row for each cell that has variables of its own, or asks for some; `parts`: variables and the cell of each."""
        cells = np.unique(np.concatenate([*(cell for _, cell in parts), np.flatnonzero(low > 0)]))
        rows = self._program.add_rows(low[cells], high[cells])
        for variables, cell in parts:
            self._program.add_entries(rows[np.searchsorted(cells, cell)], variables, 1)

    def finish(self) -> FaceProgram:
        """The program in arrays."""
        return FaceProgram(
            face=self._face,
            windows=self._windows,
            matrix=self._program.finish(_GLOP_UP_TO) if self._face.layers else self._program.finish(),
            y=self._y,
            p=self._p,
            q_cell=self._q_cell,
            q=self._q,
            r=self._r,
            a_column=self._a_column,
            a=self._a,
            f_task=self._f_task,
            f_pool=self._f_pool,
            f=self._f,
            b_cell=self._b_cell,
            b=self._b,
            m=self._m,
        )


def _spread(cells: int, cell: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Bounds of all cells, zero where none are given."""
    lows, highs = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    lows[cell], highs[cell] = low, high
    return lows, highs
