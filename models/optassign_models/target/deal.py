"""A target read from whole values of the program, from the places of subtopologies down to those of tasks.

1. Copies on merged places are split over these, by flows from subtopologies to clients: actives of logged tasks, their
   standbys, then tasks without changelog, kind by kind.
2. The places of each subtopology are dealt to its tasks, actives first (`deal_pool`). Tasks of greatest need come first, and
   each takes the clients with most places left. By the theorem of Gale (1957) and Ryser (1957) this succeeds whenever success
   is possible and nothing is forbidden. If places are left over, since all tasks that still lack one are forbidden there, they
   are swapped with places dealt before.

Either step may fail, as the program leaves out constraints that both keep. Copies then go beyond the shares, or are left out.
"""

from __future__ import annotations

import heapq

import numpy as np
from ortools.graph.python import max_flow, min_cost_flow

from optassign_models.problem import LOGGED, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.target.variables import MergedPlaces, TargetVariables


def deal_places(v: TargetVariables, values: IntArray, most_short: int = 0) -> tuple[Placement | None, IntArray, IntArray]:
    """Return the placement of whole values (variables,); None if merged places cannot take their copies.

    The second value has (k,) merged places with too little room for the copies that the program counts there: the fewest, or up
    to `most_short` per flow. The third has (k,) tasks of pools that could not be dealt: the placement lacks these copies.
    """
    problem, C = v.scope.problem, v.scope.problem.C
    counts, without_room = _split_merged_places(v, values, most_short)
    if counts is None:
        return None, without_room, without_room[:0]
    copies_at, actives_at = counts

    active = np.full(problem.T, -1, dtype=np.int64)
    on = v.a_column[values[v.a] > 0]
    active[problem.col_task[on]] = problem.col_client[on]
    in_pool = values[v.pa]
    zone_of = v.scope.zone_of
    keys, not_dealt = deal_pools(problem, zone_of, (v.pa_task, v.pa_pool, in_pool), actives_at, active)
    active[keys // C] = keys % C

    held = problem.col_keys[v.y_column[values[v.y] > 0]]
    standbys = values[v.p] - in_pool[: len(v.p_task)]
    keys, stuck_too = deal_pools(problem, zone_of, (v.p_task, v.p_pool, standbys), copies_at - actives_at, active)
    logged = np.flatnonzero(problem.logged)
    standby = np.setdiff1d(np.concatenate([held, keys]), logged * C + active[logged])
    return make_placement(active, standby, C), without_room, np.union1d(not_dealt, stuck_too)


def _split_merged_places(v: TargetVariables, values: IntArray, most_short: int) -> tuple[IntArray | None, IntArray]:
    """Return (2, G, C) pooled copies of logged tasks and pooled actives, and (k,) the merged places with too little room.

    None in place of the numbers if merged places cannot take their copies.
    """
    scope, problem = v.scope, v.scope.problem
    cells = problem.G * problem.C
    copies, actives = counts = np.zeros((2, cells), dtype=np.int64)
    copies[v.q_cell], actives[v.qa_cell] = values[v.q], values[v.qa]
    in_place = scope.place_high.copy()
    room = scope.copies_bounds[1] - copies - np.bincount(scope.column_cell[v.y_column[values[v.y] > 0]], minlength=cells)
    room = np.minimum(room, in_place)
    lead = scope.actives_bounds[1] - actives - np.bincount(scope.column_cell[v.a_column[values[v.a] > 0]], minlength=cells)

    without_room = [in_place[:0]]
    for merged in v.ma:
        is_logged = merged.kind == LOGGED
        limit = np.minimum(room, lead) if is_logged else lead
        most = in_place if is_logged else np.full(cells, problem.T)
        wanted = values[merged.of_pool], values[merged.of_client]
        more, short = _transport(merged, wanted, limit[merged.cell], most[merged.cell], most_short)
        if more is None:
            return None, short
        without_room.append(short)
        actives[merged.cell] += more
        if is_logged:
            copies[merged.cell] += more
            room[merged.cell] -= more
            in_place[merged.cell] -= more
    m, ma = v.m, v.ma[0]
    standbys = values[m.of_pool] - values[ma.of_pool], values[m.of_client] - values[ma.of_client]
    more, short = _transport(m, standbys, room[m.cell], in_place[m.cell], most_short)
    if more is None:
        return None, short
    copies[m.cell] += more
    return counts.reshape(2, problem.G, problem.C), np.unique(np.concatenate([*without_room, short]))


def _transport(
    merged: MergedPlaces, wanted: tuple[IntArray, IntArray], room: IntArray, most: IntArray, most_short: int
) -> tuple[IntArray | None, IntArray]:
    """Return (k,) the copies on each merged place, with the `wanted` sums of pools and clients, and the places short of room.

    Copies go beyond `room` (k,), up to `most` (k,), if they must; None if that does not suffice. A minimum cut then shows the
    places of pools and clients that are short of room.
    """
    copies, (of_pool, of_client) = np.zeros(len(merged.cell), dtype=np.int64), wanted
    if not of_pool.any():
        return copies, merged.cell[:0]
    clients, first_client, row = len(of_client), len(merged.pool), merged.row
    source, sink = first_client + clients, first_client + clients + 1
    flow = max_flow.SimpleMaxFlow()
    open_ = np.flatnonzero((room > 0) & (of_pool[row] > 0))
    arcs = flow.add_arcs_with_capacity(row[open_], first_client + merged.cell[open_] % clients, room[open_])
    flow.add_arcs_with_capacity(np.full(first_client, source), np.arange(first_client), of_pool)
    flow.add_arcs_with_capacity(first_client + np.arange(clients), np.full(clients, sink), of_client)
    flow.solve(source, sink)
    if flow.optimal_flow() == of_pool.sum():
        copies[open_] = flow.flows(arcs)
        return copies, merged.cell[:0]
    short = merged.cell[_find_short(flow, merged, clients, most_short)]
    return _transport_beyond(merged, of_pool, of_client, np.maximum(room, 0), most), short


def _transport_beyond(
    merged: MergedPlaces, of_pool: IntArray, of_client: IntArray, room: IntArray, most: IntArray
) -> IntArray | None:
    """Return (k,) copies as `_transport`, as few as possible beyond `room`, at most `most` per place; None if infeasible."""
    tail, head = np.tile(merged.row, 2), np.tile(len(merged.pool) + merged.cell % len(of_client), 2)
    high = np.concatenate([np.minimum(room, most), np.maximum(most - room, 0)])
    cost = np.repeat([0, 1], len(room))
    copies = find_least_cost_flow(tail, head, high, cost, np.concatenate([of_pool, -of_client]))
    return None if copies is None else copies.reshape(2, -1).sum(axis=0)


def find_least_cost_flow(tail: IntArray, head: IntArray, high: IntArray, cost: IntArray, supply: IntArray) -> IntArray | None:
    """Return (arcs,) the flow of least cost up to `high` that meets the supplies (nodes,) exactly, or None if infeasible.

    RuntimeError if the solver ends in any other way.
    """
    solver = min_cost_flow.SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(tail, head, high, cost)
    nodes = np.flatnonzero(supply)
    solver.set_nodes_supplies(nodes, supply[nodes])
    status = solver.solve()
    if status in (solver.INFEASIBLE, solver.UNBALANCED):
        return None
    if status != solver.OPTIMAL:
        raise RuntimeError(f"min-cost flow ended with {status}")
    return solver.flows(np.arange(len(tail)))


def _find_short(flow: max_flow.SimpleMaxFlow, merged: MergedPlaces, clients: int, most: int) -> BoolArray:
    """Return (k,) whether a place has pool and client on the source side of a minimum cut: the widest one if it has at most
    `most` places, otherwise the narrowest.

    These pools have more copies than these clients and the pools' other places take. The program knows the room of places, but
    not how much of it these pools can use. If no client is on the source side, all places of these pools are short.
    """
    near = np.arange(len(merged.pool) + clients + 2)
    cuts = np.isin(near, flow.get_source_side_min_cut()), ~np.isin(near, flow.get_sink_side_min_cut())
    narrow, wide = (cut[merged.row] & cut[len(merged.pool) + merged.cell % clients] for cut in cuts)
    is_short = wide if not narrow.any() or wide.sum() <= most else narrow
    return is_short if is_short.any() else cuts[0][merged.row]


def deal_pools(
    problem: Problem, zone_of: IntArray, pooled: tuple[IntArray, IntArray, IntArray], places: IntArray, active: IntArray
) -> tuple[IntArray, IntArray]:
    """Deal places to tasks. Return (n,) keys of the pairs, and (k,) tasks of the pools that could not be dealt.

    Args:
        zone_of: (C,) zone of each client, 0 to Z − 1.
        pooled: task, pool (subtopology × Z + zone) and number of copies, (n,) each.
        places: (G, C) places of each subtopology on each client.
        active: (T,) the client of each active copy, −1 if not dealt yet.
    """
    Z, (task, pool, need) = int(zone_of.max()) + 1, pooled
    keys: list[int] = []
    not_dealt = [task[:0]]
    for each in np.unique(pool[need > 0]).tolist():
        at = np.flatnonzero((pool == each) & (need > 0))
        closed: dict[int, set[int]] = {}
        for t in task[at].tolist():
            columns = slice(*problem.col_start[t : t + 2]) if problem.logged[t] else slice(0)
            closed[t] = {*problem.col_client[columns].tolist(), int(active[t])}
        in_pool = np.where(zone_of == each % Z, places[each // Z], 0)
        found = deal_pool(task[at], need[at], in_pool, closed)
        if found is None:
            not_dealt.append(task[at])
        keys.extend(found or ())
    return np.array(keys, dtype=np.int64), np.unique(np.concatenate(not_dealt))


def deal_pool(tasks: IntArray, need: IntArray, places: IntArray, forbidden: dict[int, set[int]]) -> list[int] | None:
    """Give each task (K,), ascending, `need` (K,) different clients of C so that client c is used `places[c]` times.

    Σ need = Σ places. Ties go to the client whose last turn is the longest ago, then to the least index. `forbidden`: task →
    clients that it must not get. Return keys task × C + client, sorted; None if swaps do not suffice.
    """
    most_places_first = [(-number, 0, client) for client, number in enumerate(places.tolist()) if number > 0]
    heapq.heapify(most_places_first)
    given: dict[int, set[int]] = {}
    lacking: list[int] = []
    for turn, k in enumerate(np.argsort(-need, kind="stable").tolist(), start=1):
        task, wanted = int(tasks[k]), int(need[k])
        taken, closed = set[int](), forbidden.get(task, set())
        put_back: list[tuple[int, int, int]] = []
        while most_places_first and len(taken) < wanted:
            minus_places, last, client = heapq.heappop(most_places_first)
            if client in closed:
                put_back.append((minus_places, last, client))
                continue
            taken.add(client)
            if minus_places < -1:
                put_back.append((minus_places + 1, turn, client))
        for entry in put_back:
            heapq.heappush(most_places_first, entry)
        given[task] = taken
        lacking.extend([task] * (wanted - len(taken)))
    left: list[int] = []
    for minus_places, _, client in sorted(most_places_first, key=lambda entry: entry[2]):
        left.extend([client] * -minus_places)
    for task in lacking:
        swap = _find_swap(task, given, left, forbidden)
        if swap is None:
            return None
        place, other, client = swap
        given[other] = given[other] - {client} | {place}
        given[task].add(client)
        left.remove(place)
    return [task * len(places) + client for task in sorted(given) for client in sorted(given[task])]


def _find_swap(
    task: int, given: dict[int, set[int]], left: list[int], forbidden: dict[int, set[int]]
) -> tuple[int, int, int] | None:
    """Return a place that is left, another task that can take it, and the client that this task gets in exchange; or None."""
    closed = given[task] | forbidden.get(task, set())
    for place in left:
        for other, theirs in given.items():
            if other == task or place in theirs or place in forbidden.get(other, ()):
                continue
            swap = next((client for client in sorted(theirs) if client not in closed), None)
            if swap is not None:
                return place, other, swap
    return None
