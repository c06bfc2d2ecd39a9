"""Snapshots without names, for bug reports."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from optassign.assignor import list_names
from optassign.formats.assignment import Pace, SourceRates, TaskAssignment
from optassign.formats.base import parse_time
from optassign.formats.configs import Limit
from optassign.formats.state import ApplicationState, TaskId
from optassign.measuring.limits import select_clients, select_tasks

_NO_TASK, _NO_CLIENT = "2147483647_2147483647", "none"
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of every anonymous snapshot."""


def anonymise(state: ApplicationState) -> ApplicationState:
    """Return `state` with numbers for names, sorted as the names are: an assignor gives the same answer up to names.

    Replaced: process ids, consumers, racks, topics, tags and their values, named topologies, also in drains, limits and the
    remembered answer. Times keep their distances; the snapshot's time is the beginning of 2000. Left out: application, hosts,
    client ids, fields that begin with x_, and the parts of the remembered report that no assignor reads.
    """
    return ApplicationState.model_validate(_NumberedNames(state).replace_all())


class _NumberedNames:
    """Replacements for all names of a snapshot, in one dictionary for each kind of name."""

    def __init__(self, state: ApplicationState) -> None:
        self._state = state
        clients, partitions = state.clients, [p for task in state.tasks for p in task.partitions]
        self._clients = _number_names("client", (client.process_id for client in clients), _list_process_ids(state.remembered))
        self._consumers = _number_names("consumer", (name for client in clients for name in client.consumers))
        of_partitions = (rack for p in partitions for rack in p.racks)
        self._racks = _number_names("rack", filter(None, (client.rack for client in clients)), filter(None, of_partitions))
        self._racks[""] = ""  # an empty rack may mean none
        self._topics = _number_names("topic", (p.topic for p in partitions if p.topic))
        configured = state.configs.rack_aware_assignment_tags
        self._tags = _number_names("tag", (tag for client in clients for tag in client.tags), configured)
        self._values = _number_names("value", (value for client in clients for value in client.tags.values()))
        topologies = _number_names("topology", (task.task_id.name for task in state.tasks if task.task_id.name))
        topologies[""] = ""
        self._tasks = {
            task.id: str(TaskId(topologies[task.task_id.name], task.task_id.subtopology, task.task_id.partition))
            for task in state.tasks
        }
        self._subtopologies = {task.rpartition("_")[0]: new.rpartition("_")[0] for task, new in self._tasks.items()}

    def replace_all(self) -> dict[str, Any]:
        """Return the snapshot as JSON, with every name replaced."""
        state = self._state
        configs = _drop_extras(state.configs.model_dump())
        configs["rack_aware_assignment_tags"] = [self._tags[tag] for tag in configs["rack_aware_assignment_tags"]]
        return {
            "format": 1,
            "taken_at": None if state.taken_at is None else _FIRST.isoformat(timespec="milliseconds"),
            "configs": configs,
            "options": self._replace_in_options(),
            "tasks": [
                {
                    "id": self._tasks[task.id],
                    "stateful": task.stateful,
                    "logged": task.logged,
                    "changelog_end_offset": task.changelog_end_offset,
                    "source_end_offset": task.source_end_offset,
                    "weight": task.weight,
                    "partitions": [
                        {
                            "topic": partition.topic and self._topics[partition.topic],
                            "partition": partition.partition,
                            "source": partition.source,
                            "changelog": partition.changelog,
                            "racks": [self._racks[rack] for rack in partition.racks],
                        }
                        for partition in task.partitions
                    ],
                }
                for task in state.tasks
            ],
            "clients": [
                {
                    "process_id": self._clients[client.process_id],
                    "threads": client.threads,
                    "consumers": {self._consumers[name]: self._replace_tasks(ids) for name, ids in client.consumers.items()},
                    "previous_active": self._replace_tasks(client.previous_active),
                    "previous_standby": self._replace_tasks(client.previous_standby),
                    "lags": {self._tasks[task]: lag for task, lag in client.lags.items()},
                    "tags": {self._tags[tag]: self._values[value] for tag, value in client.tags.items()},
                    "rack": None if client.rack is None else self._racks[client.rack],
                    "capacity": client.capacity,
                    "draining": client.says_draining,
                }
                for client in state.clients
            ],
            "remembered": None if state.remembered is None else self._replace_in_answer(state.remembered),
        }

    def _replace_in_options(self) -> dict[str, Any]:
        """Return the options; drains and limits list the clients and tasks that they select.

        Weights of absent tasks are left out.
        """
        state = self._state
        requested = [client.process_id for client in state.clients if client.draining and not client.says_draining]
        known = {**self._subtopologies, **self._tasks}
        return {
            **_drop_extras(state.options.model_dump()),
            "drain": [self._clients[process_id] for process_id in requested],
            "task_weights": {known[name]: weight for name, weight in state.options.task_weights.items() if name in known},
            "limits": [self._replace_in_limit(limit) for limit in state.options.limits],
        }

    def _replace_in_limit(self, limit: Limit) -> dict[str, Any]:
        tasks = self._replace_tasks(select_tasks(self._state, limit)) if limit.tasks or limit.subtopologies else []
        clients = [self._clients[name] for name in select_clients(self._state, limit)] if limit.clients or limit.tags else []
        return {
            "kind": limit.kind,
            "most": limit.most,
            # A limit on absent tasks must not become a limit on all tasks.
            "tasks": tasks or ([_NO_TASK] if limit.tasks or limit.subtopologies else []),
            "clients": clients or ([_NO_CLIENT] if limit.clients or limit.tags else []),
        }

    def _replace_in_answer(self, answer: TaskAssignment) -> dict[str, Any]:
        return {
            "format": 1,
            "assignor": answer.assignor if answer.assignor in list_names() else "other",
            "clients": [
                {
                    "process_id": self._clients[client.process_id],
                    "active": self._replace_tasks(client.active),
                    "standby": self._replace_tasks(client.standby),
                    "warmup": self._replace_tasks(client.warmup),
                    "followup_rebalance_ms": client.followup_rebalance_ms,
                }
                for client in answer.clients
            ],
            "plan": None
            if answer.plan is None
            else [
                {
                    "process_id": self._clients[client.process_id],
                    "active": self._replace_tasks(client.active),
                    "standby": self._replace_tasks(client.standby),
                }
                for client in answer.plan
            ],
            "report": {
                "waiting": [
                    {
                        "task": self._tasks[copy.task],
                        "process_id": self._clients[copy.process_id],
                        "role": copy.role,
                        "lag": copy.lag,
                        "slot": copy.slot,
                    }
                    for copy in answer.report.waiting
                ],
                "warmup_progress": [
                    {
                        "task": self._tasks[copy.task],
                        "process_id": self._clients[copy.process_id],
                        "lag": copy.lag,
                        "answers_without_progress": copy.answers_without_progress,
                    }
                    for copy in answer.report.warmup_progress
                ],
                "pace": None if answer.report.pace is None else self._replace_in_pace(answer.report.pace),
                "rates": None if answer.report.rates is None else self._replace_in_rates(answer.report.rates),
                "stalled": answer.report.stalled,
                "balanced": answer.report.balanced,
            },
        }

    def _replace_in_pace(self, pace: Pace) -> dict[str, Any]:
        return {
            "taken_at": self._replace_time(pace.taken_at),
            "clients": [
                {
                    **_drop_extras(client.model_dump()),
                    "process_id": self._clients[client.process_id],
                }  # the other fields have no names
                for client in pace.clients
            ],
            "looks": pace.looks,
            "counted_at": None if pace.counted_at is None else self._replace_time(pace.counted_at),
        }

    def _replace_in_rates(self, rates: SourceRates) -> dict[str, Any]:
        return {
            "taken_at": self._replace_time(rates.taken_at),
            "tasks": [
                {**_drop_extras(row.model_dump()), "task": self._tasks[row.task]}
                for row in rates.tasks
                if row.task in self._tasks
            ],
        }

    def _replace_time(self, text: str) -> str:
        since = parse_time(self._state.taken_at or text)
        return (_FIRST + (parse_time(text) - since)).isoformat(timespec="milliseconds")

    def _replace_tasks(self, tasks: Iterable[str]) -> list[str]:
        return [self._tasks[task] for task in tasks]


def _list_process_ids(answer: TaskAssignment | None) -> set[str]:
    """Return the process ids in a remembered answer; their clients may be missing in the snapshot."""
    if answer is None:
        return set()
    report = answer.report
    paced = () if report.pace is None else report.pace.clients
    everywhere = (answer.clients, answer.plan or (), report.waiting, report.warmup_progress, paced)
    return {entry.process_id for entries in everywhere for entry in entries}


def _number_names(kind: str, *groups: Iterable[str]) -> dict[str, str]:
    """Return name → `kind-number` for the names in all groups; numbers have the order of the names."""
    ordered = sorted(set().union(*groups))
    width = len(str(len(ordered)))
    return {name: f"{kind}-{i:0{width}}" for i, name in enumerate(ordered, start=1)}


def _drop_extras(dumped: dict[str, Any]) -> dict[str, Any]:
    """Return `dumped` (configs or options) without fields that begin with x_."""
    return {
        name: _drop_extras(value) if isinstance(value, dict) else value
        for name, value in dumped.items()
        if not name.startswith("x_")
    }
