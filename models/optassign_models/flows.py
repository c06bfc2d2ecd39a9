"""Active copies as a min-cost flow: task → (subtopology, client) → stateful tasks → all tasks of a client → sink.

The shares of the actives are laminar: all tasks of a client ⊃ its stateful ones ⊃ those of a subtopology. So the flow is exact,
and its optimum proven. It leaves standbys out, so it is a relaxation of the whole problem, and its optimum a bound.

OR-Tools' SimpleMinCostFlow takes one int64 cost per arc, so `Network` optimises one goal after the other. The optimum of a goal
yields node potentials. An arc whose reduced cost is not zero keeps its flow in every optimum (complementary slackness: Ahuja,
Magnanti, Orlin, Network Flows, 1993, chapter 9), so it is fixed, and the next goal is optimised over the arcs that remain free.
Every stage is exact, and the potentials are a proof of optimality that does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from ortools.graph.python import min_cost_flow

from optassign_models.goals.goal import PairCosts, price_active_moves
from optassign_models.greedy.choosing import ArcTable
from optassign_models.problem import STATELESS, BoolArray, IntArray, Problem, exact_sum, rank_within
from optassign_models.rebalance import OffloadOptions
from optassign_models.shares import ShareBounds, ShareFamilies
from optassign_models.target.deal import deal_pool

_LARGEST_COST = 1 << 61
"""Costs of paths, and the solver's own multiples of costs, have to stay below this to fit into int64."""


class Network(ArcTable):
    """A network with capacities, and costs of several goals, on its arcs."""

    def __init__(self, goals: int) -> None:
        """`goals`: the number of costs of each arc, the most important first."""
        super().__init__()
        self._goals = goals

    def add_arcs(
        self, tail: IntArray, head: IntArray, high: IntArray | int, cost: Mapping[int, IntArray | int] = MappingProxyType({})
    ) -> slice:
        """Add arcs (n,) from nodes `tail` to nodes `head` of capacity `high`, in units; return their slice of all arcs.

        `cost`: of one unit (n,), by goal; 0 for goals that are left out.
        """
        return self._append(tail, head, high, *(cost.get(goal, 0) for goal in range(self._goals)))

    def solve(self) -> tuple[IntArray, list[int]] | None:
        """Return (arcs,) units on each arc in the lexicographic optimum; None if no flow meets supplies and capacities.

        The second value has a lower bound of each goal's cost: the optimum, unless its costs were rounded.
        """
        table, supply = np.concatenate(self._blocks, axis=1), np.concatenate(self._supply)
        tail, head, high = table[:3]
        flow, is_free = np.zeros_like(high), high > 0
        bounds: list[int] = []
        for number, each in enumerate(table[3:]):
            if number and not np.any(each[is_free]):
                bounds.append(exact_sum(each, flow))  # no arc that is still free has a cost: nothing to optimise
                continue
            greatest = int(np.abs(each).max(initial=0))
            scale = max(1, -(-greatest * (self._nodes + 2) * 4 // _LARGEST_COST))
            rounded = each // scale  # downwards: so bounds stay bounds
            fixed = np.where(is_free, 0, flow)
            net = supply.copy()
            np.subtract.at(net, tail, fixed)
            np.add.at(net, head, fixed)
            arcs = tail[is_free], head[is_free], high[is_free], rounded[is_free]
            found = _find_least_cost_flow(*arcs, net)
            if found is None:
                return None
            flow[is_free] = found
            is_free[is_free] = _reduce_costs(*arcs, found, self._nodes) == 0
            bounds.append(exact_sum(rounded, flow) * scale)
        return flow, bounds


def _find_least_cost_flow(tail: IntArray, head: IntArray, high: IntArray, cost: IntArray, supply: IntArray) -> IntArray | None:
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


def _reduce_costs(tail: IntArray, head: IntArray, high: IntArray, cost: IntArray, flow: IntArray, nodes: int) -> IntArray:
    """Return (arcs,) the reduced costs by potentials that prove a flow optimal.

    The potentials are shortest distances in the residual network, by the labels of Bellman and Ford. RuntimeError if they show
    that the flow is not optimal.
    """
    forward, backward = np.flatnonzero(flow < high), np.flatnonzero(flow > 0)
    source = np.concatenate([tail[forward], head[backward]])
    target = np.concatenate([head[forward], tail[backward]])
    length = np.concatenate([cost[forward], -cost[backward]])
    order = np.argsort(target, kind="stable")
    source, target, length = source[order], target[order], length[order]
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    reached = target[starts]
    distance = np.zeros(nodes, dtype=np.int64)
    for _ in range(nodes + 1):
        if not len(starts):
            break
        best = np.minimum.reduceat(distance[source] + length, starts)
        better = best < distance[reached]
        if not better.any():
            break
        distance[reached[better]] = best[better]
    else:
        raise RuntimeError("the flow is not optimal: a residual cycle has negative cost")
    return cost + distance[tail] - distance[head]


def find_least_imbalance_actives(problem: Problem, shares: ShareFamilies, columns: BoolArray) -> tuple[IntArray, int]:
    """Return the actives (T,) of least imbalance, summed over the three families of active shares, and a bound of this sum.

    Ties go to fewest moves. `columns`: (A,) columns that may be used; each task has one.
    """
    no_pools = np.zeros(problem.T, dtype=np.bool_)
    active, bound = _find_actives(problem, shares, columns, no_pools, (None, price_active_moves(problem)))
    # Costs of soft shares are relative to the imbalance without any active.
    return active, bound + sum(each.imbalance(0 * each.low) for each in (shares.active, shares.stateful, shares.group_active))


def find_offload(options: OffloadOptions) -> tuple[IntArray, int]:
    """Return the actives (T,) of least cost (`OffloadOptions.evaluate`), and a lower bound of the cost.

    Ties go to most actives on their planned clients, then to fewest moves, then to least imbalance.
    """
    problem = options.problem
    off_target = (options.planned[problem.col_task] != problem.col_client).astype(np.int64)
    costs = (options.cost, PairCosts(off_target, np.ones(problem.T, dtype=np.int64)), price_active_moves(problem), None)
    return _find_actives(problem, options.shares, options.columns, options.pools, costs, options.excess_cost)


def _find_actives(
    problem: Problem,
    shares: ShareFamilies,
    columns: BoolArray,
    pools: BoolArray,
    costs: Sequence[PairCosts | None],
    excess_cost: int = 0,
) -> tuple[IntArray, int]:
    """Return the actives (T,) of least cost, and a bound of the first goal.

    Args:
        columns: (A,) columns that may be used; each task has one.
        pools: (T,) stateless tasks that may be on a client of their pool.
        costs: of an active in each goal, most important first; None for the imbalance of shares.
        excess_cost: the cost in the first goal of each task beyond a client's share of all active tasks.
    """
    T, C, G = problem.T, problem.C, problem.G
    moves = price_active_moves(problem)
    tie = PairCosts(moves.columns * (T - problem.col_task), moves.pools * (T - np.arange(T)))
    of_goals = list(enumerate((*costs, tie)))
    network = Network(len(of_goals))
    nothing = np.zeros(G * C + C, dtype=np.int64)
    tasks = network.add_nodes(np.ones(T, dtype=np.int64))
    cells, stateful, clients, in_pools = (network.add_nodes(nothing[:number]) for number in (G * C, C, C, G))
    sink = np.repeat(network.add_nodes(np.array([-T])), C)

    column = np.flatnonzero(columns)
    task, cell = problem.col_task[column], problem.group[problem.col_task[column]] * C + problem.col_client[column]
    by_goal = {goal: each.columns[column] for goal, each in of_goals if each is not None}
    on_columns = network.add_arcs(tasks[task], cells[cell], 1, cost=by_goal)
    pooled = np.flatnonzero(pools & (problem.pool_size > 0))
    by_goal = {goal: each.pools[pooled] for goal, each in of_goals if each is not None}
    network.add_arcs(tasks[pooled], in_pools[problem.group[pooled]], 1, cost=by_goal)
    in_pool = np.bincount(problem.group[pooled], minlength=G)
    group, client = np.repeat(np.flatnonzero(in_pool), C), np.tile(np.arange(C), int(np.sum(in_pool > 0)))
    from_pools = network.add_arcs(in_pools[group], cells[group * C + client], in_pool[group])

    imbalance = costs.index(None)
    reach = (np.bincount(cell, minlength=G * C) + np.repeat(in_pool, C)).reshape(G, C)
    is_stateful = problem.kind != STATELESS
    after_cell = np.where(is_stateful[:, None], stateful, clients).ravel()
    of_cells = ShareBounds(shares.group_active.low.ravel(), shares.group_active.high.ravel())
    _add_soft_share(network, cells, after_cell, of_cells, reach.ravel(), imbalance)
    _add_soft_share(network, stateful, clients, shares.stateful, reach[is_stateful].sum(axis=0), imbalance)
    _add_soft_share(network, clients, sink, shares.active, reach.sum(axis=0), imbalance, excess_cost)

    found = network.solve()
    assert found is not None  # every task has a column, and shares are soft
    flow, bounds = found
    active = np.full(T, -1, dtype=np.int64)
    on = flow[on_columns] > 0
    active[task[on]] = problem.col_client[column[on]]
    places = np.zeros((G, C), dtype=np.int64)
    places[group, client] = flow[from_pools]
    for each in np.unique(problem.group[active < 0]).tolist():
        waiting = np.flatnonzero((active < 0) & (problem.group == each))
        keys = deal_pool(waiting, np.ones_like(waiting), places[each], {})
        assert keys is not None
        active[waiting] = np.array(keys) % C
    return active, bounds[0]


def _add_soft_share(
    network: Network, tails: IntArray, heads: IntArray, share: ShareBounds, most: IntArray, place: int, excess_cost: int = 0
) -> None:
    """Add parallel arcs of rising cost in goal `place`: −low, …, −1 up to the share, 0 inside, 1, 2, … beyond it.

    Args:
        most: (n,) units that can reach each tail; no more arcs are needed.
        excess_cost: the cost in the first goal of each unit beyond the share.
    """
    below = np.minimum(share.low, most)
    inside = np.minimum(share.high, most) - below
    beyond = most - below - inside
    rows = np.repeat(np.arange(len(tails)), below)
    step = rank_within(rows)  # the number of the row's units before each
    network.add_arcs(tails[rows], heads[rows], 1, cost={place: step - share.low[rows]})
    some = np.flatnonzero(inside)
    network.add_arcs(tails[some], heads[some], inside[some])
    rows = np.repeat(np.arange(len(tails)), beyond)
    network.add_arcs(tails[rows], heads[rows], 1, cost={0: excess_cost, place: rank_within(rows) + 1})
