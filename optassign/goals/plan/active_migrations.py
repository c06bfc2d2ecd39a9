"""Goal (e), `active_migrations`: active tasks that stop on the way to the plan because they go to another client.

These are owned tasks that the plan wants active on none of their owners, and tasks without owner whose planned active is cold:
such a task starts where it can at once, and moves when its planned active has caught up.
"""

from optassign.goals.goal import Goal
from optassign.goals.plan.active_moves import find_moved_actives
from optassign.measuring.facts import Facts


def _measure(facts: Facts) -> int:
    cold = {task for task, client in facts.cold_in_plan if client in facts.plan.active[task]}
    started_elsewhere = cold.difference(*(client.previous_active for client in facts.state.clients))
    return len(find_moved_actives(facts.state, facts.plan)) + len(started_elsewhere)


GOAL = Goal(name="active_migrations", place=70, unit="tasks", measure=_measure, is_count=True, depends_on_owners=True)
