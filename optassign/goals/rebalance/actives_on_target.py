"""Goal (iii), `actives_on_target`: tasks that are active where the plan wants them active."""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    now, plan = facts.now, facts.plan
    return sum(len(set(now.active[task]).intersection(plan.active[task])) for task in facts.state.all_tasks)


GOAL = Goal(name="actives_on_target", place=30, unit="tasks", measure=_measure, more_is_better=True)
