"""Goal (ii), `off_plan_restore_work`: the offsets to replay on clients where the plan wants no copy of the task."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return sum(facts.off_plan_cold.values())


GOAL = Goal(name="off_plan_restore_work", place=20, unit="offsets", measure=_measure)
