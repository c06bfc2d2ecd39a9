"""Bounds of a simulated change: the time that disks and warm-up slots need, and the least imbalance of active tasks × seconds.

The time is the length of a list schedule that knows every rate and never idles. With the scenario's faults it includes delays
that no assignor avoids: copies start slowly, and a pass lasts until the last member has joined, on average over the draws. It
excludes avoidable delays: no step waits because of an outdated lag, and rates equal their means.

The least imbalance holds for any cooperative assignor that starts no task without its state. Until the first answer all copies
stay. A task that moves has no owner for one more pass. A client can run a logged task only if its copy was caught up, or once
the copy is restored. So at any moment the least imbalance is a minimum-cost flow from each task to the clients that could run
it by then. A client's rate determines how many logged tasks it can have restored since the first answer: smallest changelog
first, without growth or other copies on the disk. Slots are not counted, and moves and rebalances cost only their passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import Share, compute_shares
from optassign.measuring.moves import count_active_moves
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.measuring.ranks import Ranks
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.joining import expect_join_s
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario


@dataclass(slots=True)
class Copy:
    """A copy to restore; `lag` in offsets, `growth` in offsets per second."""

    client: str
    lag: float
    growth: float
    needs_slot: bool
    """Whether it needs a warm-up slot. Otherwise it restores from the start, as R3 to R5 require it."""
    is_awaited: bool = True
    """Whether the schedule ends only after the copy is restored: a task moves to it then, or standbys count."""
    acceptable: float = 0.0
    """Greatest lag at which it counts as restored."""
    starting_s: float = 0.0
    """Remaining seconds of its slow start."""


def find_limit(
    scenario: Scenario,
    state: ApplicationState,
    first: TaskAssignment,
    *,
    opening_s: float | None = None,
    with_standbys: bool = False,
) -> tuple[float, int]:
    """Return the seconds that disks and slots need, passes included, and the number of copies that need a slot.

    Args:
        opening_s: seconds of the first pass, which no assignor influences; None for those of a mean pass.
        with_standbys: whether the time includes the restoration of standbys on target, not only of tasks that move.
    """
    application, faults = Application(scenario), scenario.faults
    rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    growth = {name: application.mean_input[t] for t, name in enumerate(application.names)}
    ranks, now, plan = Ranks(state), TaskPlacement.of(state, first), planned_placement(state, first)
    acceptable = state.configs.acceptable_recovery_lag
    copies = []
    for task in state.tasks:
        if not task.logged:
            continue
        held, active = set(now.copies(task.id)), plan.active[task.id]
        for client in sorted(held | set(plan.copies(task.id))):
            cost = ranks.restore_cost(task.id, client)
            if not cost:
                continue
            in_place = client in held
            copies.append(
                Copy(
                    client,
                    cost,
                    growth[task.id],
                    needs_slot=not in_place,
                    is_awaited=with_standbys or not in_place or client in active,
                    acceptable=0.0 if in_place or with_standbys else acceptable,
                    starting_s=faults.slow_start_s,
                )
            )
    passes = 3 if first.plan is not None else 1 + bool(count_active_moves(state, now))
    each = scenario.group.pass_s + model_seconds(len(state.tasks), len(state.clients))
    first_threads = len(state.clients) if scenario.group.all_ask else 1
    each += expect_join_s(scenario, sum(client.threads for client in state.clients) - first_threads)
    seconds = schedule_restoring(copies, rates, state.configs.max_warmup_replicas, each, faults.slow_start_rate)
    in_passes = passes * each if opening_s is None else (passes - 1) * each + opening_s
    return seconds + in_passes, sum(copy.needs_slot for copy in copies)


def schedule_restoring(
    copies: Sequence[Copy], rates: Mapping[str, float], slots: int, pass_s: float, starting_rate: float = 1.0
) -> float:
    """Return the seconds until all awaited copies are restored. ValueError if changelogs grow faster than they are restored.

    A free slot goes to the client with the fewest slots; the most remaining seconds break ties. There it goes to the copy with
    the greatest lag. The rebalance that assigns the slot leaves it empty for `pass_s` seconds.
    Copies that a client restores share its rate. Every changelog grows at its rate, whether its copy waits or restores. In its
    slow start a copy uses only the share `starting_rate` of its rate.
    """
    now, under_way = 0.0, [replace(copy) for copy in copies if not copy.needs_slot]
    queue = [replace(copy) for copy in copies if copy.needs_slot]
    used: Counter[str] = Counter()
    free_at = [0.0] * slots
    while any(copy.is_awaited for copy in (*queue, *under_way)):
        while queue and free_at and free_at[0] <= now:
            free_at.pop(0)
            best = _choose_next(queue, used, rates, now)
            queue.remove(best)
            best.lag += best.growth * now
            used[best.client] += 1
            under_way.append(best)
        number = Counter(copy.client for copy in under_way)
        closing = [
            rates[copy.client] / number[copy.client] * (starting_rate if copy.starting_s else 1.0) - copy.growth
            for copy in under_way
        ]
        times = [
            max(0.0, copy.lag - copy.acceptable) / speed for copy, speed in zip(under_way, closing, strict=True) if speed > 0
        ]
        times += [copy.starting_s for copy in under_way if copy.starting_s]
        if queue and free_at:
            times.append(free_at[0] - now)
        if not times:
            raise ValueError("changelogs grow faster than they are restored")
        step = min(times)
        now += step
        going: list[Copy] = []
        for copy, speed in zip(under_way, closing, strict=True):
            copy.lag -= speed * step
            copy.starting_s = max(0.0, copy.starting_s - step)
            if copy.lag > copy.acceptable + 1e-6 * rates[copy.client]:
                going.append(copy)
            elif copy.needs_slot:
                used[copy.client] -= 1
                free_at.append(now + pass_s)
        under_way = going
    return now


def _choose_next(queue: Sequence[Copy], used: Mapping[str, int], rates: Mapping[str, float], now: float) -> Copy:
    seconds: Counter[str] = Counter()
    for copy in queue:
        seconds[copy.client] += (copy.lag + copy.growth * now) / rates[copy.client]  # type: ignore[assignment]
    return min(queue, key=lambda copy: (used[copy.client], -seconds[copy.client], -copy.lag))


def bound_imbalance(scenario: Scenario, state: ApplicationState, until_s: float) -> float:
    """Return the least imbalance × seconds over `until_s` seconds from the event; `state` is the first snapshot."""
    application = Application(scenario)
    rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    each = scenario.group.pass_s + model_seconds(len(state.tasks), len(state.clients))
    allowed = compute_shares(state).active
    owner = {task: client.process_id for client in state.clients for task in client.previous_active}
    ready, seconds = _find_able_clients(state, rates)
    clients = list(allowed)
    counts = [sum(where == client for where in owner.values()) for client in clients]
    begin = sum(allowed[client].imbalance(count) for client, count in zip(clients, counts, strict=True))
    given_up = {task: ({owner[task]} if task in owner else on) for task, on in ready.items()}
    second = find_least(allowed, given_up, dict.fromkeys(clients, 0), may_rest=True)
    total = begin * min(each, until_s) + second * max(0.0, min(2 * each, until_s) - each)
    changes = sorted({x for known in seconds.values() for x in known if 2 * each + x < until_s})
    for start, end in pairwise([0.0, *changes, max(0.0, until_s - 2 * each)]):
        restored = {client: int(np.searchsorted(seconds[client], start, side="right")) for client in clients}
        least = find_least(allowed, ready, restored)
        if not least:
            break
        total += least * (end - start)
    return total


def _find_able_clients(
    state: ApplicationState, rates: Mapping[str, float]
) -> tuple[dict[str, set[str]], dict[str, list[float]]]:
    """Return task → clients of least rank, which R3 lets run it, and client → seconds until other logged tasks are restored.

    The seconds are for one, two, … of these tasks, in order of increasing lag, until they reach the acceptable lag.
    """
    ranks, acceptable = Ranks(state), state.configs.acceptable_recovery_lag
    clients = [client.process_id for client in state.clients]
    ready: dict[str, set[str]] = {}
    lags: dict[str, list[int]] = {client: [] for client in clients}
    for task in state.tasks:
        least = ranks.least(task.id)
        ready[task.id] = {client for client in clients if ranks.of(task.id, client) == least}
        for client in clients:
            if task.logged and client not in ready[task.id]:
                lags[client].append(max(0, ranks.lag(task.id, client) - acceptable))
    return ready, {client: (np.cumsum(sorted(lag)) / rates[client]).tolist() for client, lag in lags.items()}


def find_least(
    allowed: Mapping[str, Share], ready: Mapping[str, set[str]], restored: Mapping[str, int], *, may_rest: bool = False
) -> int:
    """Return the least imbalance, Σ e (e + 1) / 2 over clients, of any assignment of all active tasks.

    Args:
        allowed: client → the counts that are balanced; e is the distance from them.
        ready: task → clients that may run it now.
        restored: client → the number of other tasks that it may run in addition.
        may_rest: whether tasks may also be unassigned.
    """
    flow = SimpleMinCostFlow()
    clients, tasks = list(allowed), list(ready)
    number = {client: k for k, client in enumerate(clients)}
    sink = len(tasks) + 2 * len(clients)

    def add(tail: int, head: int, most: int = 1, cost: int = 0) -> None:
        flow.add_arc_with_capacity_and_unit_cost(tail, head, most, cost)

    for t, task in enumerate(tasks):
        flow.set_node_supply(t, 1)
        for client in ready[task]:
            add(t, len(tasks) + number[client])
        for client in clients:
            if restored[client] and client not in ready[task]:
                add(t, len(tasks) + len(clients) + number[client])
        if may_rest:
            add(t, sink)
    for client, k in number.items():
        if restored[client]:
            add(len(tasks) + len(clients) + k, len(tasks) + k, restored[client])
        _add_share(add, len(tasks) + k, sink, allowed[client], len(tasks))
    flow.set_node_supply(sink, -len(tasks))
    if flow.solve() != flow.OPTIMAL:
        raise ValueError("a task has no client that can run it")
    return int(flow.optimal_cost()) + sum(share.imbalance(0) for share in allowed.values())


def _add_share(add: Callable[[int, int, int, int], None], client: int, sink: int, share: Share, tasks: int) -> None:
    """Add an arc for each further task: below the share its cost is the imbalance saved, above it the imbalance added."""
    for count in range(1, tasks + 1):
        cost = share.imbalance(count) - share.imbalance(count - 1)
        if not cost and count <= share.high:
            continue
        add(client, sink, 1, cost)
    if share.high > share.low:
        add(client, sink, share.high - share.low, 0)
