"""Goals (a) `rack_traffic` and `rack_cost`, where pairs are too many for one model: tasks of a subtopology trade their places.

How many active copies and standbys of a subtopology each client has stays as it is, so every window is kept. Which task has
which place is a min-cost flow, task → rack, for the actives and then for the standbys of each subtopology: least traffic for
these numbers, then fewest moves; who arrives gets, at the least restore costs, the places of who has left. Where that fails
because of R2, one flow has all places; so it is under `rack_cost`, which knows clients apart. Round after round, until no trade
reads less across racks: traffic only falls, so that ends, and a plan that comes out is one that would be found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optassign.models.flows.network import Network
from optassign.models.goals.rack_cost import NAME as COST
from optassign.models.goals.rack_cost import Costs
from optassign.models.goals.rack_traffic import NAME as TRAFFIC
from optassign.models.goals.rack_traffic import Racks
from optassign.models.problem import BoolArray, IntArray, Placement, Problem, make_placement

__all__ = ["bound_traffic", "count_traffic", "lessen_traffic"]

_MOST_ROUNDS = 20
_MOST_ARCS = 200_000
"""Of the flow of one subtopology with all places: one of more is left as it is."""


def count_traffic(problem: Problem, placed: Placement) -> int:
    """What goal `rack_traffic` or `rack_cost` counts of a placement; 0 where racks are not known."""
    prices = _find_prices(problem)
    if prices is None:
        return 0
    of_actives, of_standbys = prices
    return int(
        of_actives.of(np.arange(problem.T), placed.active).sum()
        + of_standbys.of(placed.standby_task, placed.standby_client).sum()
    )


def bound_traffic(problem: Problem) -> int:
    """What no plan is below: each copy where it costs least."""
    prices = _find_prices(problem)
    if prices is None or not problem.T:
        return 0
    of_actives, of_standbys = prices
    return int(of_actives.least.sum() + of_standbys.least[problem.logged].sum() * problem.standbys)


def lessen_traffic(problem: Problem, placed: Placement) -> Placement:
    """The placement, its tasks traded for less traffic or cost; the same one where no trade brings less."""
    prices = _find_prices(problem)
    if prices is None:
        return placed
    for _ in range(_MOST_ROUNDS):
        before = count_traffic(problem, placed)
        placed = _trade_actives(problem, prices[0], placed)
        placed = _trade_standbys(problem, prices[1], placed)
        if count_traffic(problem, placed) == before:
            break
    return placed


@dataclass(frozen=True, eq=False)
class _Prices:
    """What copies of one role cost."""

    problem: Problem
    rack_of: IntArray
    """(C,)"""
    reads: IntArray
    """(T, R) what a copy reads across racks, at what that costs."""
    elsewhere: IntArray
    """(T,) what a copy costs beside that where it was not before."""
    before: BoolArray
    """(A,) columns where it was."""

    def of(self, task: IntArray, client: IntArray) -> IntArray:
        """(n,) the price of each pair."""
        price: IntArray = self.reads[task, self.rack_of[client]]
        if not self.elsewhere.any():
            return price
        was = self.problem.flag_of(task * self.problem.C + client, self.before)
        return price + np.where(was, 0, self.elsewhere[task])

    @cached_property
    def least(self) -> IntArray:
        """(T,) what a copy of each task costs at least."""
        least: IntArray = self.reads.min(axis=1) + self.elsewhere
        task, client = self.problem.col_task[self.before], self.problem.col_client[self.before]
        np.minimum.at(least, task, self.reads[task, self.rack_of[client]])
        return least


def _find_prices(problem: Problem) -> tuple[_Prices, _Prices] | None:
    """Of actives and of standbys, by the goal that is asked for; None where racks are not known."""
    costs = problem.data_of(COST, Costs)
    racks = problem.data_of(TRAFFIC, Racks) if costs is None else costs.racks
    if racks is None:
        return None
    traffic, elsewhere = (1, 0) if costs is None else (costs.traffic, costs.elsewhere)

    def make(reads: IntArray, has: BoolArray, before: BoolArray) -> _Prices:
        return _Prices(problem, racks.rack_of, reads * traffic, has * elsewhere, before)

    return (
        make(racks.active, problem.has_owner, problem.col_owner),
        make(racks.standby, problem.has_history, problem.col_standby),
    )


def _trade_actives(problem: Problem, prices: _Prices, placed: Placement) -> Placement:
    taken = np.zeros((problem.T, problem.C), dtype=np.bool_)
    taken[placed.standby_task, placed.standby_client] = True
    client = _trade(problem, prices, np.arange(problem.T), placed.active, taken)
    return make_placement(client, placed.standby_keys(problem.C), problem.C)


def _trade_standbys(problem: Problem, prices: _Prices, placed: Placement) -> Placement:
    taken = np.zeros((problem.T, problem.C), dtype=np.bool_)
    taken[np.arange(problem.T), placed.active] = True
    task = placed.standby_task
    client = _trade(problem, prices, task, placed.standby_client, taken)
    return make_placement(placed.active, task * problem.C + client, problem.C)


def _trade(problem: Problem, prices: _Prices, task: IntArray, client: IntArray, taken: BoolArray) -> IntArray:
    """(n,) the clients of these copies of one role, ascending by task, once those of each subtopology have traded places.

    Args:
        prices: what these copies cost.
        taken: (T, C) places that a task may not have: it has a copy of the other role there.
    """
    client = client.copy()
    costs, least = prices.of(task, client), prices.least[task]
    start = np.searchsorted(problem.group[task], np.arange(problem.G + 1))
    for group in np.unique(problem.group[task[costs > least]]).tolist():
        own = slice(int(start[group]), int(start[group + 1]))
        client[own] = _trade_group(problem, prices, task[own], client[own], taken)
    return client


def _trade_group(problem: Problem, prices: _Prices, task: IntArray, client: IntArray, taken: BoolArray) -> IntArray:
    """The same of one subtopology; where that brings no less, the clients as they are."""
    found = None
    if not prices.elsewhere.any():  # else it matters which client of a rack it is
        found = _trade_by_racks(problem, prices.rack_of, prices.reads, task, client, taken)
    if found is None:
        found = _trade_by_clients(problem, prices, task, client, taken)
    if found is None or prices.of(task, found).sum() >= prices.of(task, client).sum():
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


def _trade_by_clients(problem: Problem, prices: _Prices, task: IntArray, client: IntArray, taken: BoolArray) -> IntArray | None:
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
        0: prices.of(tasks[rows], clients[columns]),
        1: problem.cost_of(key),
        2: (~np.isin(key, task * problem.C + client)).astype(np.int64),
    }
    arcs = network.add_arcs(tails[rows], heads[columns], 1, cost=costs)
    result = network.solve()
    if result is None:
        return None
    found: IntArray = np.sort(key[result.flow[arcs] > 0]) % problem.C
    return found
