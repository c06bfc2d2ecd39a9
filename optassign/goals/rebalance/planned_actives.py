"""Goal (iii), `planned_actives`: tasks that are active where the plan wants them active."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(len(set(now.active[task.id]).intersection(plan.active[task.id])) for task in facts.state.tasks)


GOAL = Goal(name="planned_actives", place=30, unit="tasks", measure=_measure, more_is_better=True)
