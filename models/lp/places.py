"""Reads a plan off whole values of the program on the copies' face, from the places of subtopologies down to those of tasks.

1. Merged places are told apart, by flows from subtopologies to clients: actives of logged tasks, their standbys, then tasks
   without changelog, kind by kind.
2. The places of each subtopology are dealt to its tasks (pooling.py), actives first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from ortools.graph.python import max_flow

from optassign.models.lp.face_program import FaceProgram, MergedPlaces
from optassign.models.problem import BoolArray, IntArray, Placement, make_placement

_MOST_BEYOND = 0.1
"""Share of clients up to which those that a least cut leaves without their copies are told apart, too."""


@dataclass(frozen=True, eq=False)
class Reading:
    """The plan, or why there is none."""

    placement: Placement | None = None
    crowded: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Subtopology × C + client of merged places that have not the room for what the program counts there."""
    stuck: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Tasks of the subtopologies whose pooled copies could not be dealt."""


def read_plan(program: FaceProgram, values: IntArray) -> Reading:
    """The plan of whole values (variables,)."""
    face, problem = program.face, program.face.problem
    C = problem.C
    try:
        copies_at, actives_at = _tell_apart(program, values)
    except _CrowdedError as error:
        return Reading(crowded=error.cell)

    active = np.full(problem.T, -1, dtype=np.int64)
    on = program.a_column[values[program.a] > 0]
    active[problem.col_task[on]] = problem.col_client[on]
    in_pool = values[program.f]
    closed = {task: _list_columns(program, task) for task in np.unique(program.f_task[in_pool > 0]).tolist()}
    keys, stuck = face.zones.deal_pools(problem, program.f_task, program.f_pool, in_pool, actives_at, closed)
    if len(stuck):
        return Reading(stuck=stuck)
    active[keys // C] = keys % C

    held = problem.col_keys[face.column[values[program.y] > 0]]
    pooled = len(face.pooled)
    copies = values[program.p] - in_pool[:pooled]
    waiting = np.unique(face.pooled[copies > 0]).tolist()
    closed = {task: {*_list_columns(program, task), int(active[task])} for task in waiting}
    standbys_at = copies_at - actives_at
    keys, stuck = face.zones.deal_pools(problem, face.pooled, program.f_pool[:pooled], copies, standbys_at, closed)
    if len(stuck):
        return Reading(stuck=stuck)
    logged = np.flatnonzero(problem.logged)
    standby = np.setdiff1d(np.concatenate([held, keys]), logged * C + active[logged])
    return Reading(make_placement(active, standby, C))


class _CrowdedError(Exception):
    """Merged places have not enough room."""

    def __init__(self, cell: IntArray) -> None:
        super().__init__()
        self.cell = cell


def _tell_apart(program: FaceProgram, values: IntArray) -> tuple[IntArray, IntArray]:
    """(G, C) pooled copies of logged tasks, and (G, C) pooled actives; _CrowdedError where merged places have not the room."""
    face, problem = program.face, program.face.problem
    cells = problem.G * problem.C
    column_cell = problem.group[problem.col_task] * problem.C + problem.col_client
    copies, actives = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    copies[program.q_cell], actives[program.b_cell] = values[program.q], values[program.b]
    place = face.place_group * problem.C + face.place_client
    room = np.zeros(cells, dtype=np.int64)
    room[face.cell] = face.in_cell.high
    room -= copies + np.bincount(column_cell[face.column], weights=values[program.y], minlength=cells).astype(np.int64)
    in_place = np.zeros(cells, dtype=np.int64)
    in_place[place] = face.places.high
    room = np.minimum(room, in_place)
    lead = np.minimum(program.windows.group_active.high.ravel(), problem.T) - actives
    lead -= np.bincount(column_cell[program.a_column], weights=values[program.a], minlength=cells).astype(np.int64)

    for number, merged in enumerate(program.m):
        is_logged = number == 0
        limit = np.minimum(room, lead) if is_logged else lead
        more = _transport(merged, values[merged.of_pool], values[merged.of_client], limit[merged.cell])
        actives[merged.cell] += more
        if is_logged:
            copies[merged.cell] += more
            room[merged.cell] -= more
    r, m = program.r, program.m[0]
    standbys = values[r.of_pool] - values[m.of_pool], values[r.of_client] - values[m.of_client]
    more = _transport(r, *standbys, room[r.cell])
    copies[r.cell] += more
    return copies.reshape(problem.G, problem.C), actives.reshape(problem.G, problem.C)


def _transport(merged: MergedPlaces, of_pool: IntArray, of_client: IntArray, room: IntArray) -> IntArray:
    """(k,) copies on each of the merged places, as many as each pool and client has.

    _CrowdedError where there is no room: the places of those pools, or of those clients, that a least cut says are short of it.
    """
    copies = np.zeros(len(merged.cell), dtype=np.int64)
    wanted = int(of_pool.sum())
    if not wanted:
        return copies
    clients, row = len(of_client), merged.row
    first_client = len(merged.pool)
    source, sink = first_client + clients, first_client + clients + 1
    flow = max_flow.SimpleMaxFlow()
    open_ = np.flatnonzero((room > 0) & (of_pool[row] > 0))
    arcs = flow.add_arcs_with_capacity(row[open_], first_client + merged.cell[open_] % clients, room[open_])
    flow.add_arcs_with_capacity(np.full(first_client, source), np.arange(first_client), of_pool)
    flow.add_arcs_with_capacity(first_client + np.arange(clients), np.full(clients, sink), of_client)
    flow.solve(source, sink)
    if flow.optimal_flow() < wanted:
        raise _CrowdedError(merged.cell[_find_short(flow, merged, of_client)])
    copies[open_] = flow.flows(arcs)
    return copies


def _find_short(flow: max_flow.SimpleMaxFlow, merged: MergedPlaces, of_client: IntArray) -> BoolArray:
    """(k,) the places of the pools, and of the clients where they are few, that have more than fits there.

    Of the least cuts there is one at each end: the narrow one at the pools may name one of several that are short of room,
    the wide one may name all pools for the sake of one client.
    """
    pools, clients = len(merged.pool), len(of_client)
    narrow, wide = np.zeros(pools + clients + 2, dtype=np.bool_), np.ones(pools + clients + 2, dtype=np.bool_)
    narrow[flow.get_source_side_min_cut()] = True
    wide[flow.get_sink_side_min_cut()] = False
    is_short = (wide if 2 * int(wide[:pools].sum()) <= pools else narrow)[:pools][merged.row]
    beyond = ~narrow[pools : pools + clients] & (of_client > 0)
    if int(beyond.sum()) <= _MOST_BEYOND * clients:
        is_short |= beyond[merged.cell % clients]
    return is_short


def _list_columns(program: FaceProgram, task: int) -> set[int]:
    """Clients that are no part of a logged task's pool."""
    problem = program.face.problem
    if not problem.logged[task]:
        return set()
    return set(problem.col_client[problem.col_start[task] : problem.col_start[task + 1]].tolist())
