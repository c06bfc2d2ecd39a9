"""Limits of a group: which placements keep them, and which limits give way (docs/reference/rules.md, "Limits")."""

from collections.abc import Sequence
from typing import Any

from group_facts import Group
from placement_sets import Copies, Placement, Space, Vector, enumerate_sums

Limit = dict[str, Any]


def names_client(group: Group, limit: Limit, c: int) -> bool:
    """Return whether the limit applies to this client."""
    client = group.clients[c]
    clients, tags = limit.get("clients", []), limit.get("tags", {})
    has_tags = all(client.tags.get(tag) == value for tag, value in tags.items())
    return has_tags and (not clients or bool(client.names & {*clients}))


def names_task(group: Group, limit: Limit, t: int) -> bool:
    """Return whether the limit applies to this task."""
    task = group.tasks[t]
    tasks, subtopologies = limit.get("tasks", []), limit.get("subtopologies", [])
    return (not tasks and not subtopologies) or task.name in tasks or task.subtopology in subtopologies


def allows(group: Group, limits: Sequence[Limit], t: int, copies: Copies) -> bool:
    """Return whether the pins and bans among the limits allow these copies of the task."""
    active, standbys = copies
    for limit in limits:
        if not names_task(group, limit, t):
            continue
        if limit["kind"] == "pin" and not names_client(group, limit, active):
            return False
        if limit["kind"] == "forbid" and any(names_client(group, limit, c) for c in (active, *standbys)):
            return False
    return True


def find_ends(space: Space, limits: Sequence[Limit]) -> dict[int, int]:
    """Return the upper bounds that limits on copies and state set, by index in a vector."""
    width = len(space.group.clients)
    ends: dict[int, int] = {}
    for limit in limits:
        if limit["kind"] not in {"most_copies", "most_state"}:
            continue
        start = space.totals_at + (width if limit["kind"] == "most_state" else 0)
        for c in range(width):
            if names_client(space.group, limit, c):
                ends[start + c] = min(limit["most"], ends.get(start + c, limit["most"]))
    return ends


def find_kept(space: Space) -> list[Limit]:
    """Return the limits on placements that can hold together; earlier limits have precedence."""
    kept: list[Limit] = []
    for limit in space.group.limits:
        if limit["kind"] != "most_active_moves" and _can_hold(space, [*kept, limit]):
            kept.append(limit)
    return kept


def _can_hold(space: Space, limits: Sequence[Limit]) -> bool:
    totals = slice(space.totals_at, space.totals_at + 2 * len(space.group.clients))
    vectors = []
    for t in range(len(space.group.tasks)):
        options = [copies for copies in space.copies_of(t) if allows(space.group, limits, t, copies)]
        if not options:
            return False
        vectors.append(sorted({space.vector(t, copies)[totals] for copies in options}))
    ends = {place - space.totals_at: end for place, end in find_ends(space, limits).items()}
    return bool(enumerate_sums(vectors, ends))


def keeps(space: Space, limits: Sequence[Limit], placement: Placement, vector: Vector) -> bool:
    """Return whether a placement keeps the limits on placements."""
    return all(allows(space.group, limits, t, copies) for t, copies in enumerate(placement)) and all(
        vector[place] <= end for place, end in find_ends(space, limits).items()
    )


def find_most_moves(group: Group) -> int | None:
    """Return how many moves that R3 does not force an answer may make, or None without such a limit."""
    return min((limit["most"] for limit in group.limits if limit["kind"] == "most_active_moves"), default=None)
