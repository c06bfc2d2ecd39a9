"""List oddities of a snapshot that are no errors: entries about tasks that it does not have, tasks that two clients claim."""

from collections.abc import Iterator

from optassign.formats.state import ApplicationState
from optassign.judging.explanation_text import pluralize, shorten_list
from optassign.measuring.client_names import ClientNames
from optassign.measuring.placement import clients_by_task, previous_assignment
from optassign_models.policy.constants import SHOWN_REMARKS

__all__ = ["remark_on_input"]


def remark_on_input(state: ApplicationState) -> Iterator[str]:
    """The lines that say what was left out of the snapshot, and whom it was believed where it contradicts itself."""
    label = ClientNames(state).label
    dropped = {name: number for name, number in state.dropped.model_dump().items() if number}
    if dropped:
        found = ", ".join(f"{number:,} ({name.replace('_', ' ')})" for name, number in dropped.items())
        yield f"entries left out, about unknown tasks or tasks without a changelog: {found}"
        examples = [f"{e.task} in {e.field} of {label(e.process_id)}" for e in state.left_out[:SHOWN_REMARKS]]
        yield from (f"  unknown task {example}" for example in examples)
    listed = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    claimed = {task: clients for task, clients in listed.items() if len(clients) > 1}
    believed = previous_assignment(state).active if claimed else {}
    for task, clients in list(claimed.items())[:SHOWN_REMARKS]:
        owners = shorten_list([*map(label, clients)], SHOWN_REMARKS)
        yield f"{len(clients)} clients claim task {task} as active: {owners}; {label(believed[task])} is believed"
    if len(claimed) > SHOWN_REMARKS:
        yield f"  and {pluralize(len(claimed) - SHOWN_REMARKS, 'task')} more that several clients claim as active"
