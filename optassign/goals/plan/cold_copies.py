"""Goal (c), `cold_copies`: the number of cold copies that the plan wants or this answer holds."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return len(facts.cold)


GOAL = Goal(name="cold_copies", place=50, unit="copies", measure=_measure, is_count=True)
