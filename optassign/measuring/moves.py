"""Moves: active tasks that leave their owners, and standbys on clients that had none of the task."""

from optassign.formats.state import ApplicationState
from optassign.measuring.placement import TaskPlacement, clients_by_task


def find_moved_actives(state: ApplicationState, placement: TaskPlacement) -> list[str]:
    """Return the active tasks that have owners (`previous_active`) but are active on none of them."""
    active, owned, kept = placement.active, set[str](), set[str]()
    for client in state.clients:
        owned.update(client.previous_active)
        kept.update(task for task in client.previous_active if client.process_id in active[task])
    return [task for task in state.all_tasks if task in owned and task not in kept and active[task]]


def count_active_moves(state: ApplicationState, placement: TaskPlacement) -> int:
    """Return the number of moved active tasks."""
    return len(find_moved_actives(state, placement))


def count_standby_migrations(state: ApplicationState, placement: TaskPlacement) -> int:
    """Return the number of standbys on clients that had no standby of the task before.

    The remembered answer says which clients had one; without it, `previous_standby` does. A task that no client held and the
    remembered answer did not assign is new: its standbys do not count.
    """
    holders = {task for client in state.clients for task in (*client.previous_active, *client.previous_standby)}
    if state.remembered is None:
        before = clients_by_task(state, ((client.process_id, client.previous_standby) for client in state.clients))
    else:
        before = dict(TaskPlacement.of(state, state.remembered).standby)
        holders.update(task for client in state.remembered.clients for task in (*client.active, *client.standby))
    held = ((task, clients) for task, clients in placement.standby.items() if clients and task in holders)
    return sum(len(set(clients).difference(before[task])) for task, clients in held)
