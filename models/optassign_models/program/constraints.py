"""The rows of the one model: rules, places that add up, and shares. Each function adds one kind of rows to a program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.limits.limit import PlacementLimit
from optassign_models.lp.program import Program
from optassign_models.problem import LOGGED, STATELESS, IntArray
from optassign_models.program.scope import Scope
from optassign_models.program.variables import MergedPlaces, ProgramVariables


@dataclass(frozen=True, eq=False)
class ShareRows:
    """The rows that count what one family of shares speaks of."""

    index: IntArray
    """(k,) which share of the family each row is about: a client, or subtopology × C + client."""
    rows: IntArray
    """(k,)"""
    low: IntArray
    """(k,) of the share."""


def require_standby_number(program: Program, v: ProgramVariables) -> IntArray:
    """(T,) rows for R4: Σ y + p is the number of copies of each logged task; none of the others."""
    copies, problem = v.scope.copies, v.scope.problem
    number = np.where(problem.logged, problem.standbys + 1, 0)
    rows = program.add_rows(number, number)
    program.add_entries(rows[problem.col_task[copies.column]], v.y, 1)
    program.add_entries(rows[copies.pooled], v.p, 1)
    return rows


def require_pooled_copies_to_add_up(program: Program, v: ProgramVariables) -> None:
    """Copies that tasks have in their pools are on the places of their subtopology."""
    rows = _add_pools(program, v.scope, (v.p_pool, v.p), (v.q_cell, v.q))
    _require_merged_to_add_up(program, v.scope, rows, v.r)


def require_one_active(program: Program, v: ProgramVariables) -> IntArray:
    """(T,) rows for R1: Σ a + f is one for each task."""
    one = np.ones(v.scope.problem.T, dtype=np.int64)
    rows = program.add_rows(one, one)
    program.add_entries(rows[v.scope.problem.col_task[v.a_column]], v.a, 1)
    program.add_entries(rows[v.f_task], v.f, 1)
    return rows


def require_pooled_actives_to_add_up(program: Program, v: ProgramVariables) -> None:
    """Actives that tasks have in their pools are on the places of their subtopology."""
    rows = _add_pools(program, v.scope, (v.f_pool, v.f), (v.b_cell, v.b))
    for merged in v.m:
        _require_merged_to_add_up(program, v.scope, rows, merged)


def require_actives_to_be_copies(program: Program, v: ProgramVariables) -> tuple[IntArray, IntArray]:
    """A ≤ y, f ≤ p, b ≤ q, m ≤ r: with at most one copy on a column this is R2. The rows (n,) and (k,) of the first two."""
    problem = v.scope.problem
    m = v.m[0]
    pairs = ((v.a, v.y), (v.f, v.p), (v.b, v.q), (m.of_pool, v.r.of_pool), (m.of_client, v.r.of_client))
    found = []
    for active, copies in pairs:
        number = len(copies)
        rows = program.add_rows(np.zeros(number, dtype=np.int64), np.full(number, problem.T * (problem.standbys + 1)))
        program.add_entries(rows, copies, 1)
        program.add_entries(rows, active[:number], -1)
        found.append(rows)
    return found[0], found[1]


def require_tied_copies(program: Program, v: ProgramVariables) -> IntArray:
    """(j,) rows: copies of each task on its tied clients, within the bounds of the scope."""
    copies, problem = v.scope.copies, v.scope.problem
    rows = program.add_rows(copies.on_tied.low, copies.on_tied.high)
    row_of = np.full(problem.T, -1, dtype=np.int64)
    row_of[copies.tied_task] = rows
    task = problem.col_task[copies.column]
    program.add_entries(row_of[task[copies.column_is_tied]], v.y[copies.column_is_tied], 1)
    program.add_entries(row_of[copies.pooled[copies.pool_is_tied]], v.p[copies.pool_is_tied], 1)
    return rows


def count_reached(program: Program, v: ProgramVariables, of_client: IntArray) -> IntArray:
    """(logged tasks × values,) new variables, 1 where a copy of the task is on a client of that value (C,), −1 for none."""
    tasks, values = int(v.scope.problem.logged.sum()), int(of_client.max(initial=-1)) + 1
    nothing, one = np.zeros(tasks * values, dtype=np.int64), np.ones(tasks * values, dtype=np.int64)
    reached = program.add_variables(nothing, one)
    rows = program.add_rows(nothing, one + v.scope.problem.standbys)
    program.add_entries(rows, reached, -1)
    _add_copies_by_value(program, v, of_client, rows.reshape(tasks, values))
    return reached


def require_most_values(program: Program, v: ProgramVariables, of_client: IntArray) -> int:
    """Rows: each logged task's copies reach as many values (C,), −1 for none, as the numbers of both allow; how many that is.

    Either no two copies are on clients of one value and none on a client without, or each value has a copy.
    """
    problem = v.scope.problem
    tasks, copies = int(problem.logged.sum()), problem.standbys + 1
    known = np.unique(of_client[of_client >= 0])
    has_room = copies <= len(known)
    low, high = np.zeros((2, len(known) + 1), dtype=np.int64)  # the last one: of clients without a value
    low[:-1] = not has_room
    high[:-1], high[-1] = (1, 0) if has_room else (copies, copies)
    rows = program.add_rows(np.tile(low, tasks), np.tile(high, tasks))
    value = np.where(of_client >= 0, np.searchsorted(known, of_client), len(known))
    _add_copies_by_value(program, v, value, rows.reshape(tasks, len(known) + 1))
    return tasks * min(copies, len(known))


def _add_copies_by_value(program: Program, v: ProgramVariables, of_client: IntArray, rows: IntArray) -> None:
    """Copies of each logged task on clients of each value (C,), into `rows` (logged tasks, values); −1: into none."""
    copies, problem, zones = v.scope.copies, v.scope.problem, v.scope.zones
    place = np.cumsum(problem.logged) - 1  # among the logged tasks
    of_zone = np.zeros(zones.number, dtype=np.int64)
    of_zone[zones.of_client] = of_client
    on_column, in_pool = of_client[problem.col_client[copies.column]], of_zone[copies.pooled_zone]
    for task, value, variables in ((problem.col_task[copies.column], on_column, v.y), (copies.pooled, in_pool, v.p)):
        some = value >= 0
        program.add_entries(rows[place[task[some]], value[some]], variables[some], 1)


def require_shares_of_copies(program: Program, v: ProgramVariables) -> tuple[ShareRows, ShareRows]:
    """Copies of each subtopology on each client, and copies on each client, within their bounds."""
    copies, problem = v.scope.copies, v.scope.problem
    low, high = v.scope.copies_bounds
    in_cells = [(v.y, v.scope.column_cell[copies.column]), (v.q, v.q_cell)]
    of_cells = _add_cells(program, low, high, in_cells)
    rows = program.add_rows(copies.on_client.low, copies.on_client.high)
    program.add_entries(rows[problem.col_client[copies.column]], v.y, 1)
    program.add_entries(rows[v.q_cell % problem.C], v.q, 1)
    program.add_entries(rows, v.r.of_client, 1)
    return of_cells, ShareRows(np.arange(problem.C), rows, copies.on_client.low)


def require_shares_of_actives(program: Program, v: ProgramVariables) -> tuple[ShareRows, ShareRows, ShareRows]:
    """Actives of each subtopology on each client, then stateful and all actives of each client, within their shares."""
    problem, shares = v.scope.problem, v.scope.shares
    C = problem.C
    cell = v.scope.column_cell[v.a_column]
    found = [_add_cells(program, *v.scope.actives_bounds, [(v.a, cell), (v.b, v.b_cell)])]
    is_stateful = problem.kind != STATELESS
    for share, counts in ((shares.stateful, is_stateful), (shares.active, np.ones(problem.G, dtype=np.bool_))):
        rows = program.add_rows(share.low, np.minimum(share.high, problem.T))
        for variables, cells in ((v.a, cell), (v.b, v.b_cell)):
            some = counts[cells // C]
            program.add_entries(rows[cells[some] % C], variables[some], 1)
        for merged in v.m:
            if len(merged.pool) and counts[merged.pool[0] // v.scope.zones.number]:
                program.add_entries(rows, merged.of_client, 1)
        found.append(ShareRows(np.arange(C), rows, share.low))
    of_cells, stateful, every = found
    return of_cells, stateful, every


def _add_equations(program: Program, number: int) -> IntArray:
    """Rows that are zero."""
    nothing = np.zeros(number, dtype=np.int64)
    return program.add_rows(nothing, nothing)


def _add_pools(
    program: Program, scope: Scope, in_pool: tuple[IntArray, IntArray], places: tuple[IntArray, IntArray]
) -> IntArray:
    """(G × Z,) rows in which what tasks have in their pools is what the places have.

    `in_pool`: the pool of each variable, and the variables; `places`: the cell of each variable, and the variables.
    """
    rows = _add_equations(program, scope.problem.G * scope.zones.number)
    program.add_entries(rows[in_pool[0]], in_pool[1], 1)
    program.add_entries(rows[scope.pool_of_cell[places[0]]], places[1], -1)
    return rows


def _require_merged_to_add_up(program: Program, scope: Scope, rows: IntArray, merged: MergedPlaces) -> None:
    """Merged places are part of their pools, whose `rows` (G × Z,) these are, and add up in each zone."""
    zones = scope.zones
    program.add_entries(rows[merged.pool], merged.of_pool, -1)
    together = _add_equations(program, zones.number)
    program.add_entries(together[merged.pool % zones.number], merged.of_pool, 1)
    program.add_entries(together[zones.of_client], merged.of_client, -1)


def _add_cells(program: Program, low: IntArray, high: IntArray, parts: list[tuple[IntArray, IntArray]]) -> ShareRows:
    """A row for each cell that has variables of its own, or asks for some; `parts`: variables and the cell of each."""
    cells = np.unique(np.concatenate([*(cell for _, cell in parts), np.flatnonzero(low > 0)]))
    rows = program.add_rows(low[cells], high[cells])
    for variables, cell in parts:
        program.add_entries(rows[np.searchsorted(cells, cell)], variables, 1)
    return ShareRows(cells, rows, low[cells])


def require_most(program: Program, v: ProgramVariables, limit: PlacementLimit) -> None:
    """Rows: what the copies on each client of the limit weigh. Pooled copies count as the lightest task of their subtopology,
    so the rows bar nothing that the limit allows; where tasks weigh the same, they say all of it."""
    problem, zones = v.scope.problem, v.scope.zones
    assert limit.weight is not None
    clients = np.flatnonzero(limit.clients)
    rows = np.full(problem.C, -1, dtype=np.int64)
    rows[clients] = program.add_rows(np.zeros(len(clients), dtype=np.int64), np.full(len(clients), limit.most))
    lightest = np.full(problem.G, np.iinfo(np.int64).max)
    np.minimum.at(lightest, problem.group, limit.weight)

    def add(variables: IntArray, client: IntArray, weight: IntArray) -> None:
        counts = (rows[client] >= 0) & (weight > 0)
        program.add_weighted_entries(rows[client[counts]], variables[counts], weight[counts])

    column = v.scope.copies.column
    add(v.y, problem.col_client[column], limit.weight[problem.col_task[column]])
    add(v.q, v.q_cell % problem.C, lightest[v.q_cell // problem.C])
    is_free = ~problem.logged[problem.col_task[v.a_column]]
    free = v.a_column[is_free]
    add(v.a[is_free], problem.col_client[free], limit.weight[problem.col_task[free]])
    is_free = problem.kind[v.b_cell // problem.C] != LOGGED
    add(v.b[is_free], v.b_cell[is_free] % problem.C, lightest[v.b_cell[is_free] // problem.C])
    for merged in (v.r, *(merged for merged in v.m if merged.kind != LOGGED)):
        if len(merged.pool):
            least = int(lightest[merged.pool // zones.number].min())
            add(merged.of_client, np.arange(problem.C), np.full(problem.C, least))
