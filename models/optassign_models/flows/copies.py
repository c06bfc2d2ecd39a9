"""Copies of logged tasks, whatever their role, as a min-cost flow: task → client → shares → sink.

Restore work (goal b) and the number of copies not caught up (goal c) do not depend on which copy is the active one. So this
flow, which knows R2, R4 and the shares of the copies but not those of the actives, is a relaxation: its optimum is a bound of
the whole problem, and it is the optimum where actives fit into the copies it chose. If shares are not capped they always do: a
/ (s + 1) of each copy is a fractional choice inside all shares of the actives of logged tasks, and that network is integral.

1. A network is built: arcs for tied clients, columns and pools, and arcs whose bounds are the shares.
2. The flow is solved in the order of the goals.
3. The network's open choices in optimal flows are read off; tasks are dealt the places that the flow leaves them in pools.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.flows.network import FlowResult, Network
from optassign_models.forced import Forced
from optassign_models.goals.caught_up import COPIES_NOT_CAUGHT_UP, RESTORE_WORK
from optassign_models.pools import Zones
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import ShareFamilies

COPY_GOALS = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP)
"""The goals that this flow carries, in their order: they do not ask which copy is active."""


@dataclass(frozen=True, eq=False)
class Range:
    """Least and greatest number, (n,) each."""

    low: IntArray
    """(n,) least number of copies."""
    high: IntArray
    """(n,) greatest number of copies."""


@dataclass(frozen=True, eq=False)
class CopiesFace:
    """Bounds on the copies of logged tasks. `problem` is the one that the flow was solved for: it may have more columns."""

    problem: Problem
    column: IntArray
    """(n,) columns of logged tasks."""
    on_column: Range
    """(n,) copies on each of them, 0 or 1."""
    column_is_tied: BoolArray
    """(n,) the copy counts among those of the task's tied clients."""
    zones: Zones
    pooled: IntArray
    """(k,) tasks that may use their pool,"""
    pooled_zone: IntArray
    """(k,) in this zone."""
    in_pool: Range
    """(k,) copies of the task in its pool."""
    pool_is_tied: BoolArray
    """(k,) the pool's clients are tied clients of the task."""
    tied_task: IntArray
    """(j,) tasks with tied clients."""
    on_tied: Range
    """(j,) copies of the task on its tied clients."""
    place_group: IntArray
    """(q,) subtopology and"""
    place_client: IntArray
    """(q,) client of the places for pooled copies."""
    places: Range
    """(q,) pooled copies of the subtopology on the client."""
    cell: IntArray
    """(m,) subtopology × C + client, of the logged subtopologies."""
    in_cell: Range
    """(m,) copies of the subtopology on the client."""
    on_client: Range
    """(C,) copies on the client."""


@dataclass(frozen=True, eq=False)
class BalancedCopies:
    """Copies inside their shares, bounds, and the optima of restore work and copies not caught up."""

    keys: IntArray | None
    """(N × (s + 1),) task × C + client of each copy of the N logged tasks, sorted.

    None where the pool's places could not be dealt."""
    bounds: list[int]
    """Bounds of restore work (offsets) and copies not caught up, beyond this answer's forced part; empty if R5 binds."""
    undealt: IntArray
    """(k,) tasks of the subtopologies whose pool places could not be dealt."""
    face: CopiesFace | None = None
    """The optima of restore work and copies not caught up; None where costs were rounded, R5 binds or there are no logged
    tasks."""


def find_balanced_copies(
    problem: Problem,
    forced: Forced,
    shares: ShareFamilies,
    *,
    now: bool,
    required: BoolArray | None = None,
    rewards: tuple[IntArray, ...] = (),
) -> BalancedCopies | None:
    """Finds copies inside the shares; None where there are none.

    Args:
        now: R5 binds: only mandatory and tied clients, and no costs. Otherwise any client, at the costs of the plan: goals
            restore_work and copies_not_caught_up, counting what this answer forces anyway only once.
        required: (A,) columns that must be taken (the actives, where they are already chosen).
        rewards: (A,) each; taking a column is rewarded, in order, after the costs; last, a client keeps its smallest tasks.
    """
    if not problem.logged.any():
        return _find_no_copies(costs=0 if now else 2)
    if now and required is not None and np.any(required & ~_allow_columns(problem, forced, now=True)):
        return None
    network = _CopiesNetwork(problem, forced, rewards, now=now)
    network.add_ties()
    network.add_columns(required)
    network.add_pools()
    network.add_shares(shares)
    return network.solve()


def _find_no_copies(costs: int) -> BalancedCopies:
    """The copies of a problem without logged tasks: none."""
    nothing = np.zeros(0, dtype=np.int64)
    return BalancedCopies(keys=nothing, bounds=[0] * costs, undealt=nothing)


def _allow_columns(problem: Problem, forced: Forced, *, now: bool) -> BoolArray:
    """(A,) columns on which a copy may be."""
    logged = problem.logged[problem.col_task]
    return logged & (forced.mandatory | forced.tied) if now else logged


class _CopiesNetwork:
    """The network of the copies; see `find_balanced_copies`. Its first goals are the costs, if R5 does not bind."""

    def __init__(self, problem: Problem, forced: Forced, rewards: tuple[IntArray, ...], *, now: bool) -> None:
        T, C, G = problem.T, problem.C, problem.G
        self._problem, self._forced, self._rewards, self._now = problem, forced, rewards, now
        self._costs = 0 if now else len(COPY_GOALS)
        """How many goals come before the rewards."""
        self._costs_per_copy = [goal.cost_per_copy(problem) for goal in COPY_GOALS if goal.cost_per_copy is not None]
        self._network = Network(self._costs + len(rewards) + 1)
        self._tasks, self._ties, self._cells = (self._network.add_nodes(n) for n in (T, T, G * C))
        self._clients, self._pools, self._sink = (self._network.add_nodes(n) for n in (C, G, 1))
        self._copies = problem.standbys + 1
        """The copies of each logged task."""
        logged = np.flatnonzero(problem.logged)
        self._network.add_supply(self._tasks[logged], self._copies)
        self._network.add_supply(self._sink, -self._copies * len(logged))
        self._via_tie = forced.tie_not_caught_up | now
        """(T,) whether copies on tied clients pass through a node of their own."""

    def add_ties(self) -> None:
        """Arcs task → its tied clients: the first `choices` copies are forced by this answer anyway, further ones cost."""
        forced = self._forced
        self._tied_task = tasks = np.flatnonzero(self._problem.logged & (forced.choices > 0) & self._via_tie)
        self._to_ties = [self._network.add_arcs(self._tasks[tasks], self._ties[tasks], forced.choices[tasks])]
        if not self._now:
            cost: dict[int, IntArray | int] = {number: self._price_tie(number)[tasks] for number in range(len(COPY_GOALS))}
            self._to_ties.append(self._network.add_arcs(self._tasks[tasks], self._ties[tasks], self._copies, cost=cost))

    def add_columns(self, required: BoolArray | None) -> None:
        """Arcs task, or its tied clients → cell (subtopology, client), for each column that is allowed.

        required: (A,) columns that must be taken in addition to the mandatory ones.
        """
        problem, forced = self._problem, self._forced
        must = forced.mandatory if self._now else np.zeros(len(problem.col_task), dtype=np.bool_)
        if required is not None:
            must = must | required
        self._allowed = _allow_columns(problem, forced, now=self._now)
        self._column = column = np.flatnonzero(self._allowed)
        task, client = problem.col_task[column], problem.col_client[column]
        self._column_is_tied = tied = forced.tied[column] & self._via_tie[task]
        cost: dict[int, IntArray | int] = {}
        if not self._now:
            free = forced.mandatory[column] | tied
            at_price = forced.tied[column] & forced.tie_not_caught_up[task] & ~tied
            for number, each in enumerate(self._costs_per_copy):
                price = np.where(at_price, self._price_tie(number)[task], each.columns[column])
                cost[number] = np.where(free, 0, price)
        for i, reward in enumerate(self._rewards):
            cost[self._costs + i] = -reward[column]
        held = problem.col_owner[column] | problem.col_standby[column]
        cost[self._costs + len(self._rewards)] = np.where(held, task - problem.T, 0)
        tails = np.where(tied, self._ties[task], self._tasks[task])
        heads = self._cells[problem.group[task] * problem.C + client]
        self._on_columns = self._network.add_arcs(tails, heads, 1, low=must[column] * 1, cost=cost)

    def add_pools(self) -> None:
        """Arcs task, or its tied clients → pool of its subtopology → cell, for tasks that may use their pool."""
        problem, forced, C = self._problem, self._forced, self._problem.C
        may = problem.logged & (forced.pool_tied if self._now else True)
        self._pooled = pooled = np.flatnonzero((problem.pool_size > 0) & may)
        self._pool_is_tied = tied = forced.pool_tied[pooled] & self._via_tie[pooled]
        cost: dict[int, IntArray | int] = {}
        if not self._now:
            at_price = forced.pool_tied[pooled] & forced.tie_not_caught_up[pooled]
            for number, each in enumerate(self._costs_per_copy):
                price = np.where(at_price, self._price_tie(number)[pooled], each.pools[pooled])
                cost[number] = np.where(tied, 0, price)
        tails = np.where(tied, self._ties[pooled], self._tasks[pooled])
        most = np.minimum(self._copies, problem.pool_size[pooled])
        pool = problem.group[pooled]
        self._to_pools = self._network.add_arcs(tails, self._pools[pool], most, cost=cost)
        in_pool = np.bincount(pool, minlength=problem.G)
        group, client = np.divmod(np.arange(problem.G * C), C)
        is_place = in_pool[group] > 0
        self._pool_group, self._pool_client = group[is_place], client[is_place]
        heads = self._cells[self._pool_group * C + self._pool_client]
        self._from_pools = self._network.add_arcs(self._pools[self._pool_group], heads, in_pool[self._pool_group])

    def add_shares(self, shares: ShareFamilies) -> None:
        """Arcs cell → client → sink whose bounds are the shares."""
        C = self._problem.C
        groups = np.flatnonzero(self._problem.kind == LOGGED)
        self._cell = cell = (groups[:, None] * C + np.arange(C)[None, :]).ravel()
        low, high = shares.group_copies.low.ravel()[cell], shares.group_copies.high.ravel()[cell]
        clients = self._clients[np.tile(np.arange(C), len(groups))]
        self._of_cells = self._network.add_arcs(self._cells[cell], clients, high, low=low)
        sink = np.broadcast_to(self._sink, (C,))
        self._of_clients = self._network.add_arcs(self._clients, sink, shares.copies.high, low=shares.copies.low)

    def solve(self) -> BalancedCopies | None:
        """The copies; None where no flow keeps the shares."""
        result = self._network.solve(face_after=self._costs)
        if result is None:
            return None
        keys, undealt = self._deal_copies(result)
        face = None if self._now or max(result.scales[: self._costs]) > 1 else self._read_face(result)
        return BalancedCopies(keys, result.bounds[: self._costs], undealt, face)

    def _price_tie(self, number: int) -> IntArray:
        """(T,) what a copy on a cold tied client costs in one of the goals."""
        return (self._forced.tie_cost, self._forced.tie_not_caught_up * 1)[number]

    def _read_face(self, result: FlowResult) -> CopiesFace:
        def read(arcs: slice) -> Range:
            return Range(result.face_low[arcs], result.face_high[arcs])

        ties = [read(arcs) for arcs in self._to_ties]
        return CopiesFace(
            problem=self._problem,
            column=self._column,
            on_column=read(self._on_columns),
            column_is_tied=self._column_is_tied,
            zones=Zones.one(self._problem),
            pooled=self._pooled,
            pooled_zone=np.zeros_like(self._pooled),
            in_pool=read(self._to_pools),
            pool_is_tied=self._pool_is_tied,
            tied_task=self._tied_task,
            on_tied=Range(ties[0].low + ties[1].low, ties[0].high + ties[1].high),
            place_group=self._pool_group,
            place_client=self._pool_client,
            places=read(self._from_pools),
            cell=self._cell,
            in_cell=read(self._of_cells),
            on_client=read(self._of_clients),
        )

    def _deal_copies(self, result: FlowResult) -> tuple[IntArray | None, IntArray]:
        """Keys of all copies once the pool's places are dealt, or None and the tasks of the subtopologies where that failed."""
        problem, C = self._problem, self._problem.C
        taken = problem.col_keys[self._column[result.flow[self._on_columns] > 0]]
        picks = result.flow[self._to_pools]
        places = np.zeros((problem.G, C), dtype=np.int64)
        places[self._pool_group, self._pool_client] = result.flow[self._from_pools]

        # A pooled copy may also go to a column that costs no more than the pool, and that the flow has not taken.
        barred = problem.col_cost > problem.pool_cost[problem.col_task]
        if self._now:
            barred |= ~self._allowed
        picking = np.zeros(problem.T, dtype=np.bool_)
        picking[self._pooled[picks > 0]] = True
        closed = np.concatenate([taken, problem.col_keys[barred]])
        forbidden: dict[int, set[int]] = {}
        for key in closed[picking[closed // C]].tolist():
            forbidden.setdefault(key // C, set()).add(key % C)
        pool = problem.group[self._pooled]
        pooled, undealt = Zones.one(problem).deal_pools(problem, self._pooled, pool, picks, places, forbidden)
        return (None if len(undealt) else np.sort(np.concatenate([taken, pooled]))), undealt
