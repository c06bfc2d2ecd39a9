"""Goal (c), `copies_not_caught_up`: the number of copies not caught up that the plan wants or this answer holds."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return len(facts.cold)


GOAL = Goal(name="copies_not_caught_up", place=50, unit="copies", measure=_measure, is_count=True)
