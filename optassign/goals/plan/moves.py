"""Moves: goals (e) `active_migrations`, `active_moves`, and goal (f) `standby_migrations`.

`active_migrations` counts active tasks that stop on the way to the target because they go to another client: owned tasks that
are active on none of their owners on target, and tasks without an owner whose target client is not caught up. Such a task
starts elsewhere at once, and moves when its target client has caught up. `active_moves` counts active tasks whose target client
does not own them; it takes part only if `options.goals` names it. `standby_migrations` counts target standbys on clients that
had no standby of the task.
"""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.moves import count_active_moves, count_standby_migrations, find_moved_actives


def _measure_active_migrations(facts: Facts) -> int:
    cold = {task for task, client in facts.not_caught_up_on_target if client in facts.plan.active[task]}
    started_elsewhere = cold.difference(*(client.previous_active for client in facts.state.clients))
    return len(find_moved_actives(facts.state, facts.plan)) + len(started_elsewhere)


ACTIVE_MOVES = Goal(
    name="active_moves",
    place=75,
    in_default_order=False,
    unit="tasks",
    measure=lambda facts: count_active_moves(facts.state, facts.plan),
    is_count=True,
    depends_on_owners=True,
    is_reported_at_rest=True,
)
ACTIVE_MIGRATIONS = Goal(
    name="active_migrations", place=70, unit="tasks", measure=_measure_active_migrations, is_count=True, depends_on_owners=True
)
STANDBY_MIGRATIONS = Goal(
    name="standby_migrations",
    place=80,
    unit="copies",
    measure=lambda facts: count_standby_migrations(facts.state, facts.plan),
    is_count=True,
    depends_on_owners=True,
)
GOALS = (ACTIVE_MOVES, ACTIVE_MIGRATIONS, STANDBY_MIGRATIONS)
