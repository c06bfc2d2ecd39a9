"""The third reader: what the options and configs of a snapshot ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from optassign.formats.configs import OffloadPrices
from optassign.formats.state import ApplicationState
from optassign.goals.order import GoalOrder, find_unservable, goal_order, note_unused_weights, note_weighing
from optassign.measuring.limits import describe_limit, list_limits, select_clients, select_tasks
from optassign.measuring.load import balances_load, find_wait_for_rates_ms
from optassign.solving.situation.inventory import Inventory
from optassign_models.limits import Kind, PlacementLimit

_KINDS = {"pin": Kind.PIN, "forbid": Kind.FORBID, "most_copies": Kind.MOST, "most_state": Kind.MOST}


@dataclass(frozen=True, eq=False)
class RequestedLimits:
    """The limits of a snapshot that can bind: the others change nothing."""

    placements: tuple[PlacementLimit, ...] = ()
    """Those on placements, in the order in which they are named."""
    most_moves: int | None = None
    """Active moves of a rebalance: the least of those limits."""
    words: Mapping[str, str] | None = None
    """Name -> the limit in words, of all that are given; None where none is."""
    given_way: Mapping[str, str] = field(default_factory=dict)
    """Limits that were left out as they cannot hold, and why, by name."""


@dataclass(frozen=True, eq=False)
class Requests:
    """What an operator asks for, of the goals and of the group."""

    order: GoalOrder
    """The goals that the snapshot asks for."""
    goal_data: Mapping[str, object]
    """Goal → its model's data in addition to the arrays, for the goals (a) for which the snapshot has it."""
    unservable: Mapping[str, str]
    """Goal → the facts that the snapshot lacks, so that no assignor can serve it."""
    balance_factor: int
    balances_load: bool
    load_tolerance: float
    min_gain: float
    limits: RequestedLimits
    offload: OffloadPrices
    """The seconds that an offload must save, by its moves."""
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


def read_requests(state: ApplicationState, inventory: Inventory) -> Requests:
    """Read the options and configs."""
    options, order = state.options, goal_order(state)
    goal_data = {name: goal.find_data(state) for name, goal in order.goals.items() if goal.is_configured}
    return Requests(
        order=order,
        goal_data={name: data for name, data in goal_data.items() if data is not None},
        unservable=find_unservable(state, order.asked_for),
        balance_factor=options.balance_factor,
        balances_load=balances_load(state),
        load_tolerance=options.load_tolerance,
        min_gain=options.min_gain,
        limits=_read_limits(state, inventory),
        offload=options.relief,
        forgets_plan=options.forget_plan,
        is_paused=options.hold != "none",
        hold_ends_ms=options.hold_ends_ms,
        idle_ms=options.idle_followup_ms,
        wait_for_rates_ms=find_wait_for_rates_ms(state),
        interval_ms=state.configs.probing_rebalance_interval_ms,
        by_interval=options.followup == "interval",
        notes=(*note_unused_weights(options), *note_weighing(state)),
    )


def _read_limits(state: ApplicationState, inventory: Inventory) -> RequestedLimits:
    limits = list_limits(state)
    if not limits:
        return RequestedLimits()
    placements = []
    for name, limit in limits.items():
        if limit.kind == "most_active_moves":
            continue
        tasks, clients = np.zeros(inventory.T, dtype=np.bool_), np.zeros(inventory.C, dtype=np.bool_)
        tasks[[inventory.task_at[task] for task in select_tasks(state, limit)]] = True
        clients[[inventory.client_at[client] for client in select_clients(state, limit)]] = True
        is_state = limit.kind == "most_state"
        weight = inventory.end if is_state else np.ones(inventory.T, dtype=np.int64)
        placements.append(PlacementLimit(name, _KINDS[limit.kind], tasks, clients, limit.most or 0, weight, is_state))
    moves = [limit.most for limit in limits.values() if limit.kind == "most_active_moves" and limit.most is not None]
    words = {name: describe_limit(name, limit) for name, limit in limits.items()}
    binding = tuple(limit for limit in placements if limit.can_bind)
    return RequestedLimits(binding, min((most for most in moves if most < inventory.T), default=None), words)
