"""Offload: tasks that are active elsewhere for a while, on the way to the plan, where load is missing
(docs/reference/rules.md, "Temporary offload").

It changes who is active, never who has a copy: stateless tasks may go anywhere, logged ones to a caught-up standby, with
which they change roles. So nothing is restored for it, and R3 to R5 stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced, prepare
from optassign_models.goals.goal import PairCosts
from optassign_models.problem import STATELESS, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import Shares

OFFLOAD = "offload"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a surplus active task on a client, and of a move beyond the plan's: in seconds."""

    imbalance: int
    """The time to balance: so long a task too many is likely to stay."""
    stateless: int
    logged: int


@dataclass(frozen=True, eq=False)
class OffloadOptions:
    """The clients where each task may be active, and the costs."""

    problem: Problem
    """With a column for each pair that differs from its pool."""
    columns: BoolArray
    """(A,) columns that may be used."""
    pools: BoolArray
    """(T,) stateless tasks: any client will do."""
    cost: PairCosts
    """Prices of the moves that the plan does not need."""
    start: IntArray
    """(T,) actives without offload."""

    def evaluate(self, shares: Shares, price: Price, active: IntArray) -> int:
        """The goal's value of actives (T,) among the options, in seconds."""
        at = self.problem.find(np.arange(self.problem.T) * self.problem.C + active)
        paid = np.where(at >= 0, self.cost.columns[np.maximum(at, 0)] if len(self.cost.columns) else 0, self.cost.pools)
        return price.imbalance * count_too_many(shares, np.bincount(active, minlength=self.problem.C)) + int(paid.sum())

    def bound_moves(self) -> int:
        """A lower bound of the moves' cost."""
        least = np.where(self.pools, self.cost.pools, np.iinfo(np.int64).max)
        column = np.flatnonzero(self.columns)
        np.minimum.at(least, self.problem.col_task[column], self.cost.columns[column])
        return int(least.sum())


def count_too_many(shares: Shares, count: IntArray) -> int:
    """How many active tasks clients have beyond their shares, of the counts (C,) of all."""
    return int(np.sum(np.maximum(count - shares.active.high, 0)))


def find_offload_options(
    problem: Problem, plan: Placement, answer: Placement, price: Price, *, may_stay: bool
) -> OffloadOptions:
    """The options of offload for an answer, as it would be without; `may_stay`: who would go home to the plan may wait."""
    T, C = problem.T, problem.C
    task = np.arange(T)
    standby_keys = answer.standby_keys(C)
    here, planned = task * C + answer.active, task * C + plan.active
    problem, forced = prepare(problem.with_columns(np.concatenate([here, planned, standby_keys])))
    stateless = problem.kind[problem.group] == STATELESS
    stays = problem.col_keys == here[problem.col_task]
    goes_home = may_stay & (here == planned)
    columns = stays | stateless[problem.col_task] | _find_swaps(problem, forced, standby_keys, here, goes_home)

    is_planned = problem.col_keys == planned[problem.col_task]
    moves = (problem.has_owner[problem.col_task] & ~problem.col_owner).astype(np.int64) + ~is_planned
    needed = problem.has_owner & ~problem.flag_of(planned, problem.col_owner)
    each = np.where(stateless, price.stateless, price.logged)
    on_columns = (moves - needed[problem.col_task]) * each[problem.col_task]
    in_pools = (problem.has_owner.astype(np.int64) + 1 - needed) * each
    return OffloadOptions(problem, columns, stateless, PairCosts(on_columns, in_pools), answer.active)


def _find_swaps(problem: Problem, forced: Forced, standby_keys: IntArray, here: IntArray, goes_home: BoolArray) -> BoolArray:
    """(A,) caught-up standbys that may lead: any, of logged tasks whose owner leads now and is caught up too. For tasks that
    would go home to their plan (T,), to one that is caught up, the owner itself may lead: they were offloaded before, and may
    stay."""
    ready = forced.leading & (problem.col_rank == 0)
    runs = problem.logged & problem.flag_of(here, problem.col_owner & ready)
    stays = problem.logged & goes_home & problem.flag_of(here, ready)
    may_lead = runs[problem.col_task] | (stays[problem.col_task] & problem.col_owner)
    return np.isin(problem.col_keys, standby_keys) & ready & may_lead


def swap_roles(answer: Placement, active: IntArray, logged: BoolArray, clients: int) -> Placement:
    """The answer with other actives (T,): who was active before becomes a standby where a standby takes over."""
    keys = set(answer.standby_keys(clients).tolist())
    for t in np.flatnonzero(logged & (active != answer.active)).tolist():
        keys.remove(t * clients + int(active[t]))
        keys.add(t * clients + int(answer.active[t]))
    return make_placement(active, np.array(sorted(keys), dtype=np.int64), clients)
