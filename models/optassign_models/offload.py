"""Offload: tasks that are active elsewhere for a while, on the way to the plan, where load is missing
(docs/reference/rules.md, "Temporary offload").

`find_greedy_offload` moves tasks without a solver, from clients with too many to those with room, the cheapest moves first:

1. stateless tasks back to owners, which is no extra move;
2. stateless tasks to the clients with most room;
3. logged tasks to caught-up standbys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optassign_models.forced import Forced, prepare
from optassign_models.goals.goal import PairCosts
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.policy.constants import OFF_S
from optassign_models.problem import STATELESS, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies

OFFLOAD = "offload"


@dataclass(frozen=True, eq=False)
class OffloadOptions:
    """The clients where each task may be active, and the costs in seconds."""

    problem: Problem
    """With a column for each pair that differs from its pool."""
    shares: ShareFamilies
    excess_cost: int
    """The cost of an active task beyond its client's share: the time to balance, for which it is likely to stay."""
    columns: BoolArray
    """(A,) columns that may be used."""
    pools: BoolArray
    """(T,) stateless tasks: any client will do."""
    cost: PairCosts
    """Prices of the moves that the plan does not need."""
    start: IntArray
    """(T,) actives without offload."""
    planned: IntArray
    """(T,) actives of the plan."""

    def evaluate(self, active: IntArray) -> int:
        """Return the cost of actives (T,): of each beyond a share, and the price of each move that the plan does not need."""
        count = np.bincount(active, minlength=self.problem.C)
        return self.excess_cost * count_too_many(self.shares, count) + int(self.price(active).sum())

    def price(self, active: IntArray) -> IntArray:
        """Return (T,) the prices of the moves of actives (T,) that the plan does not need."""
        return self.problem.look_up(np.arange(self.problem.T) * self.problem.C + active, self.cost.columns, self.cost.pools)

    def bound_moves(self) -> int:
        """Return a lower bound of the moves' cost."""
        least = np.where(self.pools, self.cost.pools, np.iinfo(np.int64).max)
        column = np.flatnonzero(self.columns)
        np.minimum.at(least, self.problem.col_task[column], self.cost.columns[column])
        return int(least.sum())


def count_too_many(shares: ShareFamilies, count: IntArray) -> int:
    """Return how many active tasks clients have beyond their shares, of the counts (C,) of all."""
    return int(np.sum(np.maximum(count - shares.active.high, 0)))


def find_offload_options(
    problem: Problem, shares: ShareFamilies, plan: Placement, answer: Placement, excess_cost: int, prices: tuple[int, int]
) -> OffloadOptions:
    """Return the options of offload for an answer without offload.

    If moves are not too dear, actives that the answer returns to their planned clients may stay where they are.

    Args:
        excess_cost: the cost of an active task beyond its client's share.
        prices: of a move beyond the plan's, of a stateless and of a logged task.
    """
    T, C = problem.T, problem.C
    task = np.arange(T)
    standby_keys = answer.standby_keys(C)
    here, planned = task * C + answer.active, task * C + plan.active
    problem, forced = prepare(problem.with_columns(np.concatenate([here, planned, standby_keys])))
    stateless = problem.kind[problem.group] == STATELESS
    stays = problem.col_keys == here[problem.col_task]
    may_stay = prices[1] < OFF_S and count_too_many(shares, np.bincount(answer.active, minlength=C)) > 0
    goes_home = may_stay & (here == planned)
    columns = stays | stateless[problem.col_task] | _find_swaps(problem, forced, standby_keys, here, goes_home)

    is_planned = problem.col_keys == planned[problem.col_task]
    moves = (problem.has_owner[problem.col_task] & ~problem.col_owner).astype(np.int64) + ~is_planned
    needed = problem.has_owner & ~problem.flag_of(planned, problem.col_owner)
    each = np.where(stateless, *prices)
    on_columns = (moves - needed[problem.col_task]) * each[problem.col_task]
    in_pools = (problem.has_owner.astype(np.int64) + 1 - needed) * each
    cost = PairCosts(on_columns, in_pools)
    return OffloadOptions(problem, shares, excess_cost, columns, stateless, cost, answer.active, plan.active)


def _find_swaps(problem: Problem, forced: Forced, standby_keys: IntArray, here: IntArray, goes_home: BoolArray) -> BoolArray:
    """Return (A,) which caught-up standbys may become active.

    They may if the task's owner is active in the answer and caught up. The owner of a task that `goes_home` (T,), which was
    offloaded before, may stay active.
    """
    ready = forced.leading & (problem.col_rank == 0)
    runs = problem.logged & problem.flag_of(here, problem.col_owner & ready)
    stays = problem.logged & goes_home & problem.flag_of(here, ready)
    may_lead = runs[problem.col_task] | (stays[problem.col_task] & problem.col_owner)
    return np.isin(problem.col_keys, standby_keys) & ready & may_lead


def swap_roles(answer: Placement, active: IntArray, logged: BoolArray, clients: int) -> Placement:
    """Return the answer with other actives (T,): who was active before becomes a standby where a standby takes over."""
    tasks = np.flatnonzero(logged & (active != answer.active))
    others = np.setdiff1d(answer.standby_keys(clients), tasks * clients + active[tasks], assume_unique=True)
    return make_placement(active, np.append(others, tasks * clients + answer.active[tasks]), clients)


def restrict_offload(options: OffloadOptions, limits: Sequence[PlacementLimit]) -> OffloadOptions:
    """Return the options without places where a limit does not want the task.

    Logged tasks change roles, so only pins speak of them. A stateless task that a limit speaks of stays where it is, as the
    flow does not count copies by limit.
    """
    problem = options.problem
    columns, pools = options.columns.copy(), options.pools.copy()
    stays = problem.col_client == options.start[problem.col_task]
    for limit in limits:
        if limit.kind is Kind.PIN:
            barred = limit.tasks[problem.col_task] & ~limit.clients[problem.col_client]
            tasks = limit.tasks
        else:
            tasks = limit.tasks if limit.kind is Kind.FORBID else limit.weight > 0
            barred = tasks[problem.col_task] & options.pools[problem.col_task]
        columns &= ~barred | stays
        pools &= ~tasks
    return replace(options, columns=columns, pools=pools)


def find_greedy_offload(options: OffloadOptions) -> tuple[IntArray, None]:
    """Return actives (T,) of no greater value than those without offload, chosen task by task; no bound is proven."""
    problem, start = options.problem, options.start
    active, paid = start.copy(), options.price(start)
    room = options.shares.active.high - np.bincount(active, minlength=problem.C)
    stateless = options.pools[problem.col_task]
    back, swaps = np.flatnonzero(options.columns & stateless & problem.col_owner), np.flatnonzero(options.columns & ~stateless)
    pooled = np.flatnonzero(options.pools)[::-1]
    to_pools = pooled, np.full_like(pooled, -1), options.cost.pools[pooled]
    to_owners, to_standbys = ((problem.col_task[at], problem.col_client[at], options.cost.columns[at]) for at in (back, swaps))
    for task, client, cost in (to_owners, to_pools, to_standbys):
        extra = cost - paid[task]
        for k in np.lexsort((room[active[task]], extra)).tolist():
            t, c = int(task[k]), int(client[k]) if client[k] >= 0 else int(np.argmax(room))
            if extra[k] < options.excess_cost and room[active[t]] < 0 < room[c] and active[t] == start[t]:
                room[active[t]] += 1
                room[c] -= 1
                active[t] = c
    return active, None
