"""Moves of tasks: goals (e) `active_migrations` and `active_moves`, and goal (f) `standby_migrations`.

`active_migrations` counts active tasks that stop on the way to the plan because they go to another client: owned tasks that the
plan wants active on none of their owners, and tasks without owner whose planned active is cold. Such a task starts where it can
at once, and moves when its planned active has caught up. `active_moves` counts active tasks that the plan wants on clients that
do not own them. It is not in the default order; `options.goals` may ask for it. `standby_migrations` counts standbys that the
plan wants on clients that were not the task's standby before.
"""

from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.moves import count_active_moves, count_standby_migrations, find_moved_actives


def _measure_active_moves(facts: Facts) -> int:
    return count_active_moves(facts.state, facts.plan)


def _measure_active_migrations(facts: Facts) -> int:
    cold = {task for task, client in facts.cold_in_plan if client in facts.plan.active[task]}
    started_elsewhere = cold.difference(*(client.previous_active for client in facts.state.clients))
    return len(find_moved_actives(facts.state, facts.plan)) + len(started_elsewhere)


def _measure_standby_migrations(facts: Facts) -> int:
    return count_standby_migrations(facts.state, facts.plan)


ACTIVE_MOVES = Goal(
    name="active_moves",
    place=75,
    in_default_order=False,
    unit="tasks",
    measure=_measure_active_moves,
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
    measure=_measure_standby_migrations,
    is_count=True,
    depends_on_owners=True,
)
GOALS = (ACTIVE_MOVES, ACTIVE_MIGRATIONS, STANDBY_MIGRATIONS)
