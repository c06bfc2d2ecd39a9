"""Goal (i), `planned_copies`: copies that are already where the plan wants them, in the role it wants."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(
        len(set(now.active[task.id]).intersection(plan.active[task.id]))
        + len(set(now.standby[task.id]).intersection(plan.standby[task.id]))
        for task in facts.state.tasks
    )


GOAL = Goal(name="planned_copies", place=10, unit="copies", measure=_measure, more_is_better=True)
