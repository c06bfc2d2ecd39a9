"""How copies are spread over racks (KIP-925), tag values (KIP-708) and disks."""

from collections.abc import Sequence

from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo, TaskTopicPartition
from optassign.measuring.placement import TaskPlacement, count_state, standbys_per_task, staying_clients


def count_rack_crossings(state: ApplicationState, placement: TaskPlacement) -> int | None:
    """Return the number of pairs (partition, client that reads it) where no replica is in the client's rack.

    An active copy reads the task's source partitions and a standby its changelogs, as in Kafka's RackAwareTaskAssignor.
    None if the rack of a client or of a replica is unknown, or if a task has no such partition.
    """
    racks = {client.process_id: client.rack for client in state.clients}
    if None in racks.values() or not are_racks_known(state):
        return None
    crossings = 0
    for task in state.tasks:
        for clients, partitions in (
            (placement.active[task.id], list_sources(task)),
            (placement.standby[task.id], list_changelogs(task)),
        ):
            crossings += sum(racks[client] not in partition.racks for client in clients for partition in partitions)
    return crossings


def list_sources(task: TaskInfo) -> list[TaskTopicPartition]:
    """Return the partitions that an active copy reads."""
    return [partition for partition in task.partitions if partition.source]


def list_changelogs(task: TaskInfo) -> list[TaskTopicPartition]:
    """Return the partitions that a standby reads."""
    return [partition for partition in task.partitions if partition.changelog] if task.logged else []


def are_racks_known(state: ApplicationState) -> bool:
    """Return whether every task has partitions for its copies to read, each with the racks of its replicas."""
    has_standbys = standbys_per_task(state) > 0

    def known(partitions: Sequence[TaskTopicPartition]) -> bool:
        return bool(partitions) and all(partition.racks for partition in partitions)

    return all(
        known(list_sources(task)) and (not (has_standbys and task.logged) or known(list_changelogs(task)))
        for task in state.tasks
    )


def count_tag_values(state: ApplicationState, placement: TaskPlacement) -> tuple[int, int]:
    """Return (reached, reachable): distinct tag values among a task's copies, summed over logged tasks and configured tags.

    At most min(copies of the task, values that clients have) are reachable for a task and a tag.
    """
    of_tags = count_values_of_tags(state, placement)
    return sum(reached for reached, _ in of_tags), sum(reachable for _, reachable in of_tags)


def count_values_of_tags(state: ApplicationState, placement: TaskPlacement) -> list[tuple[int, int]]:
    """Return (reached, reachable) of `count_tag_values` for each tag, in the configured order."""
    logged = [task.id for task in state.tasks if task.logged]
    found = []
    for tag in state.configs.rack_aware_assignment_tags:
        values = {client.process_id: client.tags[tag] for client in state.clients if tag in client.tags}
        reachable = len(logged) * min(standbys_per_task(state) + 1, len(set(values.values())))
        reached = sum(len({values[c] for c in placement.copies(task) if c in values}) for task in logged)
        found.append((reached, reachable))
    return found


def measure_greatest_state(state: ApplicationState, placement: TaskPlacement) -> float:
    """Return the greatest state of a client ÷ the mean of the clients that do not drain; 1.0 if there is no state."""
    kept = count_state(state, placement, warmups=False)
    return max(kept.values()) * len(staying_clients(state)) / kept.total() if kept.total() else 1.0
