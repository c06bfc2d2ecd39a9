"""Active copies as a min-cost flow: task → (subtopology, client) → stateful tasks → all tasks of a client → sink.

The shares of the actives are laminar: all tasks of a client ⊃ its stateful ones ⊃ those of a subtopology. So the flow is exact,
and its optimum proven. It leaves standbys out, so it is a relaxation of the whole problem, and its optimum a bound.
`find_cheapest_copies` does the same for the copies of logged tasks, without roles, for groups whose program takes too long.

OR-Tools' SimpleMinCostFlow takes one int64 cost per arc, so `Network` optimises one goal after the other. The optimum of a goal
yields node potentials. An arc whose reduced cost is not zero keeps its flow in every optimum (complementary slackness: Ahuja,
Magnanti, Orlin, Network Flows, 1993, chapter 9), so it is fixed, and the next goal is optimised over the arcs that remain free.
Every stage is exact, and the potentials are a proof of optimality that does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from optassign_models.goals.goal import GoalModel, PairCosts, price_active_moves
from optassign_models.greedy.choosing import ArcTable
from optassign_models.policy import constants as policy
from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Problem, exact_sum, rank_within
from optassign_models.rebalance import OffloadOptions
from optassign_models.shares import ShareBounds, ShareFamilies
from optassign_models.target.deal import deal_pools, find_least_cost_flow

_LARGEST_COST = 1 << 61
"""Costs of paths, and the solver's own multiples of costs, have to stay below this to fit into int64."""


class Network(ArcTable):
    """A network with capacities, and costs of several goals, on its arcs."""

    def __init__(self, goals: int) -> None:
        """`goals`: the number of costs of each arc, the most important first."""
        super().__init__()
        self._goals = goals

    def add_arcs(
        self,
        tail: IntArray,
        head: IntArray,
        high: IntArray | int,
        cost: Mapping[int, IntArray | int] = MappingProxyType({}),
        low: IntArray | int = 0,
    ) -> slice:
        """Add arcs (n,) from nodes `tail` to nodes `head` for `low` to `high` units; return their slice of all arcs.

        `cost`: of one unit (n,), by goal; 0 for goals that are left out.
        """
        return self._append(tail, head, low, high, *(cost.get(goal, 0) for goal in range(self._goals)))

    def solve(self) -> tuple[IntArray, list[int]] | None:
        """Return (arcs,) units on each arc in the lexicographic optimum; None if no flow meets supplies and capacities.

        The second value has a lower bound of each goal's cost: the optimum, unless its costs were rounded.
        """
        table, supply = np.concatenate(self._blocks, axis=1), np.concatenate(self._supply)
        tail, head, low, high = table[:4]
        flow, is_free = low.copy(), high > low
        bounds: list[int] = []
        for number, each in enumerate(table[4:]):
            if number and not np.any(each[is_free]):
                bounds.append(exact_sum(each, flow))  # no arc that is still free has a cost: nothing to optimise
                continue
            greatest = int(np.abs(each).max(initial=0))
            scale = max(1, -(-greatest * (self._nodes + 2) * 4 // _LARGEST_COST))
            rounded = each // scale  # downwards: so bounds stay bounds
            fixed = np.where(is_free, low, flow)
            net = supply.copy()
            np.subtract.at(net, tail, fixed)
            np.add.at(net, head, fixed)
            arcs = tail[is_free], head[is_free], (high - low)[is_free], rounded[is_free]
            found = find_least_cost_flow(*arcs, net)
            if found is None:
                return None
            flow[is_free] = low[is_free] + found
            is_free[is_free] = _reduce_costs(*arcs, found, self._nodes) == 0
            bounds.append(exact_sum(rounded, flow) * scale)
        return flow, bounds


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
    waiting = np.arange(T), problem.group, (active < 0).astype(np.int64)
    keys, _ = deal_pools(problem, np.zeros(C, dtype=np.int64), waiting, places, active)
    active[keys // C] = keys % C
    return active, bounds[0]


def _add_soft_share(
    network: Network, tails: IntArray, heads: IntArray, share: ShareBounds, most: IntArray, place: int, excess_cost: int = 0
) -> None:
    """Add parallel arcs of rising cost in goal `place`: −low, …, −1 up to the share, 0 inside, 1, 2, … beyond it.

    In a later goal than the first, the cost stops rising after `priced_steps`.

    Args:
        most: (n,) units that can reach each tail; no more arcs are needed.
        excess_cost: the cost in the first goal of each unit beyond the share.
    """
    below = np.minimum(share.low, most)
    inside = np.minimum(share.high, most) - below
    beyond = most - below - inside
    rows = np.repeat(np.arange(len(tails)), below)
    network.add_arcs(tails[rows], heads[rows], 1, cost={place: rank_within(rows) - share.low[rows]})
    some = np.flatnonzero(inside)
    network.add_arcs(tails[some], heads[some], inside[some])
    priced = np.minimum(beyond, policy.PRICED_STEPS) if place else beyond
    rows = np.repeat(np.arange(len(tails)), priced)
    network.add_arcs(tails[rows], heads[rows], 1, cost={0: excess_cost, place: rank_within(rows) + 1})
    some = np.flatnonzero(beyond > priced)
    network.add_arcs(tails[some], heads[some], (beyond - priced)[some], cost={0: excess_cost, place: policy.PRICED_STEPS + 1})


def find_cheapest_copies(
    problem: Problem, shares: ShareFamilies, goals: Sequence[GoalModel]
) -> tuple[IntArray | None, tuple[int, ...]]:
    """Return the copies of least cost within their shares, and a lower bound of each goal; no bounds if shares have no room.

    Goals are sums over copies, the most important first. Ties go to clients that had the copies. The flow leaves roles out, so
    it is a relaxation of the target. Copies are keys (n,), ascending; None if pooled copies cannot be dealt.
    """
    T, C, G, forced = problem.T, problem.C, problem.G, problem.forced
    number = np.where(problem.logged, problem.standbys + 1, 0)
    network, nothing = Network(len(goals) + 1), np.zeros(max(G * C, T), dtype=np.int64)
    tasks, in_tie, in_pools = network.add_nodes(number), network.add_nodes(nothing[:T]), network.add_nodes(nothing[:G])
    cells, clients, sink = (network.add_nodes(each) for each in (nothing[: G * C], nothing[:C], -number.sum(keepdims=True)))

    # Copies on cold tied clients are free up to `choices`, since R3 to R5 force so many of them.
    cold, column = forced.tie_not_caught_up, np.flatnonzero(problem.logged[problem.col_task])
    task, client = problem.col_task[column], problem.col_client[column]
    on_tie, pool_on_tie = forced.tied[column] & cold[task], forced.pool_tied & cold
    is_free, some = forced.mandatory[column] | on_tie, np.flatnonzero(cold)
    had = 4 * problem.col_owner + 2 * problem.col_standby + problem.col_state
    of_columns, of_pools, of_ties, paid = {len(goals): -had[column]}, dict[int, IntArray](), dict[int, IntArray](), list[int]()
    for goal, model in enumerate(goals):
        assert model.cost_per_copy is not None
        assert model.forced_costs is not None
        each, (per_tie, anyway) = model.cost_per_copy(problem), model.forced_costs(forced)
        of_columns[goal], of_pools[goal] = np.where(is_free, 0, each.columns[column]), np.where(pool_on_tie, 0, each.pools)
        of_ties[goal] = per_tie[some]
        paid.append(anyway)
    network.add_arcs(tasks[some], in_tie[some], forced.choices[some])
    network.add_arcs(tasks[some], in_tie[some], number[some], cost=of_ties)
    cell = problem.group[task] * C + client
    on_columns = network.add_arcs(np.where(on_tie, in_tie[task], tasks[task]), cells[cell], 1, cost=of_columns)
    most = np.minimum(number, problem.pool_size)
    to_pools = network.add_arcs(np.where(pool_on_tie, in_tie, tasks), in_pools[problem.group], most, cost=of_pools)
    is_logged = np.repeat(problem.kind == LOGGED, C)
    low, high = (np.where(is_logged, each.ravel(), 0) for each in (shares.group_copies.low, shares.group_copies.high))
    from_pools = network.add_arcs(np.repeat(in_pools, C), cells, np.minimum(high, number.sum()))
    network.add_arcs(cells, np.tile(clients, G), np.minimum(high, number.sum()), low=low)
    network.add_arcs(clients, np.repeat(sink, C), np.minimum(shares.copies.high, number.sum()), low=shares.copies.low)

    found = network.solve()
    if found is None:
        return None, ()
    flow, bounds = found
    zone, pooled, places = np.zeros(C, dtype=np.int64), (np.arange(T), problem.group, flow[to_pools]), flow[from_pools]
    keys, not_dealt = deal_pools(problem, zone, pooled, places.reshape(G, C), np.full(T, -1))
    copies = None if len(not_dealt) else np.sort(np.concatenate([problem.col_keys[column[flow[on_columns] > 0]], keys]))
    return copies, tuple(bound + anyway for bound, anyway in zip(bounds, paid, strict=False))
