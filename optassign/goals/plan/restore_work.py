"""Goal (b), `restore_work`: the offsets to replay for the copies not caught up that the plan wants or this answer holds."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return sum(facts.cold.values())


GOAL = Goal(name="restore_work", place=40, unit="offsets", measure=_measure, is_reported_at_rest=True)
