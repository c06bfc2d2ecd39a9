"""A goal of the models: what copies cost, which is its linear form in a program and its value for a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optassign_models.forced import Forced, exact_sum
from optassign_models.problem import BoolArray, IntArray, Placement, Problem


@dataclass(frozen=True, eq=False)
class EvaluatedPlan:
    """A plan, its problem and what R3 to R5 force in it. K is the number of active and standby copies of logged tasks."""

    problem: Problem
    forced: Forced
    plan: Placement

    @cached_property
    def copy_keys(self) -> IntArray:
        """(K,) task × C + client of each copy of a logged task, ascending."""
        return self.plan.copy_keys(self.problem.C, self.problem.logged)

    @cached_property
    def active_keys(self) -> IntArray:
        """(T,) task × C + client of each active copy."""
        return np.arange(self.problem.T) * self.problem.C + self.plan.active

    @cached_property
    def standby_keys(self) -> IntArray:
        """(S,) task × C + client of each standby, ascending."""
        return self.plan.standby_keys(self.problem.C)

    @cached_property
    def is_paid(self) -> BoolArray:
        """(K,) the copy costs what it costs on its client: it is not mandatory, nor a tied one that `beyond_ties` counts."""
        return ~self.problem.flag_of(self.copy_keys, self.forced.mandatory) & ~self._is_tie_not_caught_up

    @cached_property
    def beyond_ties(self) -> IntArray:
        """(T,) copies on cold tied clients beyond the `choices` that R3 to R5 force anyway."""
        task = self.copy_keys // self.problem.C
        return np.maximum(np.bincount(task[self._is_tie_not_caught_up], minlength=self.problem.T) - self.forced.choices, 0)

    @cached_property
    def _is_tie_not_caught_up(self) -> BoolArray:
        forced, task = self.forced, self.copy_keys // self.problem.C
        is_tied: BoolArray = self.problem.look_up(self.copy_keys, forced.tied, forced.pool_tied[task])
        return is_tied & forced.tie_not_caught_up[task]


@dataclass(frozen=True, eq=False)
class PairCosts:
    """The cost of a copy on each pair of task and client."""

    columns: IntArray
    """(A,) on the client of each column."""
    pools: IntArray
    """(T,) on any client of the task's pool; (T, K) on one of each class of clients, where the goal tells clients apart."""

    @classmethod
    def nothing(cls, problem: Problem) -> PairCosts:
        """Return costs of 0 for all copies."""
        return cls(np.zeros(len(problem.col_task), dtype=np.int64), np.zeros(problem.T, dtype=np.int64))

    def plus(self, other: PairCosts, times: int) -> PairCosts:
        """Return the sum of these costs and `times` times the others."""
        mine, theirs = (each if each.ndim == 2 else each[:, None] for each in (self.pools, other.pools))
        return PairCosts(self.columns + times * other.columns, mine + times * theirs)


@dataclass(frozen=True, eq=False)
class Reached:
    """Values of one kind that copies of a task can reach; further copies on a value count nothing."""

    of_client: IntArray
    """(C,) value of each client, −1 for none."""
    gain: int
    """Each logged task's gain for each value that some copy of it reaches."""

    def count(self, placed: EvaluatedPlan) -> int:
        """Return the values that copies reach, summed over the tasks."""
        task, client = np.divmod(placed.copy_keys, placed.problem.C)
        value = self.of_client[client]
        return len(np.unique((task * (placed.problem.C + 1) + value)[value >= 0]))


@dataclass(frozen=True, eq=False)
class Carried:
    """The weights of copies, for a goal that is their greatest sum in a bin of clients."""

    of_task: IntArray
    """(T,) weights of the tasks, for comparing those of one subtopology."""
    by_active: Callable[[IntArray, IntArray], IntArray]
    """Weights (n,) of active copies of tasks (n,) on clients (n,)."""
    by_standby: Callable[[IntArray, IntArray], IntArray]
    """The same of standbys."""
    grain: IntArray | int = 1
    """The goal counts in grains, rounded up: one, or (B,) one of each bin."""
    bin_of: IntArray | None = None
    """(C,) bin of each client, 0 to B − 1; None if each client is one."""
    find_floor: Callable[[], int] = int
    """Returns the goal's least value, in grains."""
    alone: Callable[[IntArray, IntArray], IntArray] | None = None
    """Weights (n,) below which the goal is not with active copies of tasks (n,) on clients (n,), whatever others weigh."""

    def find_greatest(self, plan: Placement, clients: int) -> int:
        """Return the greatest sum in a bin, in grains."""
        bin_of = np.arange(clients) if self.bin_of is None else self.bin_of
        grain = np.broadcast_to(np.asarray(self.grain, dtype=np.int64), int(bin_of.max()) + 1)
        task, client = np.arange(len(plan.active)), plan.active
        sums = np.bincount(bin_of[client], self.by_active(task, client), len(grain))
        sums = sums + np.bincount(
            bin_of[plan.standby_client], self.by_standby(plan.standby_task, plan.standby_client), len(grain)
        )
        if self.alone is not None:
            np.maximum.at(sums, bin_of[client], self.alone(task, client))
        return int((-(-sums // grain)).max())


@dataclass(frozen=True)
class GoalModel:
    """One goal for the models; always minimised, so a goal to be maximised enters with its sign changed."""

    name: str
    cost_per_copy: Callable[[Problem], PairCosts] | None = None
    """The cost of an active or standby copy of a logged task; None where the goal is no sum over copies."""
    cost_per_active: Callable[[Problem], PairCosts] | None = None
    """The cost of an active copy; None where the goal is no sum over actives."""
    cost_per_standby: Callable[[Problem], PairCosts] | None = None
    """The cost of a standby; None where the goal is no sum over standbys."""
    forced_costs: Callable[[Forced], tuple[IntArray, int]] | None = None
    """The part of the sum that R3 to R5 force in this answer, None with `cost_per_copy`: (T,) the cost of a further copy on one
    of the task's cold tied clients, and the cost of the answer under any choice."""
    tells_apart: Callable[[Problem], IntArray] | None = None
    """(C,) the class of each client, 0 to K − 1, where what a copy costs in a pool depends on it."""
    reaches: Callable[[Problem], tuple[Reached, ...]] | None = None
    """The values that the goal counts, if it counts the distinct values that a task's copies reach."""
    carries: Callable[[Problem], Carried | None] | None = None
    """The weights of copies, if the goal is a greatest sum; None where the snapshot does not say them."""

    def evaluate(self, placed: EvaluatedPlan) -> int:
        """Return the goal's value of a plan, in whole units."""
        value, problem = 0, placed.problem
        if self.cost_per_copy is not None and self.forced_costs is not None:
            per_tie, paid = self.forced_costs(placed.forced)
            each = self._price(problem, self.cost_per_copy, placed.copy_keys[placed.is_paid])
            value += paid + exact_sum(each) + exact_sum(per_tie, placed.beyond_ties)
        if self.cost_per_active is not None:
            value += exact_sum(self._price(problem, self.cost_per_active, placed.active_keys))
        if self.cost_per_standby is not None:
            value += exact_sum(self._price(problem, self.cost_per_standby, placed.standby_keys))
        for reached in () if self.reaches is None else self.reaches(problem):
            value -= reached.gain * reached.count(placed)
        carried = None if self.carries is None else self.carries(problem)
        return value if carried is None else value + carried.find_greatest(placed.plan, problem.C)

    def _price(self, problem: Problem, find_costs: Callable[[Problem], PairCosts], keys: IntArray) -> IntArray:
        """Return (n,) the cost of a copy on each pair `keys` (n,)."""
        costs, task, client = find_costs(problem), keys // problem.C, keys % problem.C
        if self.tells_apart is None or costs.pools.ndim == 1:
            return problem.look_up(keys, costs.columns, costs.pools[task])
        return problem.look_up(keys, costs.columns, costs.pools[task, self.tells_apart(problem)[client]])
