"""Goal (a), `load`: the greatest weight of active tasks per thread × capacity, in even spreads (KAFKA-4969).

Standbys count with the factor `standby_load`. If load is the meaning of balance (`balances_load`), a value within
`load_tolerance` is accepted: no state is restored for a better one.
"""

from collections import Counter

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.measuring.facts import Facts
from optassign.measuring.load import Loads, balances_load

_WEIGHT_UNIT = 10**12
"""Parts of the greatest weight in which weights count: fine enough that no sum is off by a millionth."""


def _measure(facts: Facts) -> float:
    return round(Loads(facts.state).find_greatest(facts.plan), 6)


def _joins(state: ApplicationState) -> bool:
    return len({task.weight for task in state.tasks}) > 1


def _find_data(state: ApplicationState) -> object | None:
    import numpy as np  # only the model's data needs arrays

    from optassign_models.load.loads import TaskWeights as Weights

    most = max((task.weight for task in state.tasks), default=1.0)
    weights = np.array([max(1, round(t.weight / most * _WEIGHT_UNIT)) for t in state.tasks], dtype=np.int64)
    return Weights(weights, state.options.standby_load)


def _bound_in_units(bound: Value, facts: Facts) -> Value:
    return max(0.0, (1000 * bound - 999) / 1_000_000)  # the model rounds up to thousandths


def _tolerance(facts: Facts) -> float:
    """Return a thousandth, plus the model's rounding: less than a millionth for each copy of a client that has weight."""
    tasks = Counter(client for clients in facts.plan.active.values() for client in clients)
    if facts.state.options.standby_load:
        tasks.update(client for clients in facts.plan.standby.values() for client in clients)
    return (1_001 + max(tasks.values(), default=0)) / 1_000_000


def _accepted(bound: Value, facts: Facts) -> Value:
    tolerance = facts.state.options.load_tolerance if balances_load(facts.state) else 0.0
    return bound * (1 + tolerance)


LOAD = Goal(
    name="load",
    place=30,
    unit="even spreads",
    measure=_measure,
    joins=_joins,
    find_data=_find_data,
    bound_in_units=_bound_in_units,
    tolerance=_tolerance,
    accepted=_accepted,
)
GOALS = (LOAD,)
