"""A goal of the models: the costs of copies, which give its linear form in a program and its value for a plan.

Here is also the default order, goals (b) to (f) (docs/reference/rules.md, "The target"), and `active_moves`, which counts owned
tasks. A task without owner whose planned active is not caught up counts as a migration: it starts now on a caught-up client,
and stops once more when its planned active has caught up. New standbys of tasks without a previous holder do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optassign_models.problem import BoolArray, Forced, IntArray, Placement, Problem, exact_sum


@dataclass(frozen=True, eq=False)
class PairCosts:
    """The cost of a copy on each pair of task and client."""

    columns: IntArray
    """(A,) cost on the client of each column."""
    pools: IntArray
    """(T,) cost on any client of the task's pool; (T, K) by class of clients, if the goal distinguishes clients."""


Reached = tuple[IntArray, int]
"""(C,) the value of each client, −1 for none, and the gain for each distinct value that a logged task's copies reach."""


@dataclass(frozen=True, eq=False)
class Carried:
    """The weights of copies, for a goal that is their greatest sum in a bin of clients."""

    of_task: IntArray
    """(T,) weights of the tasks, for comparing those of one subtopology."""
    by_active: Callable[[IntArray, IntArray], IntArray]
    """Returns the weights (n,) of active copies of tasks (n,) on clients (n,)."""
    by_standby: Callable[[IntArray, IntArray], IntArray]
    """Returns the weights (n,) of standbys of tasks (n,) on clients (n,)."""
    grain: IntArray | int = 1
    """The unit of the goal, to which sums are rounded up: one for all bins, or (B,)."""
    bin_of: IntArray | None = None
    """(C,) bin of each client, 0 to B − 1; None if each client is a bin."""
    find_floor: Callable[[], int] = lambda: 0
    """Returns a lower bound of the goal, in grains."""
    least_sum: Callable[[IntArray, IntArray], IntArray] | None = None
    """Returns (n,) the least sum of a bin in which task (n,) is active on client (n,), whatever other copies weigh."""

    @classmethod
    def of_tasks(cls, weight: IntArray, grain: int = 1) -> Carried:
        """Return weights (T,) of tasks that are the same in each role and on each client."""
        return cls(weight, lambda task, client: weight[task], lambda task, client: weight[task], grain)

    def find_greatest(self, plan: Placement, clients: int) -> int:
        """Return the greatest sum in a bin, in grains."""
        bin_of = np.arange(clients) if self.bin_of is None else self.bin_of
        grain = np.broadcast_to(np.asarray(self.grain, dtype=np.int64), int(bin_of.max()) + 1)
        task, client = np.arange(len(plan.active)), plan.active
        sums = np.bincount(bin_of[client], self.by_active(task, client), len(grain))
        of_standbys = self.by_standby(plan.standby_task, plan.standby_client)
        sums = sums + np.bincount(bin_of[plan.standby_client], of_standbys, len(grain))
        if self.least_sum is not None:
            np.maximum.at(sums, bin_of[client], self.least_sum(task, client))
        return int((-(-sums // grain)).max())


@dataclass(frozen=True)
class GoalModel:
    """One goal for the models; always minimised, so a goal to be maximised enters with its sign changed."""

    name: str
    cost_per_copy: Callable[[Problem], PairCosts] | None = None
    """The cost of an active or standby copy of a logged task; None if the goal is no sum over copies."""
    cost_per_active: Callable[[Problem], PairCosts] | None = None
    """The cost of an active copy; None if the goal is no sum over actives."""
    cost_per_standby: Callable[[Problem], PairCosts] | None = None
    """The cost of a standby; None if the goal is no sum over standbys."""
    forced_costs: Callable[[Forced], tuple[IntArray, int]] | None = None
    """The part of the sum that R3 to R5 force in this answer, set with `cost_per_copy`: (T,) the cost of a copy on a cold (not
    caught up) tied client beyond the forced ones, and the cost of the answer under any choice."""
    distinguishes: Callable[[Problem], IntArray] | None = None
    """Returns (C,) the class of each client, 0 to K − 1; None if all clients of a pool cost the same."""
    reaches: Callable[[Problem], tuple[Reached, ...]] | None = None
    """The values that the goal counts, if it counts the distinct values that a task's copies reach."""
    carries: Callable[[Problem], Carried | None] | None = None
    """The weights of copies, if the goal is a greatest sum; it returns None if the snapshot lacks them."""

    def evaluate(self, problem: Problem, plan: Placement) -> int:
        """Return the goal's value for a plan, in whole units."""
        value = 0
        if self.cost_per_copy is not None and self.forced_costs is not None:
            keys, beyond = _find_paid(problem, plan.copy_keys(problem.C, problem.logged))
            per_tie, paid = self.forced_costs(problem.forced)
            value += paid + exact_sum(self._price(problem, self.cost_per_copy, keys)) + exact_sum(per_tie, beyond)
        if self.cost_per_active is not None:
            keys = np.arange(problem.T) * problem.C + plan.active
            value += exact_sum(self._price(problem, self.cost_per_active, keys))
        if self.cost_per_standby is not None:
            value += exact_sum(self._price(problem, self.cost_per_standby, plan.standby_keys(problem.C)))
        for of_client, gain in () if self.reaches is None else self.reaches(problem):
            task, client = np.divmod(plan.copy_keys(problem.C, problem.logged), problem.C)
            reached = task * (problem.C + 1) + of_client[client]
            value -= gain * len(np.unique(reached[of_client[client] >= 0]))
        carried = None if self.carries is None else self.carries(problem)
        return value if carried is None else value + carried.find_greatest(plan, problem.C)

    def _price(self, problem: Problem, find_costs: Callable[[Problem], PairCosts], keys: IntArray) -> IntArray:
        """Return (n,) the cost of a copy on each pair `keys` (n,)."""
        costs, task, client = find_costs(problem), keys // problem.C, keys % problem.C
        if self.distinguishes is None or costs.pools.ndim == 1:
            return problem.look_up(keys, costs.columns, costs.pools[task])
        return problem.look_up(keys, costs.columns, costs.pools[task, self.distinguishes(problem)[client]])


def _find_paid(problem: Problem, keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return (n,) the copies of `keys` (K,) that cost as their clients do: neither mandatory nor on cold tied clients.

    The second value has (T,) copies on cold tied clients beyond the `choices` that R3 to R5 force anyway.
    """
    task, forced = keys // problem.C, problem.forced
    is_tied = problem.look_up(keys, forced.tied, forced.pool_tied[task]) & forced.tie_not_caught_up[task]
    beyond = np.maximum(np.bincount(task[is_tied], minlength=problem.T) - forced.choices, 0)
    return keys[~problem.flag_of(keys, forced.mandatory) & ~is_tied], beyond


def _price_not_caught_up(problem: Problem) -> PairCosts:
    return PairCosts((problem.col_rank > 0).astype(np.int64), (problem.pool_rank > 0).astype(np.int64))


def find_active_moves(problem: Problem, active: IntArray) -> BoolArray:
    """Return (T,) whether an owned task is active on none of its owners; `active`: (T,) client of each active copy."""
    return problem.has_owner & ~problem.flag_of(np.arange(problem.T) * problem.C + active, problem.col_owner)


def price_active_moves(problem: Problem) -> PairCosts:
    """Return the cost of an active copy: 1 if its task has owners and the client is none of them, otherwise 0."""
    moved = problem.has_owner[problem.col_task] & ~problem.col_owner
    return PairCosts(moved.astype(np.int64), problem.has_owner.astype(np.int64))


def price_active_migrations(problem: Problem) -> PairCosts:
    """Return the cost of an active copy: as `price_active_moves`; without an owner, 1 if the copy is not caught up."""
    columns = np.where(problem.has_owner[problem.col_task], ~problem.col_owner, problem.col_rank > 0)
    pools = problem.has_owner | (problem.pool_rank > 0)
    return PairCosts(columns.astype(np.int64), pools.astype(np.int64))


def price_standby_migrations(problem: Problem) -> PairCosts:
    """Return the cost of a standby: 1 if the client did not have it and the task is not new, otherwise 0."""
    moved = problem.has_history[problem.col_task] & ~problem.col_standby
    return PairCosts(moved.astype(np.int64), problem.has_history.astype(np.int64))


RESTORE_WORK = GoalModel(
    "restore_work",
    cost_per_copy=lambda problem: PairCosts(problem.col_cost, problem.pool_cost),
    forced_costs=lambda forced: (forced.tie_cost, forced.forced_work),
)
COPIES_NOT_CAUGHT_UP = GoalModel(
    "copies_not_caught_up",
    cost_per_copy=_price_not_caught_up,
    forced_costs=lambda forced: (forced.tie_not_caught_up.astype(np.int64), forced.forced_not_caught_up),
)
ACTIVES_NOT_CAUGHT_UP = GoalModel("actives_not_caught_up", cost_per_active=_price_not_caught_up)
ACTIVE_MIGRATIONS = GoalModel("active_migrations", cost_per_active=price_active_migrations)
ACTIVE_MOVES = GoalModel("active_moves", cost_per_active=price_active_moves)
STANDBY_MIGRATIONS = GoalModel("standby_migrations", cost_per_standby=price_standby_migrations)

DEFAULT_ORDER = (RESTORE_WORK, COPIES_NOT_CAUGHT_UP, ACTIVES_NOT_CAUGHT_UP, ACTIVE_MIGRATIONS, STANDBY_MIGRATIONS)
"""Goals (b) to (f): the default order."""
GOALS = (*DEFAULT_ORDER, ACTIVE_MOVES)
