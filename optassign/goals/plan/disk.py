"""Goal (a), `disk`: the greatest state that a client keeps, of active copies and standbys, in even spreads.

It takes part only if `options.goals` names it. The limit `most_state` caps state in offsets.
"""

from collections import Counter

from optassign.goals.goal import Goal, convert_thousandths, tolerate_thousandths
from optassign.measuring.facts import Facts
from optassign.measuring.spread import measure_greatest_state


def _tolerate(facts: Facts) -> float:
    """Return how far a proven value may be above its bound, in even spreads, as the model rounds the state of each copy."""
    return tolerate_thousandths(Counter(client for task in facts.state.tasks for client in facts.plan.copies(task.id)))


DISK = Goal(
    name="disk",
    place=36,
    in_default_order=False,
    unit="even spreads",
    measure=lambda facts: round(measure_greatest_state(facts.state, facts.plan), 6),
    joins=lambda state: any(state.full_lags.values()),
    bound_in_units=convert_thousandths,
    tolerance=_tolerate,
)
GOALS = (DISK,)
