"""The input of a rebalance, as read from a snapshot: its lists, its memory and its requests.

Tasks and clients are sorted, so index order is id order. Keys are task × C + client, C clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from optassign_models.limits import PlacementLimit
from optassign_models.problem import Application, BoolArray, IntArray, Placement, sort_unique
from optassign_models.results import SolverName
from optassign_models.warmups import Progress

RUNNING, UNKNOWN_LAG = -2, -3
"""Kafka's special values in place of a lag: the client runs the task; the client cannot tell its lag."""


@dataclass(frozen=True, eq=False)
class Inventory(Application):
    """The application, and the tasks and lags that clients list; keys are task × C + client."""

    tasks: tuple[str, ...]
    """(T,) ids."""
    clients: tuple[str, ...]
    """(C,) process ids."""
    task_at: Mapping[str, int]
    client_at: Mapping[str, int]
    owned: IntArray
    """(n,) keys of the tasks in the clients' `previous_active`."""
    had_standby: IntArray
    """(n,) keys of the logged tasks in the clients' `previous_standby`."""
    lag_keys: IntArray
    """(n,) keys of the lags that clients report."""
    lags: IntArray
    """(n,) the lag of each of `lag_keys`, offsets, RUNNING or UNKNOWN_LAG."""


@dataclass(frozen=True, eq=False)
class RememberedAnswer:
    """The remembered answer in keys, and the facts of its report."""

    known: bool
    active: IntArray
    """(T,) key of each task's remembered active copy, or −1."""
    active_client: IntArray
    """(T,) client of that copy, or −1."""
    standby: IntArray
    """(n,) keys of the remembered standbys of logged tasks, sorted."""
    warmup: IntArray
    """(n,) keys of the remembered warm-ups, sorted."""
    plan_keys: IntArray
    """(n,) keys of all copies of its plan on present clients; of the answer, if that is its own plan."""
    seen: BoolArray
    """(T,) whether the answer gives a client, present or gone, a copy of the task."""
    in_transit: BoolArray
    """(T,) whether the task has no owner and its remembered active is on a present client."""
    answer: Placement | None
    """The answer, if it places every copy on a present client and each owned task's active on one of its owners (R10)."""
    plan: Placement | None
    """Its plan, or the answer that is its own plan, if it places every copy on a present client."""
    plan_differs: bool
    """Whether the plan differs from the answer."""
    same_clients: bool
    """Whether the answer names exactly the present clients."""
    progress: Progress
    asked_ms: int | None
    """Delay of the follow-up that the answer asked for; None if it asked for none."""
    notes: frozenset[str]
    """The notes of its report."""
    to_balance_ms: int | None
    """Expected time from the answer until its plan is reached; None if unknown."""
    new_drains: frozenset[str]
    """Process ids of draining clients that have copies in the answer and did not drain then. A second pass (KIP-429) repeats
    the answer, so their tasks move only in the rebalance after it."""

    @property
    def assigned(self) -> IntArray:
        """(n,) keys of all copies and warm-ups of the answer, sorted."""
        return sort_unique(np.concatenate([self.active[self.active >= 0], self.standby, self.warmup]))


@dataclass(frozen=True)
class RequestedOrder:
    """The goals of a plan that a snapshot asks for."""

    names: tuple[str, ...]
    """Most important first."""
    configured: tuple[str, ...]
    """The goals (a) of `names`."""
    is_given: bool
    """Whether the options name another order than the preset's own."""
    is_weighted: bool
    """Whether one weighted sum is requested in place of an order."""
    weights: tuple[int, int, int]
    """Weights of instance imbalance, subtopology imbalance and stickiness in that sum: least whole numbers of their ratio."""
    asked_for: tuple[str, ...]
    """Goals that are requested beyond the default order. The report names those that are not served."""


@dataclass(frozen=True, eq=False)
class RequestedLimits:
    """The limits of a snapshot that can bind; limits that every placement keeps are left out."""

    placements: tuple[PlacementLimit, ...] = ()
    """Limits on placements, in the order in which they are named."""
    most_moves: int | None = None
    """The greatest number of active moves in a rebalance, the least of all such limits; None if none can bind."""
    words: Mapping[str, str] | None = None
    """Name → the limit in words, for all limits of the snapshot; None if it has no limits."""
    given_way: Mapping[str, str] = field(default_factory=dict)
    """Name → reason, for each limit that gave way and is not in `placements`."""


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of an operator: goals, limits and actions."""

    order: RequestedOrder
    goal_data: Mapping[str, object]
    """Goal → its model's data in addition to the arrays, for the goals (a) for which the snapshot has such data."""
    balance_factor: int
    balances_load: bool
    load_tolerance: float
    min_gain: float
    limits: RequestedLimits
    offload: tuple[int, int]
    """The seconds that an offload must save, for each extra move of a stateless and of a logged task."""
    solver: SolverName
    """The solver of the target."""
    forgets_plan: bool
    """Whether to ignore the remembered plan and warm-ups."""
    is_paused: bool
    """Whether to make only moves that R1 to R5 force."""
    hold_ends_ms: int | None
    idle_ms: int | None
    """Time until a group at rest asks again, so that new requests take effect; None if it does not."""
    wait_for_rates_ms: int | None
    """Time until all input rates count as weights; None if no rate is awaited."""
