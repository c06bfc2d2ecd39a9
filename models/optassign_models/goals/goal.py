"""What the models know of a goal: its value, its CP-SAT expression, and what a copy costs where a flow can carry it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optassign_models.forced import Forced
from optassign_models.placed import Placed
from optassign_models.problem import IntArray, Problem

if TYPE_CHECKING:  # goals are valued without a solver too
    from optassign_models.cp_sat.variables import Expression, Variables


@dataclass(frozen=True, eq=False)
class PairCosts:
    """What a copy costs on each pair of task and client."""

    columns: IntArray
    """(A,) on the client of each column."""
    pools: IntArray
    """(T,) on any client of the task's pool; (T, K) on one of each class of clients, where the goal tells clients apart."""

    @classmethod
    def nothing(cls, problem: Problem) -> PairCosts:
        """No copy costs anything."""
        return cls(np.zeros(len(problem.col_task), dtype=np.int64), np.zeros(problem.T, dtype=np.int64))

    def plus(self, other: PairCosts, times: int) -> PairCosts:
        """The sum of these costs and so many times the others."""
        mine, theirs = (each if each.ndim == 2 else each[:, None] for each in (self.pools, other.pools))
        return PairCosts(self.columns + times * other.columns, mine + times * theirs)


@dataclass(frozen=True, eq=False)
class ForcedCosts:
    """What of a sum over copies R3 to R5 force in this answer."""

    per_tie: IntArray
    """(T,) what a further copy on one of the task's cold tied clients costs."""
    paid: int
    """What the answer costs whatever is chosen."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Values of one kind that copies of a task can reach; further copies on a value count nothing."""

    of_client: IntArray
    """(C,) value of each client, −1 for none."""
    gain: int
    """What each logged task gains for each value that some copy of it reaches."""


@dataclass(frozen=True)
class GoalModel:
    """One goal as the models see it; always minimised, so a goal of which more is better enters with its sign changed."""

    name: str
    value: Callable[[Placed], int]
    """The goal's value of a plan, in the units of `expression`."""
    express: Callable[[Variables, Forced], Expression]
    """Adds what the goal needs to the CP-SAT model and gives its expression."""
    cost_per_copy: Callable[[Problem], PairCosts] | None = None
    """What an active or standby copy of a logged task costs; None where the goal is no sum over copies."""
    cost_per_active: Callable[[Problem], PairCosts] | None = None
    """What an active copy costs; None where the goal is no sum over actives."""
    cost_per_standby: Callable[[Problem], PairCosts] | None = None
    """What a standby costs; None where the goal is no sum over standbys."""
    forced_costs: Callable[[Forced], ForcedCosts] | None = None
    """What of the sum over copies is paid anyway; None where `cost_per_copy` is."""
    tells_apart: Callable[[Problem], IntArray] | None = None
    """(C,) the class of each client, 0 to K − 1, where what a copy costs in a pool depends on it."""
    reaches: Callable[[Problem], tuple[Reached, ...]] | None = None
    """Where the goal counts the distinct values that a task's copies reach, those values."""
    starts_from_hint: bool = True
    """Whether CP-SAT is given the best plan so far as a hint when it minimises this goal."""

    @property
    def is_linear(self) -> bool:
        """Whether the one model as a linear program has the goal."""
        per_copy = self.cost_per_copy is not None and self.forced_costs is not None
        return per_copy or any(part is not None for part in (self.cost_per_active, self.cost_per_standby, self.reaches))
