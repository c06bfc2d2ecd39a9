"""A snapshot as one frozen value: its parts as read, and the problem that they make together.

Work and memory are proportional to what the snapshot lists (lags, previous tasks, remembered copies), never to tasks × clients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement, rank_within, sort_unique
from optassign_models.solving.inputs import RUNNING, UNKNOWN_LAG, Inventory, RememberedAnswer, Requests
from optassign_models.solving.rates import ClientRates, learn_rates


@dataclass(frozen=True, eq=False)
class Situation:
    """The complete input of a rebalance."""

    inventory: Inventory
    requests: Requests
    memory: RememberedAnswer
    pace: ClientRates
    problem: Problem
    """The inventory, requests and memory in the arrays of the models."""
    known: Placement
    """The known part of the previous assignment."""
    unconfirmed: bool
    """Whether this may be the second pass of an unknown answer (or a client has gone): there is no memory, and some tasks, all
    of them caught up somewhere, have no owner while others have."""

    @property
    def previous(self) -> Placement | None:
        """The previous assignment (R7); None unless each task has an active copy and each logged task all its standbys."""
        number = np.bincount(self.known.standby_task, minlength=self.problem.T)[self.problem.logged]
        return self.known if np.all(self.known.active >= 0) and np.all(number == self.problem.standbys) else None

    @property
    def under_way(self) -> IntArray:
        """(n,) task × C + client of the remembered warm-ups, sorted; empty if the options say to replan."""
        return self.memory.warmup[:0] if self.requests.forgets_plan else self.memory.warmup


def make_situation(inventory: Inventory, requests: Requests, memory: RememberedAnswer, before: ClientRates) -> Situation:
    """Return the situation of the snapshot; `before`: the remembered rates."""
    remembered = np.concatenate([memory.active[memory.active >= 0], memory.standby, memory.warmup, memory.plan_keys])
    keys = sort_unique(np.concatenate([inventory.owned, inventory.had_standby, inventory.lag_keys, remembered]))
    problem = _make_problem(inventory, requests, memory, keys, ~np.isin(keys, remembered))
    return Situation(
        inventory=inventory,
        requests=requests,
        memory=memory,
        pace=learn_rates(problem, memory, before),
        problem=problem,
        known=_find_known(inventory, memory, keys),
        unconfirmed=not memory.known and _looks_like_second_pass(problem),
    )


def _read_lags(inventory: Inventory, keys: IntArray) -> IntArray:
    """Return (n,) the reported lag of each candidate `keys` (n,), or the whole changelog."""
    lag = inventory.end[keys // inventory.C]
    lag[np.searchsorted(keys, inventory.lag_keys)] = inventory.lags
    return lag


def _make_problem(
    inventory: Inventory, requests: Requests, memory: RememberedAnswer, keys: IntArray, is_new: BoolArray
) -> Problem:
    """Return the problem in the arrays of the models: a column for each candidate that differs from its pool.

    Candidates `keys` (n,) are pairs that the snapshot or the remembered answer names; `is_new` (n,) if only the snapshot does.
    """
    T, C, end, logged, acceptable = inventory.T, inventory.C, inventory.end, inventory.logged, inventory.acceptable_lag
    owns, lists = (np.isin(keys, some, assume_unique=True) for some in (inventory.owned, inventory.had_standby))
    holds, task = owns | lists, keys // C
    reported_lag = _read_lags(inventory, keys)
    unknown = reported_lag == UNKNOWN_LAG
    lag = np.where(reported_lag == RUNNING, 0, np.where(unknown, np.where(holds, 0, end[task]), reported_lag))
    has_state = holds | (~unknown & (reported_lag < end[task]))
    rank, cost = _rank_and_cost(reported_lag, holds, end[task], logged[task], acceptable)
    pool_rank, pool_cost = _rank_and_cost(end, np.zeros(T, dtype=np.bool_), end, logged, acceptable)

    # Strangers are clients without state of a task and without a remembered copy. In a dense snapshot every client reports a
    # lag, clients without state the whole changelog; the pool is then the least caught-up class of strangers.
    stranger = ~has_state & is_new & logged[task]
    dense = logged & (np.bincount(inventory.lag_keys // C, minlength=T) == C)
    of_pool = stranger & dense[task]
    last = np.flatnonzero(of_pool)[np.lexsort((cost[of_pool], rank[of_pool], task[of_pool]))]
    pool_rank[task[last]] = rank[last]  # the last of each task wins: the greatest rank
    pool_cost[task[last]] = cost[last]
    same = stranger & (rank == pool_rank[task]) & (cost == pool_cost[task])
    at = np.flatnonzero(~same)
    was_standby = np.isin(keys, memory.standby) if memory.known else lists
    return Problem(
        **inventory.list_fields(),
        balance_factor=requests.balance_factor,
        pool_rank=pool_rank,
        pool_cost=pool_cost,
        col_task=task[at],
        col_client=keys[at] % C,
        col_rank=rank[at],
        col_cost=cost[at],
        col_lag=lag[at],
        col_rank_now=_rank_for_this_rebalance(inventory, memory, keys, rank, lag)[at],
        col_owner=owns[at],
        col_standby=was_standby[at],
        col_state=has_state[at],
        has_history=(np.bincount(task[holds], minlength=T) > 0) | memory.seen,
        lag_unknown=bool(unknown.any()),
        remembered_plan=None if requests.forgets_plan else memory.plan,
        goal_data=requests.goal_data,
    )


def _rank_and_cost(
    lag: IntArray, holder: BoolArray, end: IntArray, logged: BoolArray, acceptable: int
) -> tuple[IntArray, IntArray]:
    """Return rank and restore cost of pairs with the given lags (docs/reference/rules.md, "Rank")."""
    unknown = lag == UNKNOWN_LAG
    caught_up = (~unknown & (lag <= acceptable)) | ~logged | (acceptable == np.iinfo(np.int64).max)
    rank = np.where(caught_up, 0, np.where(unknown, np.where(holder, 1, 2), lag))
    cost = np.where(caught_up, 0, np.where(unknown, np.where(holder, 0, end), lag))
    return rank, cost


def _rank_for_this_rebalance(
    inventory: Inventory, memory: RememberedAnswer, keys: IntArray, rank: IntArray, lag: IntArray
) -> IntArray:
    """Return (n,) the rank that decides this rebalance: `rank`, but −2 for actives and −1 for standbys that R10 confirms.
    Standbys are confirmed only with their active, since R3 would otherwise make one of them active."""
    rank_now, in_transit = rank.copy(), memory.in_transit
    if not in_transit.any():
        return rank_now
    T, C, acceptable = inventory.T, inventory.C, inventory.acceptable_lag
    task = keys // C
    is_standby, is_active = np.isin(keys, memory.standby), memory.active[task] == keys
    absent = np.where(np.bincount(task, minlength=T) < C, inventory.end, np.iinfo(np.int64).max)  # lag of clients not in keys

    def least(of: BoolArray) -> IntArray:
        lags = absent.copy()
        np.minimum.at(lags, task[of], lag[of])
        return lags[task]

    # A lag is at most int64's end and at least 0, so the differences cannot overflow.
    confirmed = in_transit[task] & is_active & (lag - least(np.ones(len(keys), dtype=np.bool_)) <= acceptable)
    stays = (np.bincount(task[confirmed], minlength=T) > 0) & (np.bincount(task[is_standby], minlength=T) <= inventory.standbys)
    rank_now[stays[task] & is_standby & (lag - least(~is_standby & ~is_active) <= acceptable)] = -1
    rank_now[confirmed] = -2
    return rank_now


def _looks_like_second_pass(problem: Problem) -> bool:
    """Return whether some tasks have no owner while others have, and each of the former is caught up somewhere or not logged:
    a first pass gives tasks to caught-up clients (R3)."""
    caught_up = np.bincount(problem.col_task[problem.col_rank == 0], minlength=problem.T) > 0
    ready = caught_up | (problem.pool_rank == 0) | ~problem.logged
    return bool(problem.has_owner.any() and (~problem.has_owner).any() and ready[~problem.has_owner].all())


def _find_known(inventory: Inventory, memory: RememberedAnswer, keys: IntArray) -> Placement:
    """Return the known part of the previous assignment.

    The active is the listed owner, or the remembered active in transit. Standbys are the remembered ones or, without memory,
    the listed ones of least lag, then of least id, dropped copies included.
    """
    C, lag = inventory.C, _read_lags(inventory, keys)
    at = np.flatnonzero(np.isin(keys, inventory.owned))
    task = keys[at] // C
    remembered = memory.active[task] == keys[at]
    order = np.lexsort((keys[at], lag[at] != RUNNING, ~remembered, task))[::-1]
    active = memory.active_client.copy()
    active[task[order]] = keys[at][order] % C  # the last written is the best
    if memory.known:
        standby = memory.standby[active[memory.standby // C] != memory.standby % C]
    else:
        listed = np.flatnonzero(np.isin(keys, inventory.had_standby) & ~(active[keys // C] == keys % C))
        listed = listed[np.lexsort((keys[listed], np.maximum(lag[listed], 0), keys[listed] // C))]
        standby = keys[listed[rank_within(keys[listed] // C) < inventory.standbys]]
    return make_placement(active, standby, C)
