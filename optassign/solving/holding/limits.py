"""An operator's limits as arrays, and what the report says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optassign.formats.assignment import LimitReport, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.limits import describe_limit, find_breaches, list_limits, select_clients, select_tasks
from optassign.measuring.placement import Placement, planned_placement
from optassign_models.limits.limit import Kind, PlacementLimit
from optassign_models.problem import IntArray

_KINDS = {"pin": Kind.PIN, "forbid": Kind.FORBID, "most_copies": Kind.MOST, "most_state": Kind.MOST}
NOT_SERVED = "limit not served: "
"""The beginning of the note on a limit that an assignor does not know."""


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits of a snapshot that can bind: the others change nothing."""

    placements: tuple[PlacementLimit, ...] = ()
    """Those on placements, in the order in which they are named."""
    most_moves: int | None = None
    """Active moves of a rebalance: the least of those limits."""
    words: Mapping[str, str] | None = None
    """Name -> the limit in words, of all that are given; None where none is."""

    @property
    def are_given(self) -> bool:
        """Whether the snapshot has limits, whether or not they can bind."""
        return self.words is not None

    def __bool__(self) -> bool:
        return bool(self.placements) or self.most_moves is not None


def read_limits(state: ApplicationState, end: IntArray) -> Limits:
    """The limits of a snapshot; (T,) `end`, offsets in the tasks' changelogs."""
    limits = list_limits(state)
    if not limits:
        return Limits()
    task_at = {task: t for t, task in enumerate(state.all_tasks)}
    client_at = {client: c for c, client in enumerate(state.kafka_streams_states)}
    placements = []
    for name, limit in limits.items():
        if limit.kind == "most_active_moves":
            continue
        tasks, clients = np.zeros(len(task_at), dtype=np.bool_), np.zeros(len(client_at), dtype=np.bool_)
        tasks[[task_at[task] for task in select_tasks(state, limit)]] = True
        clients[[client_at[client] for client in select_clients(state, limit)]] = True
        is_state = limit.kind == "most_state"
        weight = end if is_state else np.ones(len(task_at), dtype=np.int64)
        placements.append(PlacementLimit(name, _KINDS[limit.kind], tasks, clients, limit.most or 0, weight, is_state))
    moves = [limit.most for limit in limits.values() if limit.kind == "most_active_moves" and limit.most is not None]
    words = {name: describe_limit(name, limit) for name, limit in limits.items()}
    binding = tuple(limit for limit in placements if limit.can_bind)
    return Limits(binding, min((most for most in moves if most < len(task_at)), default=None), words)


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


def note_limits(state: ApplicationState, rows: tuple[LimitReport, ...]) -> tuple[str, ...]:
    """The limits that are not kept, in words."""
    words = {name: describe_limit(name, limit) for name, limit in list_limits(state).items()}
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
