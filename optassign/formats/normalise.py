"""Cross checks and normal order of a snapshot: what concerns more than one task or client, once, when it is read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from optassign.formats.assignment import Dropped, SourceRates, TaskAssignment
from optassign.formats.base import INT64_MAX, cross_check_error, quote
from optassign.formats.clients import KafkaStreamsState
from optassign.formats.configs import Options
from optassign.formats.task_id import TASK_ID_ALLOWED, TaskId
from optassign.formats.tasks import TaskInfo
from optassign.formats.weighing import measure_rates, weigh_tasks
from optassign_models.policy.constants import MOST_TOTAL_CAPACITY, NAMED_EXAMPLES


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry of a client that was left out, as the snapshot has no such task."""

    process_id: str
    field: str
    """Where it stood: `previous_active`, `previous_standby`, `lags`, `consumers["c-1"]`."""
    task: str


class Normalised:
    """The tables behind an `ApplicationState`. Compared by identity: states are equal if their fields are."""

    def __init__(
        self,
        tasks: tuple[TaskInfo, ...],
        clients: tuple[KafkaStreamsState, ...],
        remembered: TaskAssignment | None,
        dropped: Dropped,
        left_out: tuple[LeftOut, ...],
        acceptable_recovery_lag: int,
        rates: SourceRates | None,
    ) -> None:
        self.rates = rates
        self.tasks = tasks
        self.clients = clients
        self.remembered = remembered
        self.dropped = dropped
        self.left_out = left_out
        self.all_tasks: Mapping[str, TaskInfo] = {task.id: task for task in tasks}
        self.kafka_streams_states: Mapping[str, KafkaStreamsState] = {client.process_id: client for client in clients}
        self._not_caught_up = min(acceptable_recovery_lag + 1, INT64_MAX)

    @cached_property
    def subtopologies(self) -> dict[tuple[str, int], tuple[TaskInfo, ...]]:
        """Subtopology -> its tasks, all of one kind, in order of ids."""
        return {key: tuple(tasks) for key, tasks in groupby(self.tasks, lambda task: task.task_id.subtopology_key)}

    @cached_property
    def full_lags(self) -> dict[str, int]:
        """Logged task -> the whole changelog, in order of ids."""
        full = {task.id: task.changelog_end_offset for task in self.tasks if task.logged}
        largest = {task: self._not_caught_up - 1 for task, end in full.items() if end is None}
        if largest:
            for client in self.clients:
                for task, lag in client.lags.items():
                    if task in largest and lag > largest[task]:
                        largest[task] = lag
        return {task: min(largest[task] + 1, INT64_MAX) if end is None else end for task, end in full.items()}


def normalise(
    given_tasks: tuple[TaskInfo, ...],
    given_clients: tuple[KafkaStreamsState, ...],
    given_memory: TaskAssignment | None,
    acceptable_recovery_lag: int,
    options: Options,
    taken_at: str | None,
) -> Normalised:
    """Check the parts of a snapshot against each other, put them in order, and weigh the tasks as the options ask.

    PydanticCustomError, with the place, if parts contradict.
    """
    rates = measure_rates(given_tasks, options, taken_at, None if given_memory is None else given_memory.report.rates)
    tasks = weigh_tasks(_tasks(given_tasks), options, rates)
    _one_kind_per_subtopology(given_tasks)
    index = {task.id: i for i, task in enumerate(tasks)}
    logged = {task.id: i for i, task in enumerate(tasks) if task.logged}
    counts = {"previous": 0, "lags": 0, "lags_not_logged": 0, "remembered": 0}
    left_out: list[LeftOut] = []
    seen: set[str] = set()
    clients = []
    capacity = 0.0
    for i, client in enumerate(given_clients):
        if client.process_id in seen:
            again = f"{quote(client.process_id)} a second time"
            raise cross_check_error(again, "each process id once", f"clients[{i}].process_id")
        seen.add(client.process_id)
        capacity += client.threads * client.capacity
        if capacity > MOST_TOTAL_CAPACITY:
            found = f"threads × capacity of {capacity:.0f}, together with the clients before it"
            raise cross_check_error(found, f"at most {MOST_TOTAL_CAPACITY} for all clients together", f"clients[{i}]")
        clients.append(_client(client, f"clients[{i}]", index, logged, counts, left_out))
    clients.sort(key=lambda client: client.process_id)
    remembered = given_memory and _remembered(given_memory, index, counts)
    normalised = Normalised(
        tasks, tuple(clients), remembered, Dropped(**counts), tuple(left_out), acceptable_recovery_lag, rates
    )
    for client in clients:
        client.__dict__["_normalised"] = normalised
    return normalised


def _tasks(tasks: tuple[TaskInfo, ...]) -> tuple[TaskInfo, ...]:
    seen: set[str] = set()
    for i, task in enumerate(tasks):
        if task.id in seen:
            raise cross_check_error(f"task {task.id} a second time", "each task id once", f"tasks[{i}].id")
        seen.add(task.id)
    return tuple(sorted(tasks, key=lambda task: TaskId.parse(task.id)))


def _one_kind_per_subtopology(tasks: tuple[TaskInfo, ...]) -> None:
    first: dict[tuple[str, int], TaskInfo] = {}
    for i, task in enumerate(tasks):
        other = first.setdefault(task.task_id.subtopology_key, task)
        if other.stateful != task.stateful or other.logged != task.logged:
            raise cross_check_error(
                f"{task.kind} task {task.id} and {other.kind} task {other.id} in one subtopology",
                "one kind (stateless, unlogged or logged) per subtopology",
                f"tasks[{i}]",
            )


def _client(
    client: KafkaStreamsState,
    place: str,
    index: dict[str, int],
    logged: dict[str, int],
    counts: dict[str, int],
    left_out: list[LeftOut],
) -> KafkaStreamsState:
    """A copy of `client` in normal order, with known tasks only; the first of the others go to the end of `left_out`."""

    def count_unknown(tasks: Iterable[str], below: str) -> int:
        unknown = _list_unknown(tasks, index, place + below)
        room = NAMED_EXAMPLES - len(left_out)
        left_out.extend(LeftOut(client.process_id, below[1:], task) for task in unknown[:room])
        return len(unknown)

    def known(tasks: Iterable[str], below: str) -> tuple[str, ...]:
        kept = [task for task in tasks if task in index]
        if len(kept) < len(list(tasks)):
            counts["previous"] += count_unknown(tasks, below)
        return tuple(sorted(kept, key=index.__getitem__))

    lags: dict[str, int] = client.lags  # type: ignore[assignment]
    if not lags.keys() <= logged.keys():
        unknown = count_unknown(lags, ".lags")
        kept = {task: lag for task, lag in lags.items() if task in logged}
        counts["lags"] += unknown
        counts["lags_not_logged"] += len(lags) - len(kept) - unknown
        lags = kept
    fields: dict[str, Any] = {
        "consumers": {name: known(client.consumers[name], f".consumers[{quote(name)}]") for name in sorted(client.consumers)},
        "previous_active": known(client.previous_active, ".previous_active"),
        "previous_standby": known(client.previous_standby, ".previous_standby"),
        "lags": {task: lags[task] for task in sorted(lags, key=logged.__getitem__)},
        "tags": {key: client.tags[key] for key in sorted(client.tags)},
    }
    copy = client.__copy__()  # the caller's own object stays as it is
    copy.__dict__.update(fields)
    return copy


def _list_unknown(tasks: Iterable[str], index: dict[str, int], place: str) -> list[str]:
    """Those of `tasks` that do not exist; an id that is none is an error, not a task of an older topology."""
    unknown = []
    for i, task in enumerate(tasks):
        if task not in index:
            unknown.append(task)
            try:
                TaskId.parse(task)
            except ValueError:
                below = f"[{quote(task)}]" if place.endswith(".lags") else f"[{i}]"
                raise cross_check_error(quote(task), TASK_ID_ALLOWED, place + below) from None
    return unknown


def _remembered(answer: TaskAssignment, index: dict[str, int], counts: dict[str, int]) -> TaskAssignment:
    """`answer` without what it says about tasks that do not exist any more."""
    dropped = 0

    def known(tasks: tuple[str, ...]) -> tuple[str, ...]:
        nonlocal dropped
        kept = tuple(task for task in tasks if task in index)
        dropped += len(tasks) - len(kept)
        return kept

    clients = [
        c.model_copy(update={"active": known(c.active), "standby": known(c.standby), "warmup": known(c.warmup)})
        for c in answer.clients
    ]
    plan = answer.plan and [c.model_copy(update={"active": known(c.active), "standby": known(c.standby)}) for c in answer.plan]
    report = answer.report
    waiting = tuple(entry for entry in report.waiting if entry.task in index)
    progress = tuple(entry for entry in report.warmup_progress if entry.task in index)
    dropped += len(report.waiting) - len(waiting) + len(report.warmup_progress) - len(progress)
    counts["remembered"] += dropped
    if not dropped:
        return answer
    report = report.model_copy(update={"waiting": waiting, "warmup_progress": progress})
    return answer.model_copy(update={"clients": clients, "plan": plan, "report": report})
