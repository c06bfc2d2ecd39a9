"""Results of a search and of one rebalance, with their bounds and provers; times and deadlines for both."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np

from optassign_models.problem import IntArray, Placement
from optassign_models.warmups import Progress


class FoundBy(StrEnum):
    """The finder of an answer, or the prover of bounds. A baseline has its own name as finder."""

    FLOW = "flow"
    """A min-cost flow: of actives in this rebalance, or of the copies of a plan."""
    CP_SAT = "cp-sat"
    HIGHS = "highs"
    """Its bounds are duals of a relaxation, summed in whole numbers."""
    GREEDY = "greedy"
    REMEMBERED = "remembered"
    """No search: the remembered answer or plan, or the previous assignment."""
    RULES = "rules"
    """Only a prover: a bound follows from the rules or from plain counts, without a solver."""


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search for a plan, for an assignment that is balanced now, or for the answer on the way to a plan."""

    placement: Placement | None
    """None if no placement was found."""
    impossible: bool = False
    """Whether it is proven that no such placement exists."""
    bounds: dict[str, int] = field(default_factory=dict)
    """Goal → bound of its value, given the goals before it: a lower bound, or an upper bound if the goal is maximised."""
    proved_by: FoundBy = FoundBy.FLOW
    found_by: str = FoundBy.FLOW
    limited: bool = False
    """Whether a limit of time or work ended the search."""
    default_reason: str | None = None
    """Why the plan follows the default order although another order is requested; None if it does not."""

    @property
    def whole(self) -> Placement:
        """The placement. AssertionError if the search found none."""
        assert self.placement is not None
        return self.placement


class Reason(StrEnum):
    """The reason why solving ended, as in MathOpt; `Step.limited` tells whether a limit ended a search."""

    OPTIMAL = "optimal"
    """Every goal is proven."""
    FEASIBLE = "feasible"
    REST = "rest"
    """The previous assignment comes back (R7)."""
    CONFIRMED = "confirmed"
    """The remembered answer comes back while its moves are under way (R10)."""
    HELD = "held"
    """The group is paused or in quiet hours: the previous assignment, with only the changes that R1 to R5 force."""
    LIMIT = "limit"
    """There was no time for the solver."""
    FALLBACK = "fallback"
    """The solver failed, or broke a rule, and greedy answered instead."""
    HEURISTIC = "heuristic"
    """A baseline answered; nothing is proven."""


OWNERS_HELD = "tasks without owner and no memory: owners keep their tasks in this rebalance"
"""A note of a report. A later rebalance looks for it in the remembered answer, so its words are of the format."""


@dataclass(frozen=True, eq=False)
class Warmups:
    """The warm-ups of a rebalance, and all copies that its plan waits for."""

    keys: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n,) task × C + client of the warm-ups, sorted."""
    waiting: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n,) task × C + client of the plan's copies not caught up or waiting for their turn; copies with a slot come first."""
    is_queue_left: bool = False
    """Whether some of these copies have no slot yet."""
    waits_for_room: bool = False
    """Whether a limit on state keeps some copies without a slot until other copies have left their clients."""
    stalled: bool = False
    """Whether the group is stalled: copies that the plan waits for have come no nearer over several answers (R11)."""
    progress: Progress | None = None
    """The lags and idle answers with which the next answer is compared."""


@dataclass(frozen=True, eq=False)
class Step:
    """One rebalance: the answer, the plan that it is on the way to, and the facts of its report."""

    answer: Placement
    plan: Placement | None
    """The plan of the answer; None if the answer is its own plan."""
    reason: Reason
    found_by: str
    """A `FoundBy`, or the name of the baseline."""
    balanced: bool
    warmups: Warmups = field(default_factory=Warmups)
    bounds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Stage (`now`, `plan` or `rebalance`, as in `GoalReport`) → goal → bound, in the units of the models."""
    measured_bounds: Mapping[str, float] = field(default_factory=dict)
    """Goal → bound at every stage, in the units of its measure."""
    proved_by: Mapping[str, FoundBy] = field(default_factory=dict)
    """Stage → the prover of its bounds."""
    weighs: bool = False
    """Whether the plan was searched for by its weighted sum (preset `weighted`), which the report then has."""
    weighted_bound: int | None = None
    """A lower bound of the weighted sum of any plan, with `RequestedOrder.weights`; None if unknown."""
    followup: bool = False
    probing: bool = False
    """Whether a confirmed answer still wants the follow-up that the remembered answer asked for, if any (R8)."""
    limited: bool = False
    """Whether a limit of time or work ended a search that this step depends on."""
    to_balance_ms: int | None = None
    """Expected time until the plan is reached; None if nothing is under way, or no rate is known. [ms]"""
    is_over_share: bool = False
    """Whether some client has more active tasks than its share allows, on the way to the plan."""
    notes: tuple[str, ...] = ()
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Goal of `RequestedOrder.asked_for` → why it is not served."""
    given_way: Mapping[str, str] | None = None
    """Name of a limit (`Options.limits`) that gave way → why; None if the assignor does not serve limits, or none is set."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Stage → seconds."""


@contextmanager
def time_stage(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the time of the block to the `seconds` of a stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Deadline:
    """A point in time by the monotonic clock that ends a search even if its limit of work is not reached."""

    at: float
    """Seconds of the monotonic clock; infinite if there is no deadline."""

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` seconds from now; None means no deadline."""
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self.at - time.monotonic())


SolverName = Literal["auto", "cp-sat", "highs"]
"""The choices of `options.solver`."""


@dataclass(frozen=True)
class Effort:
    """The solver of a search, and its deadline."""

    solver: SolverName
    deadline: Deadline
    is_first_try: bool = True
    """Whether CP-SAT may decide small programs under `auto`; otherwise the relaxation goes first."""
