"""Goal (f), `standby_migrations`: standbys that the plan wants on clients that were not the task's standby before."""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement, clients_by_task


def count_standby_migrations(state: ApplicationState, placement: Placement) -> int:
    """Standbys on clients that had none of the task before: by memory, or without memory by `previous_standby`.

    A task without a holder that memory does not know is new; its standbys are no moves.
    """
    holders = {task for client in state.clients for task in (*client.previous_active, *client.previous_standby)}
    if state.remembered is None:
        before = clients_by_task(state, ((client.process_id, client.previous_standby) for client in state.clients))
    else:
        before = dict(Placement.of(state, state.remembered).standby)
        holders.update(task for client in state.remembered.clients for task in (*client.active, *client.standby))
    held = ((task, clients) for task, clients in placement.standby.items() if clients and task in holders)
    return sum(len(set(clients).difference(before[task])) for task, clients in held)


def _measure(facts: Facts) -> int:
    return count_standby_migrations(facts.state, facts.plan)


GOAL = Goal(name="standby_migrations", place=80, unit="copies", measure=_measure, is_count=True, depends_on_owners=True)
