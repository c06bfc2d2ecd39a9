"""The input of a rebalance as it is read: a snapshot's lists, its memory and its requests.

Tasks and clients are sorted, so index order is id order. Keys are task × C + client, C clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from optassign_models.limits import PlacementLimit
from optassign_models.problem import BoolArray, IntArray, Placement, sort_unique
from optassign_models.warmups import Progress

RUNNING, UNKNOWN_LAG = -2, -3
"""Lags that are none, as Kafka marks them: the client runs the task; it cannot tell its lag."""


@dataclass(frozen=True, eq=False)
class Inventory:
    """T tasks, C clients, G subtopologies, and what clients list; keys are task × C + client."""

    tasks: tuple[str, ...]
    """(T,) ids."""
    clients: tuple[str, ...]
    """(C,) process ids."""
    task_at: Mapping[str, int]
    client_at: Mapping[str, int]
    subtopology: IntArray
    """(T,) subtopology of each task."""
    kind: IntArray
    """(G,) STATELESS, UNLOGGED or LOGGED."""
    logged: BoolArray
    """(T,) whether the task has a changelog."""
    end: IntArray
    """(T,) offsets of the whole changelog, 0 without one."""
    threads: IntArray
    """(C,) stream threads."""
    units: IntArray
    """(C,) threads × capacity, in millionths."""
    draining: BoolArray
    """(C,) about to leave."""
    standbys: int
    """Standbys of each logged task."""
    max_warmups: int
    acceptable_lag: int
    owned: IntArray
    """(n,) keys of the tasks that clients list as active."""
    had_standby: IntArray
    """(n,) keys of the logged tasks that they list as standbys."""
    lag_keys: IntArray
    """(n,) keys of the lags that they report, and"""
    lags: IntArray
    """(n,) these lags."""
    followup_client: int
    """The client that asks for follow-ups: the least process id that does not say that it drains (R8)."""

    @property
    def T(self) -> int:  # noqa: N802 - the formulation's own letters
        """Number of tasks."""
        return len(self.tasks)

    @property
    def C(self) -> int:  # noqa: N802
        """Number of clients."""
        return len(self.clients)


@dataclass(frozen=True, eq=False)
class RememberedAnswer:
    """The remembered answer in keys, and what its report says."""

    known: bool
    active: IntArray
    """(T,) key of each task's remembered active copy, or −1."""
    active_client: IntArray
    """(T,) its client, or −1."""
    standby: IntArray
    """(n,) keys of the remembered standbys of logged tasks, sorted."""
    warmup: IntArray
    """(n,) keys of the remembered warm-ups, sorted."""
    plan_keys: IntArray
    """(n,) keys of all copies of its plan; where the answer was its own plan, of the answer."""
    seen: BoolArray
    """(T,) some client had a copy of the task, be it here or gone."""
    in_transit: BoolArray
    """(T,) tasks without an owner that it gave to a client that is here."""
    answer: Placement | None
    """The answer, if all its clients and tasks are these and no client owns a task that it gave to another (R10)."""
    plan: Placement | None
    """Its plan, or the answer that is its own plan, where that has every copy of every task on clients that are here."""
    plan_differs: bool
    """Its plan is another than the answer itself."""
    same_clients: bool
    """It names exactly the clients that are here."""
    progress: Progress
    asked_ms: int | None
    """The follow-up that it asked for."""
    notes: frozenset[str]
    """The notes of its report."""
    to_balance_ms: int | None
    """Until its plan was likely to be reached."""
    new_drains: frozenset[str]
    """The process ids of draining clients that have copies by it and did not drain then. A second pass (KIP-429) repeats the
    answer, so that it says nothing about the room that the others have for their tasks."""

    @property
    def assigned(self) -> IntArray:
        """(n,) keys of all its copies and warm-ups, sorted."""
        return sort_unique(np.concatenate([self.active[self.active >= 0], self.standby, self.warmup]))


@dataclass(frozen=True)
class RequestedOrder:
    """The goals of a plan that a snapshot asks for."""

    names: tuple[str, ...]
    """Most important first."""
    configured: tuple[str, ...]
    """Goals (a) among them."""
    is_given: bool
    """The options name another order than the preset's own."""
    is_weighted: bool
    """One weighted sum is asked for in place of an order."""
    weights: tuple[int, int, int]
    """Weights of instance balance, subtopology balance and stickiness in that sum, in multiples of `weight_unit`."""
    weight_unit: Fraction
    """The unit with which weights are the least whole numbers of their ratio."""
    asked_for: tuple[str, ...]
    """The goals that go beyond the default order: an assignor that does not serve one says so."""


@dataclass(frozen=True, eq=False)
class RequestedLimits:
    """The limits of a snapshot that can bind: the others change nothing."""

    placements: tuple[PlacementLimit, ...] = ()
    """Those on placements, in the order in which they are named."""
    most_moves: int | None = None
    """Active moves of a rebalance: the least of those limits."""
    words: Mapping[str, str] | None = None
    """Name → the limit in words, for all limits of the snapshot; None if it has none."""
    given_way: Mapping[str, str] = field(default_factory=dict)
    """Limits that were left out as they cannot hold, and why, by name."""


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of an operator: goals, limits and actions."""

    order: RequestedOrder
    goal_data: Mapping[str, object]
    """Goal → its model's data in addition to the arrays, for the goals (a) for which the snapshot has it."""
    unservable: Mapping[str, str]
    """Goal → the facts that the snapshot lacks, so that no assignor can serve it."""
    balance_factor: int
    balances_load: bool
    load_tolerance: float
    min_gain: float
    limits: RequestedLimits
    offload: tuple[int, int]
    """The seconds that an offload must save, for each extra move of a stateless and of a logged task."""
    solver: str
    """The solver of the target: `auto`, `cp-sat` or `highs`."""
    forgets_plan: bool
    """The remembered plan counts for nothing."""
    is_paused: bool
    """Only moves that R1 to R5 force are made."""
    hold_ends_ms: int | None
    idle_ms: int | None
    """Until a group at rest asks again, for what its operator asks for next."""
    wait_for_rates_ms: int | None
    """Until rates of the input count that do not yet."""
    interval_ms: int
    """The longest time between follow-ups."""
    by_interval: bool
    """Follow-ups come after the interval, whatever is known."""
    notes: tuple[str, ...]
    """Weights that are not used."""


@dataclass(frozen=True, eq=False)
class RememberedPace:
    """Rates of C clients by the report of the remembered answer, and the time since."""

    elapsed_ms: int
    """Since the snapshot that it is from."""
    offsets: IntArray
    """(C,) offsets restored in"""
    ms: IntArray
    """(C,) milliseconds of measurement; 0: not measured."""
    evidence: IntArray
    """(C,) `Evidence` of each rate, as a number."""
    looks: int
    """Follow-ups in a row that found nothing restored."""
    counted_at: str | None
    counted_ms: int | None
    """Since the last answer that counted for R11."""
