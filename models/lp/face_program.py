"""The plans on the optimal face of the copies' flow as a linear program: copies, and which of them are active.

| variables | |
|---|---|
| y(column), p(t), q(g, c) | copies on columns, in the task's pool, pooled copies of the subtopology on the client |
| a(column), f(t), b(g, c) | the same for active copies; of tasks without changelog they are the only ones |

| rows | |
|---|---|
| Σ y + p = standbys + 1; Σ a + f = 1 | for each task (R1, R4) |
| Σ p = Σ q; Σ f = Σ b | for each subtopology: pools add up |
| a ≤ y; f ≤ p; b ≤ q | an active copy is a copy |
| tied copies, cells, clients | within the bounds of the face |
| actives per cell, stateful and all actives per client | within their windows |

Only R2 between pooled copies is left out, so its optimum is a bound; where the vertex is whole and places can be dealt, it is
a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.flows.face import CopiesFace
from optassign.models.goals import GoalModel
from optassign.models.lp.program import Matrix, Program
from optassign.models.problem import STATELESS, BoolArray, IntArray, Placement, Problem
from optassign.models.windows import Window, Windows


@dataclass(frozen=True, eq=False)
class FaceProgram:
    """The program, and where its variables are."""

    face: CopiesFace
    matrix: Matrix
    y: IntArray
    """(n,) of `face.column`."""
    p: IntArray
    """(k,) of `face.pooled`."""
    q: IntArray
    """(q,) of the face's places."""
    a_column: IntArray
    """(n + N,) columns that may be active: the face's, then those of tasks without changelog."""
    a: IntArray
    """(n + N,)"""
    f_task: IntArray
    """(k + K,) tasks whose active may be in their pool: the face's, then those without changelog."""
    f: IntArray
    """(k + K,)"""
    b_group: IntArray
    """(q + Q,) subtopology and"""
    b_client: IntArray
    """(q + Q,) client of the places for pooled actives: the face's, then those of tasks without changelog."""
    b: IntArray
    """(q + Q,)"""

    def price(self, goal: GoalModel) -> IntArray:
        """(variables,) what the goal costs: per active, and per standby (a copy that is not active)."""
        problem = self.face.problem
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        if goal.cost_per_active is not None:
            each = goal.cost_per_active(problem)
            cost[self.a] += each.columns[self.a_column]
            cost[self.f] += each.pools[self.f_task]
        if goal.cost_per_standby is not None:
            each = goal.cost_per_standby(problem)
            cost[self.y] += each.columns[self.face.column]
            cost[self.p] += each.pools[self.face.pooled]
            cost[self.a[: len(self.y)]] -= each.columns[self.face.column]
            cost[self.f[: len(self.p)]] -= each.pools[self.face.pooled]
        return cost

    def price_tie(self) -> IntArray:
        """(variables,) least where clients keep their smallest tasks, as actives first, and give away their greatest."""
        problem, T = self.face.problem, self.face.problem.T
        held = problem.col_owner | problem.col_standby
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        task = problem.col_task[self.a_column]
        cost[self.a] = np.where(held[self.a_column], (T + 1) * (task - T), 0)
        task = problem.col_task[self.face.column]
        cost[self.y] = np.where(held[self.face.column], task - T, 0)
        return cost

    def encode(self, plan: Placement) -> IntArray | None:
        """(variables,) the values that are this plan; None where it is not on the face, or outside the windows."""
        face, problem, matrix = self.face, self.face.problem, self.matrix
        C = problem.C
        values = np.zeros(len(matrix.low), dtype=np.int64)
        copies, actives = plan.copy_keys(C, problem.logged), np.arange(problem.T) * C + plan.active
        on_column = np.isin(problem.col_keys[face.column], copies)
        values[self.y] = on_column
        pooled = copies[~np.isin(copies, problem.col_keys[face.column])]
        values[self.p] = np.bincount(pooled // C, minlength=problem.T)[face.pooled]
        cell = np.bincount(problem.group[pooled // C] * C + pooled % C, minlength=problem.G * C)
        values[self.q] = cell[face.place_group * C + face.place_client]
        values[self.a] = np.isin(problem.col_keys[self.a_column], actives)
        pooled = actives[~np.isin(actives, problem.col_keys[self.a_column])]
        values[self.f] = np.bincount(pooled // C, minlength=problem.T)[self.f_task]
        cell = np.bincount(problem.group[pooled // C] * C + pooled % C, minlength=problem.G * C)
        values[self.b] = cell[self.b_group * C + self.b_client]
        sums = np.zeros(len(matrix.row_low), dtype=np.int64)
        np.add.at(sums, matrix.row, matrix.coefficient * values[matrix.variable])
        keeps_rows = np.all(sums >= matrix.row_low) and np.all(sums <= matrix.row_high)
        return values if keeps_rows and np.all(values >= matrix.low) and np.all(values <= matrix.high) else None

    def choose_columns(self, plan: Placement | None) -> BoolArray:
        """(variables,) those to begin with: all but the places of pools, of which only the plan's."""
        used = self.matrix.low < self.matrix.high
        values = None if plan is None else self.encode(plan)
        if values is not None:
            for places in (self.q, self.b):
                used[places] &= values[places] > 0
            used |= values > self.matrix.low
        return used


def build_face_program(face: CopiesFace, windows: Windows) -> FaceProgram:
    """The program for the given windows of actives; the windows of copies are in the face already."""
    builder = _Builder(face, windows)
    builder.add_copies()
    builder.add_actives()
    builder.tie_actives_to_copies()
    builder.add_windows_of_actives()
    return builder.finish()


class _Builder:
    """Adds the blocks of the program, in the order of the table above."""

    def __init__(self, face: CopiesFace, windows: Windows) -> None:
        self._face, self._windows, self._program = face, windows, Program()

    @property
    def _problem(self) -> Problem:
        return self._face.problem

    def add_copies(self) -> None:
        """y, p and q, with R4, pools that add up, and the bounds of the face."""
        face, problem, program = self._face, self._problem, self._program
        C = problem.C
        self._y = program.add_variables(face.on_column.low, face.on_column.high)
        self._p = program.add_variables(face.in_pool.low, face.in_pool.high)
        self._q = program.add_variables(face.places.low, face.places.high)
        task, client = problem.col_task[face.column], problem.col_client[face.column]

        copies = np.where(problem.logged, problem.standbys + 1, 0)
        rows = program.add_rows(copies, copies)
        program.add_entries(rows[task], self._y, 1)
        program.add_entries(rows[face.pooled], self._p, 1)

        nothing = np.zeros(problem.G, dtype=np.int64)
        rows = program.add_rows(nothing, nothing)
        program.add_entries(rows[problem.group[face.pooled]], self._p, 1)
        program.add_entries(rows[face.place_group], self._q, -1)

        rows = program.add_rows(face.on_tied.low, face.on_tied.high)
        row_of = np.full(problem.T, -1, dtype=np.int64)
        row_of[face.tied_task] = rows
        program.add_entries(row_of[task[face.column_is_tied]], self._y[face.column_is_tied], 1)
        program.add_entries(row_of[face.pooled[face.pool_is_tied]], self._p[face.pool_is_tied], 1)

        rows = program.add_rows(face.in_cell.low, face.in_cell.high)
        row_of = np.full(problem.G * C, -1, dtype=np.int64)
        row_of[face.cell] = rows
        program.add_entries(row_of[problem.group[task] * C + client], self._y, 1)
        program.add_entries(row_of[face.place_group * C + face.place_client], self._q, 1)

        rows = program.add_rows(face.on_client.low, face.on_client.high)
        program.add_entries(rows[client], self._y, 1)
        program.add_entries(rows[face.place_client], self._q, 1)

    def add_actives(self) -> None:
        """a, f and b, with R1 and pools that add up."""
        face, problem, program = self._face, self._problem, self._program
        free = np.flatnonzero(~problem.logged[problem.col_task])
        free_tasks = np.flatnonzero(~problem.logged & (problem.pool_size > 0))
        in_pool = np.bincount(problem.group[free_tasks], minlength=problem.G)
        groups = np.flatnonzero(in_pool)
        self._a_column = np.concatenate([face.column, free])
        self._f_task = np.concatenate([face.pooled, free_tasks])
        self._b_group = np.concatenate([face.place_group, np.repeat(groups, problem.C)])
        self._b_client = np.concatenate([face.place_client, np.tile(np.arange(problem.C), len(groups))])
        of_pool = np.concatenate([face.places.high, np.repeat(in_pool[groups], problem.C)])

        def up_to(high: IntArray) -> IntArray:
            return program.add_variables(np.zeros_like(high), high)

        self._a = up_to(np.concatenate([face.on_column.high, np.ones_like(free)]))
        self._f = up_to(np.concatenate([np.minimum(face.in_pool.high, 1), np.ones_like(free_tasks)]))
        self._b = up_to(of_pool)

        one = np.ones(problem.T, dtype=np.int64)
        rows = program.add_rows(one, one)
        program.add_entries(rows[problem.col_task[self._a_column]], self._a, 1)
        program.add_entries(rows[self._f_task], self._f, 1)
        nothing = np.zeros(problem.G, dtype=np.int64)
        rows = program.add_rows(nothing, nothing)
        program.add_entries(rows[problem.group[self._f_task]], self._f, 1)
        program.add_entries(rows[self._b_group], self._b, -1)

    def tie_actives_to_copies(self) -> None:
        """A ≤ y, f ≤ p, b ≤ q."""
        for active, copies in ((self._a, self._y), (self._f, self._p), (self._b, self._q)):
            number = len(copies)
            nothing = np.zeros(number, dtype=np.int64)
            rows = self._program.add_rows(nothing, np.full(number, self._problem.T * (self._problem.standbys + 1)))
            self._program.add_entries(rows, copies, 1)
            self._program.add_entries(rows, active[:number], -1)

    def add_windows_of_actives(self) -> None:
        """Cells, then stateful and all actives of each client."""
        problem, windows = self._problem, self._windows
        C = problem.C
        group, client = problem.group[problem.col_task[self._a_column]], problem.col_client[self._a_column]
        in_cells = Window(windows.group_active.low.ravel(), windows.group_active.high.ravel())
        self._add_window(in_cells, self._a, group * C + client)
        self._add_window_entries(self._b, self._b_group * C + self._b_client)
        stateful, pool_stateful = (problem.kind != STATELESS)[group], (problem.kind != STATELESS)[self._b_group]
        self._add_window(windows.stateful, self._a[stateful], client[stateful])
        self._add_window_entries(self._b[pool_stateful], self._b_client[pool_stateful])
        self._add_window(windows.active, self._a, client)
        self._add_window_entries(self._b, self._b_client)

    def _add_window(self, window: Window, variables: IntArray, place: IntArray) -> None:
        """One row for each count of a window; `place`: the count that each variable is part of."""
        self._rows = self._program.add_rows(window.low, np.minimum(window.high, self._problem.T))
        self._add_window_entries(variables, place)

    def _add_window_entries(self, variables: IntArray, place: IntArray) -> None:
        self._program.add_entries(self._rows[place], variables, 1)

    def finish(self) -> FaceProgram:
        """The program in arrays."""
        return FaceProgram(
            face=self._face,
            matrix=self._program.finish(),
            y=self._y,
            p=self._p,
            q=self._q,
            a_column=self._a_column,
            a=self._a,
            f_task=self._f_task,
            f=self._f,
            b_group=self._b_group,
            b_client=self._b_client,
            b=self._b,
        )
