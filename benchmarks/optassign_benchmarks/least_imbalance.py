"""The least imbalance of active tasks × seconds that any cooperative assignor can have which starts no task without its state.

For any answers: until the first answer is there all copies stay; a task that is to move has no owner for one pass more; and a
client can run a logged task only if it was caught up there, or once it has restored it. So for any moment the least imbalance
is a flow: of each task to the clients that could run it by then. A client's rate sets how many logged tasks it can have
restored from its first answer on, smallest changelog first, with no growth and no other copy on the disk. Slots are not
counted, and moves and rebalances cost only the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from optassign.formats.state import ApplicationState
from optassign.measuring.balance import Share, compute_shares
from optassign.measuring.ranks import Ranks
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario


def bound_imbalance(scenario: Scenario, state: ApplicationState, until_s: float) -> float:
    """Imbalance × seconds from the event on, with `state` as the first snapshot, to `until_s` seconds later."""
    application = Application(scenario)
    rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    each = scenario.group.pass_s + model_seconds(len(state.tasks), len(state.clients))
    allowed = compute_shares(state).active
    owner = {task: client.process_id for client in state.clients for task in client.previous_active}
    ready, seconds = _find_who_can_run(state, rates)
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


def _find_who_can_run(
    state: ApplicationState, rates: Mapping[str, float]
) -> tuple[dict[str, set[str]], dict[str, list[float]]]:
    """The clients that can run each task at once; for each client the seconds until it has restored one more, two, …"""
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
    """The least imbalance with each task on a ready client, or as one of a client's `restored` tasks; may_rest: or on none."""
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
        raise ValueError("a task that nobody can run")
    return int(flow.optimal_cost()) + sum(share.imbalance(0) for share in allowed.values())


def _add_share(add: Callable[[int, int, int, int], None], client: int, sink: int, share: Share, tasks: int) -> None:
    """One arc for each task more: below the share it takes away as much as it lacked there, above it adds."""
    for count in range(1, tasks + 1):
        cost = share.imbalance(count) - share.imbalance(count - 1)
        if not cost and count <= share.high:
            continue
        add(client, sink, 1, cost)
    if share.high > share.low:
        add(client, sink, share.high - share.low, 0)
