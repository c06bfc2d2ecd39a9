"""Check a placement against an operator's limits (docs/reference/rules.md, "Limits") in plain loops: no solver, no arrays."""

from collections import Counter
from collections.abc import Iterator

from optassign.formats.clients import find_clients
from optassign.formats.configs import Limit, name_limits
from optassign.formats.state import ApplicationState
from optassign.measuring.moves import count_active_moves
from optassign.measuring.placement import TaskPlacement, count_state


def list_limits(state: ApplicationState) -> dict[str, Limit]:
    """Return name → limit, in the order of the options."""
    limits = state.options.limits
    return dict(zip(name_limits(limits), limits, strict=True))


def select_tasks(state: ApplicationState, limit: Limit) -> tuple[str, ...]:
    """Return the tasks of the snapshot that a limit concerns, in order."""
    if not limit.tasks and not limit.subtopologies:
        return tuple(state.all_tasks)
    named, of = set(limit.tasks), set(limit.subtopologies)
    return tuple(task.id for task in state.tasks if task.id in named or task.id.rpartition("_")[0] in of)


def select_clients(state: ApplicationState, limit: Limit) -> tuple[str, ...]:
    """Return the clients of the snapshot that a limit concerns, in order."""
    chosen = set(state.kafka_streams_states)
    if limit.clients:
        chosen = {client.process_id for name in limit.clients for client in find_clients(state.clients, name)}
    tags = limit.tags.items()
    return tuple(client.process_id for client in state.clients if client.process_id in chosen and tags <= client.tags.items())


def find_breaches(
    state: ApplicationState, limit: Limit, placement: TaskPlacement, *, is_plan: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield (message, process id) for each breach of the limit in a placement; the process id is None for a limit of moves.

    `is_plan`: whether the placement is a target. The state of warm-ups counts only in an answer, where it fills the disk. The
    number of moves is limited only in an answer: those to a target are spread over several rebalances.
    """
    clients = set(select_clients(state, limit))
    if limit.kind == "most_active_moves":
        if not is_plan:
            moves = count_active_moves(state, placement)
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
    """Return the limit in words: `big (at most 3 copies on zone=a)`."""
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


def _weigh(state: ApplicationState, limit: Limit, placement: TaskPlacement, *, warmups: bool) -> Counter[str]:
    """Return process id → copies; for `most_state`, offsets of their whole changelogs, with warm-ups if `warmups`."""
    if limit.kind == "most_state":
        return count_state(state, placement, warmups=warmups)
    return Counter(process_id for task in state.all_tasks for process_id in placement.copies(task))
