"""Goal (a), `disk`: the greatest state that a client keeps, of active copies and standbys, in even spreads.

It takes part only if `options.goals` names it. The limit `most_state` caps state in offsets.
"""

from collections import Counter

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.measuring.facts import Facts
from optassign.measuring.spread import measure_greatest_state


def _measure(facts: Facts) -> float:
    return round(measure_greatest_state(facts.state, facts.plan), 6)


def _joins(state: ApplicationState) -> bool:
    return any(state.full_lags.values())


def _bound_in_units(bound: Value, facts: Facts) -> Value:
    return max(0.0, (1000 * bound - 999) / 1_000_000)  # the model rounds up to thousandths


def _tolerance(facts: Facts) -> float:
    """Return a thousandth, plus the model's rounding: less than a millionth for each copy of a client."""
    copies = Counter(client for task in facts.state.tasks for client in facts.plan.copies(task.id))
    return (1_001 + max(copies.values(), default=0)) / 1_000_000


DISK = Goal(
    name="disk",
    place=36,
    in_default_order=False,
    unit="even spreads",
    measure=_measure,
    joins=_joins,
    bound_in_units=_bound_in_units,
    tolerance=_tolerance,
)
GOALS = (DISK,)
