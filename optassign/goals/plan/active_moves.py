"""Goal `active_moves`: active tasks that the plan wants on clients that do not own them.

Not in the default order, which counts `active_migrations`; `options.goals` may ask for it.
"""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement


def find_moved_actives(state: ApplicationState, placement: Placement) -> list[str]:
    """Find tasks that are no longer active on a client that lists them in `previous_active`; unowned tasks do not count."""
    active = placement.active
    owned = [(task, client.process_id) for client in state.clients for task in client.previous_active if active[task]]
    left = {task for task, owner in owned if owner not in active[task]}
    kept = {task for task, owner in owned if task in left and owner in active[task]}
    return [task for task in state.all_tasks if task in left and task not in kept]


def count_active_moves(state: ApplicationState, placement: Placement) -> int:
    """The number of moved active tasks."""
    return len(find_moved_actives(state, placement))


def _measure(facts: Facts) -> int:
    return count_active_moves(facts.state, facts.plan)


GOAL = Goal(
    name="active_moves",
    place=75,
    in_default_order=False,
    unit="tasks",
    measure=_measure,
    is_count=True,
    depends_on_owners=True,
    is_reported_at_rest=True,
)
