"""Goal (a), `rack_traffic`: copies on clients whose rack has no replica of a partition they read or restore (KIP-925)."""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement


def count_rack_crossings(state: ApplicationState, placement: Placement) -> int | None:
    """Pairs of (partition of a task, client with its active or a standby) where the client's rack has no replica.

    None if racks are not known: of a client, of a partition, or of the partitions of a task at all (KIP-925).
    """
    racks = {client.process_id: client.rack for client in state.clients}
    if None in racks.values():
        return None
    crossings = 0
    for task in state.tasks:
        if not task.partitions or not all(partition.racks for partition in task.partitions):
            return None
        for client in placement.copies(task.id):
            crossings += sum(racks[client] not in partition.racks for partition in task.partitions)
    return crossings


def _measure(facts: Facts) -> int | None:
    return count_rack_crossings(facts.state, facts.plan)


def _joins(state: ApplicationState) -> bool:
    return state.configs.rack_aware_assignment_strategy != "none" and any(c.rack is not None for c in state.clients)


def _find_data(state: ApplicationState) -> object | None:
    racks = [client.rack for client in state.clients]
    names = sorted({rack for rack in racks if rack is not None})
    if None in racks:
        return None
    import numpy as np  # what measures the goal needs no arrays

    from optassign.models.goals.rack_traffic import Racks

    crossings = [[sum(bool(p.racks) and rack not in p.racks for p in t.partitions) for rack in names] for t in state.tasks]
    return Racks(
        rack_of=np.array([names.index(rack) for rack in racks if rack is not None], dtype=np.int64),
        crossings=np.array(crossings, dtype=np.int64).reshape(len(state.tasks), len(names)),
    )


def _why_unserved(state: ApplicationState) -> str | None:
    if any(client.rack is None for client in state.clients):
        return "the racks of some clients are not known"
    if not all(task.partitions and all(partition.racks for partition in task.partitions) for task in state.tasks):
        return "the racks of some partitions are not known: they count as crossing none, and no sum is reported"
    return None


GOAL = Goal(
    name="rack_traffic",
    place=10,
    unit="pairs of a copy and a partition",
    measure=_measure,
    joins=_joins,
    find_data=_find_data,
    why_unserved=_why_unserved,
)
