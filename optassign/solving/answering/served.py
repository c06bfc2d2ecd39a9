"""The outcome of an operator's requests, drains and limits, for the report, the log and the metrics."""

from __future__ import annotations

from collections.abc import Mapping

from optassign.formats.assignment import DrainReport, LimitReport, TaskAssignment
from optassign.formats.clients import find_clients
from optassign.formats.state import ApplicationState
from optassign.measuring.limits import describe_limit, find_breaches, list_limits
from optassign.measuring.placement import Placement, planned_placement

NOT_SERVED = "limit not served: "
"""The beginning of the note on a limit that an assignor does not know."""


def report_drains(
    state: ApplicationState, answer: TaskAssignment, new_drains: frozenset[str] = frozenset()
) -> tuple[DrainReport, ...]:
    """One row for each draining client; `new_drains` came after this answer was planned.

    It may stop once this answer has nothing for it and it owns nothing: what it gave up in the rebalance before runs elsewhere.
    """
    draining = {client.process_id: client for client in state.clients if client.draining}
    planned = {client.process_id: client for client in (answer.clients if answer.plan is None else answer.plan)}
    rows = []
    for assigned in answer.clients:
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


def report_limits(state: ApplicationState, answer: TaskAssignment, given_way: Mapping[str, str]) -> tuple[LimitReport, ...]:
    """Report the outcome of each limit, as the measures find it in the answer and its plan."""
    now, later = Placement.of(state, answer), planned_placement(state, answer)
    rows = []
    for name, limit in list_limits(state).items():
        found = next(find_breaches(state, limit, now, is_plan=False), None)
        planned = next(find_breaches(state, limit, later, is_plan=True), None)
        why = given_way.get(name, "")
        is_held = state.options.hold != "none"
        if not why and is_held and (planned or found) is not None:
            why = f"nothing moves now: {(found or planned or ('', None))[0]}"
        elif not why and planned is not None:
            why = f"no placement was found that keeps it: {planned[0]}"
        elif not why and found is not None:
            way = "R3 forces them" if limit.kind == "most_active_moves" else "not yet, on the way to the plan, which keeps it"
            why = f"{way}: {found[0]}"
        gave_way = name in given_way or (planned is not None and not is_held)
        kept = not gave_way and found is None and planned is None
        rows.append(LimitReport(name=name, kept=kept, gave_way=gave_way, why="" if kept else why))
    return tuple(rows)


def note_limits(rows: tuple[LimitReport, ...], words: Mapping[str, str]) -> tuple[str, ...]:
    """The limits that are not kept, in words."""
    return tuple(
        f"limit {'gives way' if row.gave_way else 'not kept'}: {words[row.name]}: {row.why}" for row in rows if not row.kept
    )


def note_unserved_limits(state: ApplicationState, assignor: str) -> tuple[str, ...]:
    """The limits, for an assignor that knows nothing of them."""
    return tuple(
        f"{NOT_SERVED}{describe_limit(name, limit)}: {assignor} follows rules of its own"
        for name, limit in list_limits(state).items()
    )


def note_unserved_holding(state: ApplicationState, assignor: str) -> tuple[str, ...]:
    """All that holds, for an answer that was applied in place of the service's: whoever gave it was never told."""
    notes = []
    if state.options.hold != "none":
        notes.append(f"hold not served: {assignor} knows nothing of what is {state.options.hold.replace('_', ' ')}")
    if state.options.drain:
        notes.append(f"drain not served: {assignor} knows nothing of {', '.join(state.options.drain)}")
    return (*notes, *note_unserved_limits(state, assignor))
