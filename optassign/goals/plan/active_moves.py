"""Goal `active_moves`: active tasks that the plan wants on clients that do not own them.

Not in the default order, which counts `pauses`; `options.goals` may ask for it.
"""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement, clients_by_task


def find_moved_actives(state: ApplicationState, placement: Placement) -> list[str]:
    """Tasks that are no longer active on a client that lists them in `previous_active`; nobody's tasks cannot move."""
    owners = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    return [
        task
        for task, before in owners.items()
        if before and placement.active[task] and set(before).isdisjoint(placement.active[task])
    ]


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
