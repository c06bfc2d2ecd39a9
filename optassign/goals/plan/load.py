"""Goal (a), `load`: the greatest weight of active tasks per thread × capacity, in even spreads (KAFKA-4969).

Standbys count with the factor `standby_load`. If balance means load (`balances_load`), a value within
`load_tolerance` is accepted: no state is restored for a better one.
"""

from collections import Counter

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value, convert_thousandths, tolerate_thousandths
from optassign.measuring.facts import Facts
from optassign.measuring.load import Loads, balances_load

_WEIGHT_UNIT = 10**12
"""The greatest weight in the model's integer units, so fine that no sum is off by a millionth."""


def _find_data(state: ApplicationState) -> object | None:
    """Return the weights of tasks, relative to the greatest, for the models."""
    import numpy as np  # only the model's data needs arrays

    from optassign_models.load.loads import TaskWeights as Weights

    most = max((task.weight for task in state.tasks), default=1.0)
    weights = np.array([max(1, round(t.weight / most * _WEIGHT_UNIT)) for t in state.tasks], dtype=np.int64)
    return Weights(weights, state.options.standby_load)


def _tolerate(facts: Facts) -> float:
    """Return how far a proven value may be above its bound, in even spreads, as the model rounds the load of each copy."""
    tasks = Counter(client for clients in facts.plan.active.values() for client in clients)
    if facts.state.options.standby_load:
        tasks.update(client for clients in facts.plan.standby.values() for client in clients)
    return tolerate_thousandths(tasks)


def _accept(bound: Value, facts: Facts) -> Value:
    tolerance = facts.state.options.load_tolerance if balances_load(facts.state) else 0.0
    return bound * (1 + tolerance)


LOAD = Goal(
    name="load",
    place=30,
    unit="even spreads",
    measure=lambda facts: round(Loads(facts.state).find_greatest(facts.plan), 6),
    joins=lambda state: len({task.weight for task in state.tasks}) > 1,
    find_data=_find_data,
    bound_in_units=convert_thousandths,
    tolerance=_tolerate,
    accepted=_accept,
)
GOALS = (LOAD,)
