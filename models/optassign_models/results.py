"""Results: what a search found and who proved it; one rebalance in arrays, how it came about, and the time for both."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from optassign_models.problem import IntArray, Placement
from optassign_models.warmups import Progress


class FoundBy(StrEnum):
    """The finder of an answer or the prover of bounds; a baseline gives its own name instead."""

    FLOW = "flow"
    """A min-cost flow of actives in this rebalance."""
    CP_SAT = "cp-sat"
    HIGHS = "highs"
    """Its bounds are duals of a relaxation, summed in whole numbers."""
    GREEDY = "greedy"
    REMEMBERED = "remembered"
    """No search was needed: it is the remembered answer or plan, or the assignment before."""
    RULES = "rules"
    """A prover only: R3 to R5 leave no other restore work, and a number that is never below 0 is 0."""


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search for a plan, for an assignment that is balanced now, or for the answer on the way to a plan."""

    placement: Placement | None
    """None where nothing was found."""
    impossible: bool = False
    """Proven that there is nothing to be found."""
    bounds: dict[str, int] = field(default_factory=dict)
    """Goal → a number that its value cannot be below, given the goals before it; not above, where a goal is to be great."""
    proved_by: FoundBy = FoundBy.FLOW
    found_by: str = FoundBy.FLOW
    limited: bool = False
    """A limit ended the search."""
    default_reason: str | None = None
    """Why the plan is one of the default order though another one is asked for; None while it is not."""

    @property
    def whole(self) -> Placement:
        """The placement, where one must have been found."""
        assert self.placement is not None
        return self.placement


class Reason(StrEnum):
    """Why solving ended; what ended it, if it was a limit, is another thing (MathOpt)."""

    OPTIMAL = "optimal"
    """Every goal is proven."""
    FEASIBLE = "feasible"
    REST = "rest"
    """The assignment before comes back (R7)."""
    CONFIRMED = "confirmed"
    """The remembered answer stands while its moves are under way (R10)."""
    HELD = "held"
    """The group is paused, or its hours are quiet: the assignment before, changed only where R1 to R5 force it."""
    LIMIT = "limit"
    """There was no time for the solver."""
    FALLBACK = "fallback"
    """The solver failed, or broke a rule, and greedy answered instead."""
    HEURISTIC = "heuristic"
    """A baseline answered, which proves nothing."""


class Note(StrEnum):
    """A report's notes in words. A later rebalance reads it in the remembered answer, so the words are part of the format."""

    HELD = "tasks without owner and no memory: owners keep their tasks in this rebalance"
    WIDENED = "no balanced assignment was found: the shares are widened by the least imbalance"


@dataclass(frozen=True, eq=False)
class Warmups:
    """The warm-ups of a rebalance, and all that its plan waits for."""

    keys: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n,) task × C + client of the warm-ups, sorted."""
    waiting: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n,) task × C + client of the plan's copies not caught up or waiting for their turn; those with a slot first."""
    is_queue_left: bool = False
    """Some of them have no slot yet."""
    waits_for_room: bool = False
    """Some of these have none, by a limit on state, until other copies have left their clients."""
    stalled: bool = False
    """No copy that the plan waits for has come nearer over several answers (R11)."""
    progress: Progress | None = None
    """The copies to be compared with the next answer."""


@dataclass(frozen=True, eq=False)
class Step:
    """One rebalance: the answer, the plan that it is on the way to, and what the report says of both."""

    answer: Placement
    plan: Placement | None
    """The plan of the answer; None if the answer is its own plan."""
    reason: Reason
    found_by: str
    """The stage or the baseline that found it."""
    balanced: bool
    warmups: Warmups = field(default_factory=Warmups)
    bounds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Stage (`now`, `plan` or `rebalance`, as in `GoalReport`) → goal → bound, in the units of the models."""
    measured_bounds: Mapping[str, float] = field(default_factory=dict)
    """Goal → bound at every stage, in the units of its measure."""
    proved_by: Mapping[str, FoundBy] = field(default_factory=dict)
    """Stage → the prover of its bounds."""
    weighs: bool = False
    """Preset `weighted`: the plan, or the answer that is its own plan, is one of little weighted sum."""
    weighted_bound: int | None = None
    """A bound of the sum of all plans, in units of the weights."""
    is_remembered: bool = False
    """The plan, or the answer that is its own plan, is a remembered one: bounds found for another may not hold for it."""
    followup: bool = False
    probing: bool = False
    """Confirmed: the follow-up that the remembered answer asked for, if it did, is still wanted (R8)."""
    limited: bool = False
    """A limit ended some search whose outcome decided something."""
    to_balance_ms: int | None = None
    """Expected time until the plan is reached; None if nothing is under way, or no rate is known. [ms]"""
    is_over_share: bool = False
    """On the way to the plan some client has more active tasks than its share allows."""
    notes: tuple[str, ...] = ()
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Requests of the snapshot beyond the default order that were not served (`RequestedOrder.asked_for`), and why."""
    given_way: Mapping[str, str] | None = None
    """Limits (`Options.limits`) that cannot hold, and why, by name; None: the assignor knows nothing of limits."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Stage → seconds."""


@dataclass
class Clock:
    """Adds up the seconds that each stage takes."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block for a stage; blocks of one stage add up."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Deadline:
    """A point in time by the monotonic clock, in seconds: a guard for solvers, whatever their limits in work say."""

    at: float
    """Infinite if there is none."""

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return a deadline `seconds` seconds from now."""
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self.at - time.monotonic())


class Solver(StrEnum):
    """The solver of a target."""

    AUTO = "auto"
    CP_SAT = "cp-sat"
    HIGHS = "highs"


@dataclass(frozen=True)
class Effort:
    """The solver of a search, and its deadline."""

    solver: Solver
    deadline: Deadline
    is_first_try: bool = True
    """Under `auto`, CP-SAT may decide small programs; otherwise the relaxation goes first."""
