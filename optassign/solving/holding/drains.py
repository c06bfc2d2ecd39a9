"""How far draining clients are, for the report, the log and the metrics."""

from __future__ import annotations

from optassign.formats.assignment import DrainReport, KafkaStreamsAssignment, TargetAssignment
from optassign.formats.clients import find_clients
from optassign.formats.state import ApplicationState


def find_new_drains(state: ApplicationState) -> frozenset[str]:
    """Return the draining clients that the remembered answer gives copies and did not know to drain, by process id.

    A second pass (KIP-429) repeats that answer, so that it says nothing about the room that the others have for their tasks.
    """
    if state.remembered is None:
        return frozenset()
    new = {client.process_id for client in state.clients if client.draining}
    new.difference_update(row.process_id for row in state.remembered.report.drains)
    given = {one.process_id for one in state.remembered.clients if one.active or one.standby}
    return frozenset(new & given)


def report_drains(
    state: ApplicationState,
    clients: tuple[KafkaStreamsAssignment, ...],
    plan: tuple[TargetAssignment, ...] | None,
    new_drains: frozenset[str] = frozenset(),
) -> tuple[DrainReport, ...]:
    """One row for each draining client; `new_drains` came after this answer was planned.

    It may stop once this answer has nothing for it and it owns nothing: what it gave up in the rebalance before runs elsewhere.
    """
    draining = {client.process_id: client for client in state.clients if client.draining}
    planned = {client.process_id: client for client in (clients if plan is None else plan)}
    rows = []
    for assigned in clients:
        if assigned.process_id not in draining:
            continue
        client, later = draining[assigned.process_id], planned[assigned.process_id]
        holds = bool(assigned.active or assigned.standby or assigned.warmup)
        rows.append(
            DrainReport(
                process_id=client.process_id,
                active=len(assigned.active),
                standby=len(assigned.standby),
                may_stop=not holds and not client.previous_active,
                stays=bool(later.active or later.standby)
                and state.options.hold == "none"
                and client.process_id not in new_drains,
            )
        )
    return tuple(rows)


def note_drains(state: ApplicationState, rows: tuple[DrainReport, ...]) -> tuple[str, ...]:
    """The same in words, and the names in `options.drain` that tell no client from the others."""
    notes = []
    for row in rows:
        has = f"{row.active} active tasks and {row.standby} standbys"
        if row.may_stop:
            notes.append(f"client {row.process_id} drains: it has nothing any more, and may stop")
        elif row.stays:
            notes.append(f"client {row.process_id} drains: in the plan, too, it keeps {has}")
        else:
            waits = "" if state.options.hold == "none" else ", and nothing moves now"
            notes.append(f"client {row.process_id} drains: it has {has}{waits}")
    for name in state.options.drain:
        number = len(find_clients(state.clients, name))
        if number != 1:
            notes.append(f"drain {name}: {number or 'no'} clients go by this name, so none drains by it")
    return tuple(notes)
