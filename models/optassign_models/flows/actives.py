"""Active copies as a min-cost flow: task → (subtopology, client) → logged → stateful → all of a client → sink.

The shares of the actives are laminar (all tasks of a client ⊃ its stateful ones ⊃ those of a subtopology; without standbys the
share of the copies of logged tasks stands between), so the flow is exact, and its optimum proven. Standbys are left out: as
a part of the whole problem this is a relaxation, and its optimum a bound.

1. A network is built: arcs for columns, arcs for pools, and arcs whose bounds or costs are the shares.
2. The flow is solved in the order of the goals.
3. Tasks that the flow sends through their pool are dealt the places that it leaves them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from optassign_models.flows.network import Network
from optassign_models.goals import GoalModel
from optassign_models.goals.goal import PairCosts
from optassign_models.goals.moves import ACTIVE_MOVES
from optassign_models.offload import OFFLOAD, OffloadOptions, Price
from optassign_models.pools import deal_pool
from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Problem
from optassign_models.results import Actives
from optassign_models.shares import ShareBounds, ShareFamilies

_IMBALANCE, _OFF_TARGET = "active_imbalance", "off_target"


def find_least_imbalance_actives(
    problem: Problem, shares: ShareFamilies, columns: BoolArray, pools: BoolArray
) -> Actives | None:
    """Find actives of least imbalance, summed over the three families of active shares, and among these of fewest moves.

    Args:
        columns: (A,) columns that may be used.
        pools: (T,) tasks that may be on a client of their pool.
    """
    if not problem.T:
        return Actives(np.zeros(0, dtype=np.int64), [0, 0])
    moves = ACTIVE_MOVES
    network = _ActivesNetwork(problem, _list_costs(problem, (moves,)), (_IMBALANCE, moves.name, "tie"))
    network.add_columns(columns)
    network.add_pools(pools)
    network.add_soft_shares(shares, _IMBALANCE)
    found = network.solve(2)
    if found is not None:
        found.bounds[0] += _compute_imbalance_of_nothing(shares)
    return found


def _list_costs(problem: Problem, goals: tuple[GoalModel, ...]) -> dict[str, PairCosts]:
    """Goal → what an active costs."""
    return {goal.name: goal.cost_per_active(problem) for goal in goals if goal.cost_per_active is not None}


class _ActivesNetwork:
    """The network of the actives."""

    def __init__(self, problem: Problem, costs: Mapping[str, PairCosts], order: tuple[str, ...]) -> None:
        """Make a network without arcs.

        costs: name → what each active costs.
        order: the names of all costs, the most important first: these, `active_imbalance`, `tie`.
        """
        T, C, G = problem.T, problem.C, problem.G
        self._problem, self._order = problem, order
        self._costs = costs
        self._network = Network(len(order))
        self._tasks, self._cells = self._network.add_nodes(T), self._network.add_nodes(G * C)
        self._logged, self._stateful, self._clients = (self._network.add_nodes(C) for _ in range(3))
        self._pools, self._sink = self._network.add_nodes(G), self._network.add_nodes(1)
        self._network.add_supply(self._tasks, 1)
        self._network.add_supply(self._sink, -T)

    def add_columns(self, columns: BoolArray) -> None:
        """Arcs task → cell (subtopology, client) for the columns (A,) that may be used."""
        problem = self._problem
        column = np.flatnonzero(columns)
        self._task, self._client = problem.col_task[column], problem.col_client[column]
        moved = problem.has_owner[self._task] & ~problem.col_owner[column]
        cost = {name: each.columns[column] for name, each in self._costs.items()}
        cost["tie"] = moved * (problem.T - self._task)
        self._cell = problem.group[self._task] * problem.C + self._client
        self._on_columns = self._network.add_arcs(self._tasks[self._task], self._cells[self._cell], 1, cost=self._by_goal(cost))

    def add_pools(self, pools: BoolArray) -> None:
        """Arcs task → pool of its subtopology → cell for tasks (T,) that may be on a client of their pool."""
        problem, G, C = self._problem, self._problem.G, self._problem.C
        pooled = np.flatnonzero(pools & (problem.pool_size > 0))
        moved = problem.has_owner[pooled]
        cost = {name: each.pools[pooled] for name, each in self._costs.items()}
        cost["tie"] = moved * (problem.T - pooled)
        self._network.add_arcs(self._tasks[pooled], self._pools[problem.group[pooled]], 1, cost=self._by_goal(cost))
        self._in_pool = np.bincount(problem.group[pooled], minlength=G)
        self._pool_group = np.repeat(np.flatnonzero(self._in_pool), C)
        self._pool_client = np.tile(np.arange(C), int(np.sum(self._in_pool > 0)))
        cell = self._cells[self._pool_group * C + self._pool_client]
        self._from_pools = self._network.add_arcs(self._pools[self._pool_group], cell, self._in_pool[self._pool_group])

    def add_soft_shares(self, shares: ShareFamilies, imbalance: str, too_many: tuple[str, int] | None = None) -> None:
        """Arcs from the cells to the sink whose costs are the imbalance of the shares.

        Args:
            imbalance: the name of the cost that counts it.
            too_many: another cost, and what each task adds to it that is beyond a client's share of all active tasks.
        """
        any_number = ShareBounds(np.zeros(self._problem.C, dtype=np.int64), np.full(self._problem.C, self._problem.T))
        place = self._order.index(imbalance)
        levels = self._list_levels(shares, any_number)
        for tails, heads, share, most in levels[:-1]:
            _add_soft_share(self._network, tails, heads, share, most, place)
        beyond = {} if too_many is None else {self._order.index(too_many[0]): too_many[1]}
        _add_soft_share(self._network, *levels[-1], place, beyond)

    def solve(self, reported: int) -> Actives | None:
        """Return the actives, and bounds of the first `reported` goals; None where no flow keeps the shares."""
        result = self._network.solve()
        if result is None:
            return None
        active = np.full(self._problem.T, -1, dtype=np.int64)
        on = result.flow[self._on_columns] > 0
        active[self._task[on]] = self._client[on]
        places = np.zeros((self._problem.G, self._problem.C), dtype=np.int64)
        places[self._pool_group, self._pool_client] = result.flow[self._from_pools]
        return Actives(_deal_actives(self._problem, active, places), result.bounds[:reported])

    def _by_goal(self, cost: dict[str, IntArray]) -> dict[int, IntArray | int]:
        """Return the costs by their numbers instead of their names."""
        return {number: cost[name] for number, name in enumerate(self._order) if name in cost}

    def _list_levels(
        self, shares: ShareFamilies, in_logged: ShareBounds
    ) -> list[tuple[IntArray, IntArray, ShareBounds, IntArray]]:
        """For each level of arcs: tails, heads, the share, and the greatest flow that can come.

        in_logged: (C,) share of the actives of logged tasks.
        """
        problem, C = self._problem, self._problem.C
        in_columns = np.bincount(self._cell, minlength=problem.G * C)
        reach = (in_columns + np.repeat(self._in_pool, C)).reshape(problem.G, C)
        after_cell = np.stack([self._clients, self._stateful, self._logged])[problem.kind]
        of_cells = ShareBounds(shares.group_active.low.ravel(), shares.group_active.high.ravel())
        return [
            (self._cells, after_cell.ravel(), of_cells, reach.ravel()),
            (self._logged, self._stateful, in_logged, reach[problem.kind == LOGGED].sum(axis=0)),
            (self._stateful, self._clients, shares.stateful, reach[problem.kind != STATELESS].sum(axis=0)),
            (self._clients, np.broadcast_to(self._sink, (C,)), shares.active, reach.sum(axis=0)),
        ]


def _compute_imbalance_of_nothing(shares: ShareFamilies) -> int:
    """Return the imbalance of no actives at all: the costs of soft shares are relative to it."""
    lows = (shares.active.low, shares.stateful.low, shares.group_active.low)
    return sum(int(np.sum(low * (low + 1) // 2)) for low in lows)


def _add_soft_share(
    network: Network,
    tails: IntArray,
    heads: IntArray,
    share: ShareBounds,
    most: IntArray,
    place: int,
    beyond_in: Mapping[int, int] = MappingProxyType({}),
) -> None:
    """Add parallel arcs of rising cost in goal `place`: −low, …, −1 up to the share, 0 inside, 1, 2, … beyond it.

    Args:
        most: (n,) units that can come at each tail, so that no more arcs are needed.
        beyond_in: of other goals, what each unit beyond the share costs.
    """
    below = np.minimum(share.low, most)
    inside = np.minimum(share.high, most) - below
    beyond = most - below - inside
    rows, step = _number_units(below)
    network.add_arcs(tails[rows], heads[rows], 1, cost={place: step - share.low[rows]})
    some = np.flatnonzero(inside)
    network.add_arcs(tails[some], heads[some], inside[some])
    rows, step = _number_units(beyond)
    network.add_arcs(tails[rows], heads[rows], 1, cost={place: step + 1, **beyond_in})


def _number_units(number: IntArray) -> tuple[IntArray, IntArray]:
    """One element for each unit of each row: the row, and how many units of the row stand before it."""
    rows = np.repeat(np.arange(len(number)), number)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(number) - number, number)


def _deal_actives(problem: Problem, active: IntArray, places: IntArray) -> IntArray | None:
    """Return (T,) the actives, once tasks that took their pool (−1) have got its places (G, C); None where dealing fails.

    A client with a column of a logged task is not in that task's pool.
    """
    active = active.copy()
    waiting = np.flatnonzero(active < 0)
    for group in np.unique(problem.group[waiting]).tolist():
        tasks = waiting[problem.group[waiting] == group]
        forbidden = {}
        if problem.logged[tasks[0]]:
            for task in tasks.tolist():
                columns = slice(problem.col_start[task], problem.col_start[task + 1])
                forbidden[task] = set(problem.col_client[columns].tolist())
        keys = deal_pool(tasks, np.ones(len(tasks), dtype=np.int64), places[group], forbidden, problem.C)
        if keys is None:
            return None
        pairs = np.array(keys, dtype=np.int64)
        active[pairs // problem.C] = pairs % problem.C
    return active


def find_offload(
    options: OffloadOptions, shares: ShareFamilies, plan_active: IntArray, price: Price
) -> tuple[IntArray, int] | None:
    """Actives (T,) of the least value, and a bound of it; of equals most actives where the plan (T,) has them, then fewest
    moves, then least imbalance. None where the places of a pool could not be dealt out."""
    problem = options.problem
    off_target = (plan_active[problem.col_task] != problem.col_client).astype(np.int64)
    moves = ACTIVE_MOVES.cost_per_active
    assert moves is not None
    costs = {
        OFFLOAD: options.cost,
        _OFF_TARGET: PairCosts(off_target, np.ones(problem.T, dtype=np.int64)),
        ACTIVE_MOVES.name: moves(problem),
    }
    network = _ActivesNetwork(problem, costs, (*costs, _IMBALANCE, "tie"))
    network.add_columns(options.columns)
    network.add_pools(options.pools)
    network.add_soft_shares(shares, _IMBALANCE, (OFFLOAD, price.imbalance))
    found = network.solve(1)
    if found is None or found.active is None:
        return None
    return found.active, found.bounds[0]
