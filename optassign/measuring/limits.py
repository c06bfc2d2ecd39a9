"""Whether a placement keeps an operator's limits (docs/reference/rules.md, "Limits"), in plain loops: no solver, no arrays."""

from collections import Counter
from collections.abc import Iterator

from optassign.formats.clients import find_clients
from optassign.formats.configs import Limit, name_limits
from optassign.formats.state import ApplicationState
from optassign.measuring.placement import TaskPlacement, count_state

__all__ = ["describe_limit", "find_breaches", "list_limits", "select_clients", "select_tasks"]


def list_limits(state: ApplicationState) -> dict[str, Limit]:
    """Name -> limit, in the order in which they are named."""
    limits = state.options.limits
    return dict(zip(name_limits(limits), limits, strict=True))


def select_tasks(state: ApplicationState, limit: Limit) -> tuple[str, ...]:
    """The tasks that a limit concerns, in order; names of missing tasks count as none."""
    if not limit.tasks and not limit.subtopologies:
        return tuple(state.all_tasks)
    named, of = set(limit.tasks), set(limit.subtopologies)
    return tuple(task.id for task in state.tasks if task.id in named or task.id.rpartition("_")[0] in of)


def select_clients(state: ApplicationState, limit: Limit) -> tuple[str, ...]:
    """The clients that a limit concerns, in order; names of missing clients count as none."""
    chosen = set(state.kafka_streams_states)
    if limit.clients:
        chosen = {client.process_id for name in limit.clients for client in find_clients(state.clients, name)}
    tags = limit.tags.items()
    return tuple(client.process_id for client in state.clients if client.process_id in chosen and tags <= client.tags.items())


def find_breaches(
    state: ApplicationState, limit: Limit, placement: TaskPlacement, *, is_plan: bool
) -> Iterator[tuple[str, str | None]]:
    """(what was found and is allowed, the client that it is about or None) of everything in which it is not kept.

    In an answer the state of warm-ups counts as well: they fill the disk like other copies.

    In a plan the number of moves says nothing: they are made one rebalance after the other.
    """
    clients = set(select_clients(state, limit))
    if limit.kind == "most_active_moves":
        if not is_plan:
            moves = _count_moves(state, placement)
            if limit.most is not None and moves > limit.most:
                yield f"found {moves} active moves; allowed: {limit.most}", None
    elif limit.kind in ("pin", "forbid"):
        for task in select_tasks(state, limit):
            on = placement.active[task] if limit.kind == "pin" else placement.copies(task)
            for process_id in on:
                if (process_id in clients) != (limit.kind == "pin"):
                    role = "active" if limit.kind == "pin" else "a copy"
                    allowed = "another client" if limit.kind == "forbid" else "one of those that it is pinned to"
                    yield f"found task {task} {role} on {process_id}; allowed: {allowed}", process_id
    else:
        for process_id, found in _weigh(state, limit, placement, warmups=not is_plan).items():
            if process_id in clients and limit.most is not None and found > limit.most:
                unit = "copies" if limit.kind == "most_copies" else "offsets of state"
                yield f"found {found} {unit} on {process_id}; allowed: {limit.most}", process_id


def describe_limit(name: str, limit: Limit) -> str:
    """A limit in words, for who operates the application."""
    of = [*limit.tasks, *(f"subtopology {one}" for one in limit.subtopologies)]
    tasks = _shorten(of) if of else "all tasks"
    on = [*limit.clients, *(f"{key}={value}" for key, value in sorted(limit.tags.items()))]
    clients = _shorten(on) if on else "every client"
    words = {
        "most_active_moves": f"at most {limit.most} active moves in a rebalance",
        "most_copies": f"at most {limit.most} copies on {clients}",
        "most_state": f"at most {limit.most} offsets of state on {clients}",
        "pin": f"{tasks} active on {clients} only",
        "forbid": f"{tasks} not on {clients}",
    }[limit.kind]
    return f"{name} ({words})"


def _shorten(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _count_moves(state: ApplicationState, placement: TaskPlacement) -> int:
    """Owned tasks that become active on none of their owners."""
    owners: dict[str, set[str]] = {}
    for client in state.clients:
        for task in client.previous_active:
            owners.setdefault(task, set()).add(client.process_id)
    return sum(not mine & set(placement.active[task]) for task, mine in owners.items())


def _weigh(state: ApplicationState, limit: Limit, placement: TaskPlacement, *, warmups: bool) -> Counter[str]:
    """Process id -> copies, or offsets of the whole changelogs of the copies, with `warmups` of these, too."""
    if limit.kind == "most_state":
        return count_state(state, placement, warmups=warmups)
    return Counter(process_id for task in state.all_tasks for process_id in placement.copies(task))
