"""What the models know of a goal: its value, its CP-SAT expression, and what a copy costs where a flow can carry it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optassign.models.forced import Forced
from optassign.models.placed import Placed
from optassign.models.problem import IntArray, Problem

if TYPE_CHECKING:  # goals are valued without a solver too
    from optassign.models.cp_sat.variables import Expression, Variables


@dataclass(frozen=True, eq=False)
class PairCosts:
    """What a copy costs on each pair of task and client."""

    columns: IntArray
    """(A,) on the client of each column."""
    pools: IntArray
    """(T,) on any client of the task's pool; (T, K) on one of each class of clients, where the goal tells clients apart."""


@dataclass(frozen=True, eq=False)
class ForcedCosts:
    """What of a sum over copies R3 to R5 force in this answer."""

    per_tie: IntArray
    """(T,) what a further copy on one of the task's cold tied clients costs."""
    paid: int
    """What the answer costs whatever is chosen."""


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
    starts_from_hint: bool = True
    """Whether CP-SAT is given the best plan so far as a hint when it minimises this goal."""
