"""Goal (i), `copies_on_target`: copies on clients where the plan wants a copy of the task, whatever its role."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(len(set(now.copies(task)).intersection(plan.copies(task))) for task in facts.state.all_tasks)


GOAL = Goal(name="copies_on_target", place=10, unit="copies", measure=_measure, more_is_better=True)
