"""A rebalance at a multiple of its size: that many copies of every task and every client, as if the group had grown evenly.

Copy j of a client holds, lags and ran what the client did, of copy j of each task. A subtopology's copies are further
partitions of it, not further subtopologies, so all of them are assigned together. Configs and options stay as they are:
what a limit of two warm-ups means at ten times the size is one of the questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId

__all__ = ["scale_assignment", "scale_state"]


def scale_state(state: ApplicationState, factor: int) -> ApplicationState:
    """The snapshot at `factor` times its size. ValueError for a factor below 1, or if task ids grow beyond Kafka's largest."""
    if factor == 1:
        return state
    ids = _Ids(state, factor)
    data: dict[str, Any] = state.model_dump(exclude={"tasks", "clients", "remembered", "dropped"}, exclude_defaults=True)
    data["format"] = 1
    data["tasks"] = [{**task.model_dump(), "id": ids.task(task.id, j)} for task in state.tasks for j in range(factor)]
    data["clients"] = [
        {
            **client.model_dump(),
            "process_id": ids.client(client.process_id, j),
            "consumers": {ids.client(name, j): ids.tasks(tasks, j) for name, tasks in client.consumers.items()},
            "previous_active": ids.tasks(client.previous_active, j),
            "previous_standby": ids.tasks(client.previous_standby, j),
            "lags": {ids.task(task, j): lag for task, lag in client.lags.items()},
        }
        for client in state.clients
        for j in range(factor)
    ]
    if state.remembered is not None:
        data["remembered"] = scale_assignment(state.remembered, state, factor)
    return ApplicationState.model_validate(data)


def scale_assignment(answer: TaskAssignment, state: ApplicationState, factor: int) -> TaskAssignment:
    """An answer to the snapshot as one to the larger snapshot; without the report, whose numbers are those of the smaller."""
    if factor == 1:
        return answer
    ids = _Ids(state, factor)

    def copies(clients: Iterable[Any], roles: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {
                **client.model_dump(),
                "process_id": ids.client(client.process_id, j),
                **{role: ids.tasks(getattr(client, role), j) for role in roles},
            }
            for client in clients
            for j in range(factor)
        ]

    return TaskAssignment.model_validate(
        {
            "format": 1,
            "assignor": answer.assignor,
            "clients": copies(answer.clients, ("active", "standby", "warmup")),
            "plan": None if answer.plan is None else copies(answer.plan, ("active", "standby")),
        }
    )


class _Ids:
    """The ids of the copies of tasks and clients; copy 0 keeps the id that it has."""

    def __init__(self, state: ApplicationState, factor: int) -> None:
        if factor < 1:
            raise ValueError(f"scale: found {factor}; allowed: 1 or more")
        self._known = state.all_tasks
        self._partitions: defaultdict[tuple[str, int], int] = defaultdict(int)
        for task in state.tasks:
            key = task.task_id.subtopology_key
            self._partitions[key] = max(self._partitions[key], task.task_id.partition + 1)

    def task(self, task: str, j: int) -> str:
        found = TaskId.parse(task)
        return str(found._replace(partition=found.partition + j * self._partitions[found.subtopology_key]))

    def tasks(self, tasks: Iterable[str], j: int) -> list[str]:
        """The ids of copy j of the tasks, without the ids that the snapshot does not know: the larger one would not either."""
        return [self.task(task, j) for task in tasks if task in self._known]

    def client(self, name: str, j: int) -> str:
        return name if j == 0 else f"{name}~{j}"
