"""Goal (a), `rack_traffic`, where pairs are too many for one model: tasks of a subtopology trade the places that they have.

How many active copies and standbys of a subtopology each client has stays as it is, so every window is kept. Which task has
which place is a min-cost flow, task → rack, for the actives and then for the standbys of each subtopology: least traffic for
these numbers, then fewest moves; who arrives gets, at the least restore costs, the places of who has left. Where that fails
because of R2, one flow has all places. Round after round, until no trade reads less across racks: traffic only falls, so that
ends, and a plan that comes out is one that would be found again.
"""

from __future__ import annotations

import numpy as np

from optassign.models.flows.network import Network
from optassign.models.goals.rack_traffic import NAME, Racks
from optassign.models.problem import BoolArray, IntArray, Placement, Problem, make_placement

__all__ = ["bound_traffic", "count_traffic", "lessen_traffic"]

_MOST_ROUNDS = 20
_MOST_ARCS = 200_000
"""Of the flow of one subtopology with all places: one of more is left as it is."""


def count_traffic(problem: Problem, placed: Placement) -> int:
    """Partitions that copies read across racks; 0 where racks are not known."""
    racks = problem.data_of(NAME, Racks)
    if racks is None:
        return 0
    of_actives = racks.active[np.arange(problem.T), racks.rack_of[placed.active]]
    return int(of_actives.sum() + racks.standby[placed.standby_task, racks.rack_of[placed.standby_client]].sum())


def bound_traffic(problem: Problem) -> int:
    """What no plan is below: each copy in the rack where it reads least."""
    racks = problem.data_of(NAME, Racks)
    if racks is None or not problem.T:
        return 0
    of_standbys = racks.standby.min(axis=1)[problem.logged].sum() * problem.standbys
    return int(racks.active.min(axis=1).sum() + of_standbys)


def lessen_traffic(problem: Problem, placed: Placement) -> Placement:
    """The placement, its tasks traded for less traffic; the same one where no trade brings less."""
    racks = problem.data_of(NAME, Racks)
    if racks is None:
        return placed
    for _ in range(_MOST_ROUNDS):
        before = count_traffic(problem, placed)
        placed = _trade_actives(problem, racks, placed)
        placed = _trade_standbys(problem, racks, placed)
        if count_traffic(problem, placed) == before:
            break
    return placed


def _trade_actives(problem: Problem, racks: Racks, placed: Placement) -> Placement:
    taken = np.zeros((problem.T, problem.C), dtype=np.bool_)
    taken[placed.standby_task, placed.standby_client] = True
    client = _trade(problem, racks.rack_of, racks.active, np.arange(problem.T), placed.active, taken)
    return make_placement(client, placed.standby_keys(problem.C), problem.C)


def _trade_standbys(problem: Problem, racks: Racks, placed: Placement) -> Placement:
    taken = np.zeros((problem.T, problem.C), dtype=np.bool_)
    taken[np.arange(problem.T), placed.active] = True
    task = placed.standby_task
    client = _trade(problem, racks.rack_of, racks.standby, task, placed.standby_client, taken)
    return make_placement(placed.active, task * problem.C + client, problem.C)


def _trade(
    problem: Problem, rack_of: IntArray, crossings: IntArray, task: IntArray, client: IntArray, taken: BoolArray
) -> IntArray:
    """(n,) the clients of these copies of one role, ascending by task, once those of each subtopology have traded places.

    Args:
        crossings: (T, R) what a copy reads across racks.
        taken: (T, C) places that a task may not have: it has a copy of the other role there.
    """
    client = client.copy()
    reads, least = crossings[task, rack_of[client]], crossings.min(axis=1)[task]
    start = np.searchsorted(problem.group[task], np.arange(problem.G + 1))
    for group in np.unique(problem.group[task[reads > least]]).tolist():
        own = slice(int(start[group]), int(start[group + 1]))
        client[own] = _trade_group(problem, rack_of, crossings, task[own], client[own], taken)
    return client


def _trade_group(
    problem: Problem, rack_of: IntArray, crossings: IntArray, task: IntArray, client: IntArray, taken: BoolArray
) -> IntArray:
    """The same of one subtopology; where that brings no less traffic, the clients as they are."""
    found = _trade_by_racks(problem, rack_of, crossings, task, client, taken)
    if found is None:
        found = _trade_by_clients(problem, rack_of, crossings, task, client, taken)
    if found is None or crossings[task, rack_of[found]].sum() >= crossings[task, rack_of[client]].sum():
        return client
    return found


def _trade_by_racks(
    problem: Problem, rack_of: IntArray, crossings: IntArray, task: IntArray, client: IntArray, taken: BoolArray
) -> IntArray | None:
    """Which copies go to which rack first, as traffic depends on that alone; then who arrives gets the places of who has left.

    None where somebody who arrives has a copy already wherever there is a place.
    """
    tasks, row = np.unique(task, return_inverse=True)
    racks, column = np.unique(rack_of[client], return_inverse=True)
    here = np.zeros((len(tasks), len(racks)), dtype=np.int64)
    np.add.at(here, (row, column), 1)
    reads = crossings[np.ix_(tasks, racks)].ravel()
    network = Network(2)
    tails, heads = network.add_nodes(len(tasks)), network.add_nodes(len(racks))
    network.add_supply(tails, here.sum(axis=1))
    network.add_supply(heads, -here.sum(axis=0))
    ways = np.repeat(tails, len(racks)), np.tile(heads, len(tasks))
    stay = network.add_arcs(*ways, here.ravel(), cost={0: reads})
    come = network.add_arcs(*ways, (here.sum(axis=1, keepdims=True) - here).ravel(), cost={0: reads, 1: 1})
    result = network.solve()
    if result is None:
        return None
    wanted = (result.flow[stay] + result.flow[come]).reshape(here.shape)
    order = np.lexsort((problem.cost_of(task * problem.C + client), column, row))
    run = row[order] * len(racks) + column[order]
    place = np.arange(len(order)) - np.searchsorted(run, run)
    kept = np.zeros(len(task), dtype=np.bool_)
    kept[order] = place < wanted[row[order], column[order]]
    arriving = np.maximum(wanted - here, 0)
    taken = taken.copy()
    taken[task[kept], client[kept]] = True
    keys = [task[kept] * problem.C + client[kept]]
    for rack in np.flatnonzero(arriving.sum(axis=0)).tolist():
        who = np.flatnonzero(arriving[:, rack])
        dealt = _deal(problem, tasks[who], arriving[who, rack], client[~kept & (column == rack)], taken)
        if dealt is None:
            return None
        keys.append(dealt)
    found: IntArray = np.sort(np.concatenate(keys)) % problem.C
    return found


def _deal(problem: Problem, tasks: IntArray, number: IntArray, places: IntArray, taken: BoolArray) -> IntArray | None:
    """Keys of so many copies of each task on these places, at the least restore costs; None where that does not go."""
    clients, of_client = np.unique(places, return_counts=True)
    rows, columns = np.nonzero(~taken[np.ix_(tasks, clients)])
    if not len(rows):
        return None
    key = tasks[rows] * problem.C + clients[columns]
    network = Network(1)
    tails, heads = network.add_nodes(len(tasks)), network.add_nodes(len(clients))
    network.add_supply(tails, number)
    network.add_supply(heads, -of_client)
    arcs = network.add_arcs(tails[rows], heads[columns], 1, cost={0: problem.cost_of(key)})
    result = network.solve()
    return None if result is None else key[result.flow[arcs] > 0]


def _trade_by_clients(
    problem: Problem, rack_of: IntArray, crossings: IntArray, task: IntArray, client: IntArray, taken: BoolArray
) -> IntArray | None:
    """The same in one flow with an arc for each place that a task may have; None where these are too many."""
    tasks, of_task = np.unique(task, return_counts=True)
    clients, of_client = np.unique(client, return_counts=True)
    if len(tasks) * len(clients) > _MOST_ARCS:
        return None
    rows, columns = np.nonzero(~taken[np.ix_(tasks, clients)])
    key = tasks[rows] * problem.C + clients[columns]
    network = Network(3)
    tails, heads = network.add_nodes(len(tasks)), network.add_nodes(len(clients))
    network.add_supply(tails, of_task)
    network.add_supply(heads, -of_client)
    costs: dict[int, IntArray | int] = {
        0: crossings[tasks[rows], rack_of[clients[columns]]],
        1: problem.cost_of(key),
        2: (~np.isin(key, task * problem.C + client)).astype(np.int64),
    }
    arcs = network.add_arcs(tails[rows], heads[columns], 1, cost=costs)
    result = network.solve()
    if result is None:
        return None
    found: IntArray = np.sort(key[result.flow[arcs] > 0]) % problem.C
    return found
