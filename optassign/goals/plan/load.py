"""Goal (a), `load`: the greatest weight of active tasks per thread × capacity, as a multiple of the mean (KAFKA-4969)."""

from collections import Counter

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.measuring.balance import client_size, staying_clients
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement

_WEIGHT_UNIT = 1_000_000_000_000
"""Task weights are relative: they count in so small parts of the greatest that no sum of them is off by a millionth."""


def weigh_load(state: ApplicationState, placement: Placement) -> float:
    """Weight of the active tasks per thread × capacity: greatest of any client ÷ mean over those that do not drain.

    1.0 where there is no active task.
    """
    units = {client.process_id: client_size(client) for client in state.clients}
    loads = dict.fromkeys(units, 0.0)
    for task in state.tasks:
        for client in placement.active[task.id]:
            loads[client] += task.weight
    total = sum(loads.values())
    if not total:
        return 1.0
    mean = total / sum(client_size(client) for client in staying_clients(state))
    return max(load / units[client] for client, load in loads.items()) / mean


def _measure(facts: Facts) -> float:
    return round(weigh_load(facts.state, facts.plan), 6)


def _joins(state: ApplicationState) -> bool:
    return len({task.weight for task in state.tasks}) > 1


def _find_data(state: ApplicationState) -> object | None:
    import numpy as np  # what measures the goal needs no arrays

    from optassign.models.goals.load import Loads

    most = max((task.weight for task in state.tasks), default=1.0)
    return Loads(np.array([max(1, round(t.weight / most * _WEIGHT_UNIT)) for t in state.tasks], dtype=np.int64))


def _bound_in_units(bound: Value) -> Value:
    return max(0.0, (1000 * bound - 999) / 1_000_000)  # the model rounds up to thousandths


def _tolerance(facts: Facts) -> float:
    """One thousandth, and what the model rounds down: less than a millionth for each task of a client."""
    tasks = Counter(client for clients in facts.plan.active.values() for client in clients)
    return (1_001 + max(tasks.values(), default=0)) / 1_000_000


GOAL = Goal(
    name="load",
    place=30,
    unit="multiple of an even spread",
    measure=_measure,
    joins=_joins,
    find_data=_find_data,
    bound_in_units=_bound_in_units,
    tolerance=_tolerance,
)
