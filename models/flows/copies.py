"""Copies of logged tasks, whatever their role, as a min-cost flow: task → client → windows → sink.

Restore work (goal b) and the number of cold copies (goal c) do not depend on which copy is the active one. So this flow,
which knows R2, R4 and the windows of the copies but not those of the actives, is a relaxation: its optimum is a bound of the
whole problem, and it is the optimum where actives fit into the copies it chose. Where shares are not capped they always do:
a / (s + 1) of each copy is a fractional choice inside all windows of the actives of logged tasks, and that network is
integral.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.flows.network import Network
from optassign.models.forced import Forced
from optassign.models.pooling import deal_pool
from optassign.models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign.models.windows import Windows


@dataclass(frozen=True, eq=False)
class BalancedCopies:
    """Keys of the copies, and bounds.

    `columns` (A,), `pools` (T,) and `places` (G, C) are what some optimum of restore work and cold copies may use: columns,
    the pool, and places for pooled copies.
    """

    keys: IntArray | None
    """(N × (s + 1),) sorted, or None where the pool's places could not be given out: `stuck` then names the tasks."""
    bounds: list[int]
    stuck: IntArray
    columns: BoolArray
    pools: BoolArray
    places: BoolArray

    def face(self, problem: Problem, most: int) -> IntArray | None:
        """Keys of all pairs of logged tasks that such an optimum may use: outside of them nothing needs to be looked
        for. None if they are more than `most`."""
        tasks = np.flatnonzero(self.pools)
        places = self.places.sum(axis=1)
        if int(self.columns.sum()) + int(places[problem.group[tasks]].sum()) > most:
            return None
        open_ = [task * problem.C + np.flatnonzero(self.places[problem.group[task]]) for task in tasks.tolist()]
        pooled = np.concatenate(open_) if open_ else np.zeros(0, dtype=np.int64)
        return np.union1d(problem.col_keys[self.columns], pooled[problem.find(pooled) < 0])


def find_balanced_copies(
    problem: Problem,
    forced: Forced,
    windows: Windows,
    *,
    now: bool,
    required: BoolArray | None = None,
    rewards: tuple[IntArray, ...] = (),
) -> BalancedCopies | None:
    """Copies inside the windows, or None where there are none.

    Args:
        now: R5 binds: only mandatory and tied clients, and no costs. Else any client, at the costs of the plan: goals
            restore_work and cold_copies, counting what this answer forces anyway only once.
        required: (A,) columns that must be taken (the actives, where they are already chosen).
        rewards: (A,) each; taking a column is rewarded, in order, after the costs; last, a client keeps its smallest tasks.
    """
    T, C, G = problem.T, problem.C, problem.G
    costs = 0 if now else 2
    network = Network(costs + len(rewards) + 1)
    logged = np.flatnonzero(problem.logged)
    nothing = np.zeros(0, dtype=np.int64)
    if not len(logged):
        empty = np.zeros(len(problem.col_task), dtype=np.bool_)
        return BalancedCopies(
            nothing,
            [0] * costs,
            nothing,
            empty,
            np.zeros(T, dtype=np.bool_),
            np.zeros((G, C), dtype=np.bool_),
        )
    tasks, ties, cells = network.add_nodes(T), network.add_nodes(T), network.add_nodes(G * C)
    clients, pool_nodes, sink = network.add_nodes(C), network.add_nodes(G), network.add_nodes(1)
    size = problem.standbys + 1
    network.add_supply(tasks[logged], size)
    network.add_supply(sink, -size * len(logged))
    must = forced.mandatory if now else np.zeros(len(problem.col_task), dtype=np.bool_)
    if required is not None:
        must = must | required

    # Tied clients that cost: the first `choices` copies are forced by this answer anyway, the further ones are paid for.
    via_tie = forced.tie_cold | now
    tied = forced.tied & via_tie[problem.col_task]
    tie_tasks = np.flatnonzero(problem.logged & (forced.choices > 0) & via_tie)
    network.add_arcs(tasks[tie_tasks], ties[tie_tasks], forced.choices[tie_tasks])
    if not now:
        network.add_arcs(
            tasks[tie_tasks],
            ties[tie_tasks],
            size,
            cost={0: forced.tie_cost[tie_tasks], 1: forced.tie_cold[tie_tasks] * 1},
        )

    allowed = problem.logged[problem.col_task]
    if now:
        allowed = allowed & (forced.mandatory | forced.tied)
        if required is not None and np.any(required & ~allowed):
            return None
    column = np.flatnonzero(allowed)
    task, client = problem.col_task[column], problem.col_client[column]
    free = forced.mandatory[column] | tied[column]
    cost: dict[int, IntArray | int] = {}
    if not now:
        cost[0] = np.where(free, 0, problem.col_cost[column])
        cost[1] = np.where(free, 0, problem.col_rank[column] > 0)
    for i, reward in enumerate(rewards):
        cost[costs + i] = -reward[column]
    held = problem.col_owner[column] | problem.col_standby[column]
    cost[costs + len(rewards)] = np.where(held, task - T, 0)
    tails = np.where(tied[column], ties[task], tasks[task])
    on_columns = network.add_arcs(tails, cells[problem.group[task] * C + client], 1, low=must[column] * 1, cost=cost)

    pooled = np.flatnonzero(problem.logged & (problem.pool_size > 0) & (forced.pool_tied if now else True))
    pool_tied = forced.pool_tied[pooled] & via_tie[pooled]
    pool_cost: dict[int, IntArray | int] = {}
    if not now:
        pool_cost[0] = np.where(pool_tied, 0, problem.pool_cost[pooled])
        pool_cost[1] = np.where(pool_tied, 0, problem.pool_rank[pooled] > 0)
    tails = np.where(pool_tied, ties[pooled], tasks[pooled])
    to_pool = network.add_arcs(
        tails, pool_nodes[problem.group[pooled]], np.minimum(size, problem.pool_size[pooled]), cost=pool_cost
    )
    in_pool = np.bincount(problem.group[pooled], minlength=G)
    used = np.repeat(np.flatnonzero(in_pool), C)
    at = np.tile(np.arange(C), int(np.sum(in_pool > 0)))
    from_pool = network.add_arcs(pool_nodes[used], cells[used * C + at], in_pool[used])

    groups = np.flatnonzero(problem.kind == LOGGED)
    cell = (groups[:, None] * C + np.arange(C)[None, :]).ravel()
    window = windows.group_copies
    network.add_arcs(
        cells[cell],
        clients[np.tile(np.arange(C), len(groups))],
        window.high.ravel()[cell],
        low=window.low.ravel()[cell],
    )
    network.add_arcs(clients, np.broadcast_to(sink, (C,)), windows.copies.high, low=windows.copies.low)

    result = network.solve(face_after=costs)
    if result is None:
        return None
    may = np.zeros(len(problem.col_task), dtype=np.bool_)
    may_pool = np.zeros(T, dtype=np.bool_)
    may[column] = result.face_high[on_columns] > 0
    may_pool[pooled] = result.face_high[to_pool] > 0
    may_place = np.zeros((G, C), dtype=np.bool_)
    may_place[used, at] = result.face_high[from_pool] > 0
    taken = column[result.flow[on_columns] > 0]
    picks = np.zeros(T, dtype=np.int64)
    picks[pooled] = result.flow[to_pool]
    places = np.zeros((G, C), dtype=np.int64)
    places[used, at] = result.flow[from_pool]
    barred = problem.col_cost > problem.pool_cost[problem.col_task]
    if now:
        barred |= ~allowed
    keys, stuck = _deal_copies(problem, problem.col_keys[taken], picks, places, problem.col_keys[barred])
    return BalancedCopies(keys, result.bounds[:costs], stuck, may, may_pool, may_place)


def _deal_copies(
    problem: Problem, taken: IntArray, picks: IntArray, places: IntArray, barred: IntArray
) -> tuple[IntArray | None, IntArray]:
    """Keys of all copies once the pool's places are given out, or the tasks of the subtopologies where that failed."""
    C = problem.C
    forbidden: dict[int, set[int]] = {}
    picking = picks > 0
    shut = np.concatenate([taken, barred])
    for key in shut[picking[shut // C]].tolist():
        forbidden.setdefault(key // C, set()).add(key % C)
    dealt: list[int] = []
    stuck: list[IntArray] = []
    for group in np.unique(problem.group[np.flatnonzero(picking)]).tolist():
        tasks = np.flatnonzero(picking & (problem.group == group))
        keys = deal_pool(tasks, picks[tasks], places[group], forbidden, C)
        if keys is None:
            stuck.append(np.flatnonzero(problem.group == group))
        else:
            dealt.extend(keys)
    if stuck:
        return None, np.concatenate(stuck)
    return np.sort(np.concatenate([taken, np.array(dealt, dtype=np.int64)])), np.zeros(0, dtype=np.int64)
