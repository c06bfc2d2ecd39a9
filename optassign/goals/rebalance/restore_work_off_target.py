"""Goal (ii), `restore_work_off_target`: the offsets to replay on clients where the plan wants no copy of the task."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    return sum(facts.not_caught_up_off_target.values())


GOAL = Goal(name="restore_work_off_target", place=20, unit="offsets", measure=_measure)
