"""Read a snapshot into arrays: what it lists, what it remembers, what it requests, and the remembered pace.

Tasks and clients are sorted in the state, so index order is id order. Time and memory are proportional to the entries of the
snapshot, never to tasks × clients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import gcd, lcm

import numpy as np

from optassign.formats.assignment import KafkaStreamsAssignment, Report, TargetAssignment, TaskAssignment
from optassign.formats.base import INT64_MAX, to_ms
from optassign.formats.configs import Weights
from optassign.formats.state import ApplicationState
from optassign.goals.order import goal_order
from optassign.measuring.limits import describe_limit, list_limits, select_clients, select_tasks
from optassign.measuring.load import balances_load, find_wait_for_rates_ms
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.problem import (
    LOGGED,
    STATELESS,
    UNLOGGED,
    BoolArray,
    IntArray,
    Placement,
    make_placement,
    sort_unique,
)
from optassign_models.solving.inputs import (
    Inventory,
    RememberedAnswer,
    RequestedLimits,
    RequestedOrder,
    Requests,
)
from optassign_models.solving.rates import ClientRates, Evidence
from optassign_models.solving.situation import Situation, make_situation
from optassign_models.warmups import Progress

_CAPACITY_UNIT = 10**6
"""Capacities count in millionths of a thread, so that shares are exact fractions."""


_NO_ANSWER = TaskAssignment(assignor="none", clients=())
"""A placeholder for a missing remembered answer."""
_KINDS = {"pin": Kind.PIN, "forbid": Kind.FORBID, "most_copies": Kind.MOST, "most_state": Kind.MOST}


def read_situation(state: ApplicationState) -> Situation:
    """Return the situation of a snapshot: inventory, requests, memory and pace."""
    inventory = read_inventory(state)
    requests = read_requests(state, inventory)
    pace = read_pace(state, inventory)
    memory = read_memory(state.remembered, inventory)
    return make_situation(inventory, requests, memory, pace)


def read_inventory(state: ApplicationState) -> Inventory:
    """Return tasks, clients, and the tasks and lags that clients list, as arrays."""
    tasks, clients = tuple(task.id for task in state.tasks), state.clients
    subtopologies = state.subtopologies.values()
    kind = [LOGGED if of[0].logged else UNLOGGED if of[0].stateful else STATELESS for of in subtopologies]
    subtopology = np.repeat(np.arange(len(kind)), np.array([len(of) for of in subtopologies], dtype=np.int64))
    kinds = np.array(kind, dtype=np.int64)
    logged = kinds[subtopology] == LOGGED
    task_at = {task: t for t, task in enumerate(tasks)}
    C = len(clients)

    def keys_of(rows: Iterable[Collection[str]]) -> IntArray:
        return list_keys(task_at, enumerate(rows), C)

    had_standby = keys_of(client.previous_standby for client in clients)
    lag_keys = keys_of(client.lags for client in clients)
    lags = np.fromiter(chain.from_iterable(client.lags.values() for client in clients), np.int64, len(lag_keys))
    return Inventory(
        tasks=tasks,
        clients=tuple(client.process_id for client in clients),
        task_at=task_at,
        client_at={client.process_id: c for c, client in enumerate(clients)},
        group=subtopology,
        kind=kinds,
        end=_find_ends(state, logged, lag_keys, lags),
        threads=np.array([client.threads for client in clients], dtype=np.int64),
        units=np.array([c.threads * round(c.capacity * _CAPACITY_UNIT) for c in clients], dtype=np.int64),
        draining=np.array([client.draining for client in clients], dtype=np.bool_),
        standbys=min(state.configs.num_standby_replicas, C - 1),
        max_warmups=state.configs.max_warmup_replicas,
        acceptable_lag=state.configs.acceptable_recovery_lag,
        owned=keys_of(client.previous_active for client in clients),
        had_standby=had_standby[logged[had_standby // C]],
        lag_keys=lag_keys,
        lags=lags,
    )


def list_keys(task_at: Mapping[str, int], rows: Iterable[tuple[int, Collection[str]]], clients: int) -> IntArray:
    """Return (n,) keys task × clients + client of the entries in `rows` (client, its tasks), in their order."""
    listed = list(rows)
    client, number = np.array([(c, len(tasks)) for c, tasks in listed], dtype=np.int64).reshape(-1, 2).T
    task = np.fromiter(map(task_at.__getitem__, chain.from_iterable(tasks for _, tasks in listed)), dtype=np.int64)
    return np.asarray(task * clients + np.repeat(client, number))


def _find_ends(state: ApplicationState, logged: BoolArray, lag_keys: IntArray, lags: IntArray) -> IntArray:
    """Return (T,) offsets of the whole changelog, 0 without one (docs/reference/rules.md, "Whole changelog")."""
    T, C = len(state.tasks), len(state.clients)
    most = np.full(T, state.configs.acceptable_recovery_lag, dtype=np.int64)
    np.maximum.at(most, lag_keys // C, lags)
    guess = np.where(most < INT64_MAX, most + 1, most)
    given = np.array([-1 if t.changelog_end_offset is None else t.changelog_end_offset for t in state.tasks], np.int64)
    return np.where(logged, np.where(given >= 0, given, guess), 0)


def read_memory(remembered: TaskAssignment | None, inventory: Inventory) -> RememberedAnswer:
    """Return the remembered answer in arrays; `known` is false without one."""
    given = remembered if remembered is not None else _NO_ANSWER
    C, logged = inventory.C, inventory.logged
    active, standby = _read_copies(given.clients, inventory)
    standby = standby[logged[standby // C]]
    plan_active, plan_standby = (active, standby) if given.plan is None else _read_copies(given.plan, inventory)
    seen = np.zeros(inventory.T, dtype=np.bool_)
    seen[[inventory.task_at[task] for client in given.clients for task in (*client.active, *client.standby)]] = True
    owned = np.bincount(inventory.owned // C, minlength=inventory.T) > 0
    draining = {inventory.clients[c] for c in np.flatnonzero(inventory.draining).tolist()}
    known = {row.process_id for row in given.report.drains}
    is_owned_as_given = bool(np.isin(active[owned], inventory.owned).all())
    here = [(inventory.client_at[c.process_id], c.warmup) for c in given.clients if c.process_id in inventory.client_at]
    return RememberedAnswer(
        known=remembered is not None,
        active=active,
        active_client=np.where(active >= 0, active % C, -1),
        standby=standby,
        warmup=sort_unique(list_keys(inventory.task_at, here, C)),
        plan_keys=np.concatenate([plan_active[plan_active >= 0], plan_standby]),
        seen=seen,
        in_transit=~owned & (active >= 0),
        answer=_make_complete_placement(active, standby, inventory) if is_owned_as_given else None,
        plan=_make_complete_placement(plan_active, plan_standby, inventory),
        plan_differs=given.plan is not None,
        same_clients=remembered is not None and tuple(c.process_id for c in given.clients) == inventory.clients,
        progress=_read_progress(given.report, inventory),
        asked_ms=min((c.followup_rebalance_ms for c in given.clients if c.followup_rebalance_ms is not None), default=None),
        notes=frozenset(given.report.notes),
        to_balance_ms=given.report.to_balance_ms,
        new_drains=frozenset({c.process_id for c in given.clients if c.active or c.standby} & draining - known),
    )


def read_plan(answer: TaskAssignment, inventory: Inventory) -> Placement | None:
    """Return the target of an answer; None if it has other tasks or clients, or breaks R1, R2 or R4."""
    rows = answer.clients if answer.plan is None else answer.plan
    is_known = all(
        row.process_id in inventory.client_at and all(task in inventory.task_at for task in (*row.active, *row.standby))
        for row in rows
    )
    if not is_known:
        return None
    active, standby = _read_copies(rows, inventory)
    return _make_complete_placement(active, standby[inventory.logged[standby // inventory.C]], inventory)


def _read_copies(
    clients: Sequence[KafkaStreamsAssignment] | Sequence[TargetAssignment], inventory: Inventory
) -> tuple[IntArray, IntArray]:
    """Return (T,) keys of the active copies, −1 if missing, and (n,) keys of the standbys."""
    here = [(inventory.client_at[c.process_id], c) for c in clients if c.process_id in inventory.client_at]
    active = np.full(inventory.T, -1, dtype=np.int64)
    keys = list_keys(inventory.task_at, ((c, client.active) for c, client in here), inventory.C)[::-1]
    active[keys // inventory.C] = keys  # reversed, so that the least client wins in a broken answer, as in validation
    return active, sort_unique(list_keys(inventory.task_at, ((c, client.standby) for c, client in here), inventory.C))


def _read_progress(report: Report, inventory: Inventory) -> Progress:
    task_at, client_at, C = inventory.task_at, inventory.client_at, inventory.C
    rows = [
        (
            task_at[w.task] * C + client_at[w.process_id],
            -1 if w.lag is None else w.lag,
            w.answers_without_progress,
            w.under_way_ms,
        )
        for w in report.warmup_progress
        if w.task in task_at and w.process_id in client_at
    ]
    return Progress(*np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T)


def _make_complete_placement(active: IntArray, standby: IntArray, inventory: Inventory) -> Placement | None:
    """Return the placement; None if a task lacks an active, has another number of standbys than wanted, or both on a client."""
    number = np.bincount(standby // inventory.C, minlength=inventory.T)
    wanted = np.where(inventory.logged, inventory.standbys, 0)
    if np.any(active < 0) or np.any(number != wanted) or np.isin(active, standby).any():
        return None
    return make_placement(active % inventory.C, standby, inventory.C)


def read_requests(state: ApplicationState, inventory: Inventory) -> Requests:
    """Return the requests of options and configs, in arrays."""
    options, order = state.options, goal_order(state)
    goal_data = {name: goal.find_data(state) for name, goal in order.goals.items() if goal.is_configured}
    return Requests(
        order=RequestedOrder(
            names=order.names,
            configured=order.configured,
            is_given=order.is_given,
            is_weighted=order.preset == "weighted",
            weights=read_weights(options.weights)[0],
            asked_for=order.asked_for,
        ),
        goal_data={name: data for name, data in goal_data.items() if data is not None},
        balance_factor=options.balance_factor,
        balances_load=balances_load(state),
        load_tolerance=options.load_tolerance,
        min_gain=options.min_gain,
        limits=_read_limits(state, inventory),
        offload=(options.relief.stateless, options.relief.logged),
        forgets_plan=options.forget_plan,
        solver=options.solver,
        is_paused=options.hold != "none",
        hold_ends_ms=options.hold_ends_ms,
        idle_ms=options.idle_followup_ms or None,
        wait_for_rates_ms=find_wait_for_rates_ms(state),
    )


def read_weights(weights: Weights) -> tuple[tuple[int, int, int], Fraction]:
    """Return the weights as the smallest integers in their ratio, and the weight of one unit of these integers."""
    denominator = lcm(*(weight.denominator for weight in weights.exact))
    instance, subtopology, stickiness = (int(weight * denominator) for weight in weights.exact)
    divisor = gcd(instance, subtopology, stickiness) or 1
    return (instance // divisor, subtopology // divisor, stickiness // divisor), Fraction(divisor, denominator)


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


def read_pace(state: ApplicationState, inventory: Inventory) -> ClientRates:
    """Return the restore rates of the remembered answer; not measured if it has none, or if the snapshot has no time."""
    before = None if state.remembered is None else state.remembered.report.pace
    offsets, ms, evidence = np.zeros((3, inventory.C), dtype=np.int64)
    elapsed = counted = None
    if state.taken_at is not None and before is not None:
        now = to_ms(state.taken_at)
        elapsed = now - to_ms(before.taken_at)
        counted = None if before.counted_at is None else now - to_ms(before.counted_at)
        for row in before.clients:
            c = inventory.client_at.get(row.process_id)
            if c is not None:
                offsets[c], ms[c], evidence[c] = row.offsets, row.ms, Evidence[row.evidence.upper()]
    return ClientRates(
        taken_at=state.taken_at,
        elapsed_ms=elapsed,
        offsets=offsets,
        ms=ms,
        evidence=evidence,
        looks=0 if elapsed is None or before is None else before.looks,
        counted_at=None if before is None else before.counted_at,
        counted_ms=counted,
        interval_ms=state.configs.probing_rebalance_interval_ms,
        by_interval=state.options.followup == "interval",
    )
