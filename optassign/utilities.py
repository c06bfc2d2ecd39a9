"""KIP-924's TaskAssignmentUtils: a check, and building blocks for assignors. Goals of racks replace its rack functions."""

import heapq
from collections.abc import Mapping
from enum import Enum

from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.state import ApplicationState


class AssignmentError(Enum):
    """The reasons for which Kafka refuses an answer (TaskAssignor.AssignmentError, Kafka 3.8 and later)."""

    NONE = "none"
    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "active task assigned multiple times"
    INVALID_STANDBY_TASK = "standby of a stateless task"
    MISSING_PROCESS_ID = "a client got no assignment"
    UNKNOWN_PROCESS_ID = "an assignment for a client that does not exist"
    UNKNOWN_TASK_ID = "a task that does not exist"


def validate_task_assignment(state: ApplicationState, assignment: TaskAssignment) -> AssignmentError:
    """Return the first of Kafka's errors in `assignment`, or NONE (TaskAssignmentUtils.validateTaskAssignment).

    Kafka reports neither a missing task nor a standby of a stateful task without changelog;
    `optassign.judging.validation.validate` does. To Kafka a warm-up is a standby.
    """
    tasks = state.all_tasks
    active: set[str] = set()
    standby: set[str] = set()
    for client in assignment.clients:
        if not all(map(tasks.__contains__, (*client.active, *client.standby, *client.warmup))):
            return AssignmentError.UNKNOWN_TASK_ID
        number = len(active) + len(client.active)
        active.update(client.active)
        if len(active) < number:
            return AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES
        standby.update(client.standby, client.warmup)
    if not standby.isdisjoint(task.id for task in state.tasks if not task.stateful):
        return AssignmentError.INVALID_STANDBY_TASK
    answered = {client.process_id for client in assignment.clients}
    if not answered <= state.kafka_streams_states.keys():
        return AssignmentError.UNKNOWN_PROCESS_ID
    if len(answered) < len(state.clients):
        return AssignmentError.MISSING_PROCESS_ID
    return AssignmentError.NONE


def identity_assignment(state: ApplicationState) -> dict[str, KafkaStreamsAssignment]:
    """Return the previous tasks of every client: active tasks active, standbys standby (identityAssignment)."""
    return {
        client.process_id: KafkaStreamsAssignment(
            process_id=client.process_id, active=client.previous_active, standby=client.previous_standby
        )
        for client in state.clients
    }


def default_standby_task_assignment(
    state: ApplicationState, assignments: Mapping[str, KafkaStreamsAssignment]
) -> dict[str, KafkaStreamsAssignment]:
    """Return `assignments` with num_standby_replicas standbys for every logged task (defaultStandbyTaskAssignment).

    Kafka's load-based default: task by task, each standby goes to a client without a copy, with the fewest tasks per thread.
    The least process id breaks ties. Tasks get fewer standbys if clients run out. Existing standbys stay and count; tags are
    ignored. KeyError if `assignments` lacks a client of the snapshot.
    """
    active = {c.process_id: set(assignments[c.process_id].active) for c in state.clients}
    standby = {c.process_id: set(assignments[c.process_id].standby) for c in state.clients}
    warmup = {c.process_id: set(assignments[c.process_id].warmup) for c in state.clients}
    threads = {c.process_id: c.threads for c in state.clients}

    def load(client: str) -> float:
        return (len(active[client]) + len(standby[client]) + len(warmup[client])) / threads[client]

    queue = [(load(client), client) for client in threads]
    heapq.heapify(queue)
    for task in state.tasks:
        if not task.logged:
            continue
        missing = state.configs.num_standby_replicas - sum(task.id in tasks for tasks in standby.values())
        passed_over = []
        while missing > 0 and queue:
            entry = heapq.heappop(queue)
            client = entry[1]
            if task.id in active[client] or task.id in standby[client] or task.id in warmup[client]:
                passed_over.append(entry)
                continue
            standby[client].add(task.id)
            passed_over.append((load(client), client))
            missing -= 1
        for entry in passed_over:
            heapq.heappush(queue, entry)
    return {
        client: assignments[client].model_copy(update={"standby": standby[client]})
        for client in (c.process_id for c in state.clients)
    }
