"""The snapshot: `ApplicationState` and its parts, with KIP-924's names as released: everything that a rebalance knows.

Input is checked here once. Later code checks no types, unknown tasks or order: an `ApplicationState` has its tasks sorted by
`TaskId`, its clients by process id, lists and dictionaries of tasks in that order, and existing tasks only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from optassign.display import make_frame, make_html
from optassign.errors import ArgumentError
from optassign.formats.assignment import Dropped, SourceRates, TaskAssignment
from optassign.formats.base import INT64_MAX, Format, Frozen, Time, cross_check_error, quote
from optassign.formats.clients import LAG_ALLOWED, RUNNING, UNKNOWN_LAG, KafkaStreamsState, mark_drains
from optassign.formats.configs import AssignmentConfigs, Options, Weights
from optassign.formats.input_errors import from_validation
from optassign.formats.task_id import TASK_ID_ALLOWED, TaskId
from optassign.formats.tasks import TaskInfo, TaskTopicPartition
from optassign.formats.weighing import measure_rates, weigh_tasks

if TYPE_CHECKING:
    from optassign.display import DataFrame

__all__ = [
    "LAG_ALLOWED",
    "RUNNING",
    "UNKNOWN_LAG",
    "ApplicationState",
    "AssignmentConfigs",
    "KafkaStreamsState",
    "LeftOut",
    "Options",
    "TaskId",
    "TaskInfo",
    "TaskTopicPartition",
    "Weights",
]

NAMED_EXAMPLES = 5
"""Left-out entries that a message names: a message stays one line."""
MOST_TOTAL_CAPACITY = 9_000_000_000_000
"""The greatest sum of threads × capacity: in millionths, as shares are computed, it is within 64 bits."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry of a client that was left out because the snapshot has no such task."""

    process_id: str
    field: str
    """Its place: `previous_active`, `previous_standby`, `lags`, `consumers["c-1"]`."""
    task: str


class Normalised:
    """The tables behind an `ApplicationState`. Compared by identity, so that states are equal if their fields are."""

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
        """Subtopology → its tasks, all of one kind, in order of ids."""
        return {key: tuple(tasks) for key, tasks in groupby(self.tasks, lambda task: task.task_id.subtopology_key)}

    @cached_property
    def full_lags(self) -> dict[str, int]:
        """Logged task → offsets of its whole changelog, in order of ids."""
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
    """Check the parts of a snapshot against each other, sort them, and weigh the tasks as the options ask.

    PydanticCustomError, with the place, if parts contradict each other.
    """
    rates = measure_rates(given_tasks, options, taken_at, None if given_memory is None else given_memory.report.rates)
    tasks = weigh_tasks(_sort_tasks(given_tasks), options, rates)
    _check_kinds(given_tasks)
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
        clients.append(_normalise_client(client, f"clients[{i}]", index, logged, counts, left_out))
    clients.sort(key=lambda client: client.process_id)
    remembered = given_memory and _normalise_remembered(given_memory, index, counts)
    normalised = Normalised(
        tasks, tuple(clients), remembered, Dropped(**counts), tuple(left_out), acceptable_recovery_lag, rates
    )
    for client in clients:
        client.__dict__["_normalised"] = normalised
    return normalised


def _sort_tasks(tasks: tuple[TaskInfo, ...]) -> tuple[TaskInfo, ...]:
    seen: set[str] = set()
    for i, task in enumerate(tasks):
        if task.id in seen:
            raise cross_check_error(f"task {task.id} a second time", "each task id once", f"tasks[{i}].id")
        seen.add(task.id)
    return tuple(sorted(tasks, key=lambda task: TaskId.parse(task.id)))


def _check_kinds(tasks: tuple[TaskInfo, ...]) -> None:
    first: dict[tuple[str, int], TaskInfo] = {}
    for i, task in enumerate(tasks):
        other = first.setdefault(task.task_id.subtopology_key, task)
        if other.stateful != task.stateful or other.logged != task.logged:
            raise cross_check_error(
                f"{task.kind} task {task.id} and {other.kind} task {other.id} in one subtopology",
                "one kind (stateless, unlogged or logged) per subtopology",
                f"tasks[{i}]",
            )


def _normalise_client(
    client: KafkaStreamsState,
    place: str,
    index: dict[str, int],
    logged: dict[str, int],
    counts: dict[str, int],
    left_out: list[LeftOut],
) -> KafkaStreamsState:
    """Return a copy of `client` in normal order, with known tasks only; append the first unknown entries to `left_out`.

    Lags of tasks without a changelog are left out too. The numbers of all entries left out are added to `counts`.
    """

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
    """Return the tasks that do not exist. An id of a wrong form is an error, not a task of an older topology."""
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


def _normalise_remembered(answer: TaskAssignment, index: dict[str, int], counts: dict[str, int]) -> TaskAssignment:
    """Return `answer` without entries about tasks that do not exist any more."""
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


class ApplicationState(Frozen):
    """Everything that one rebalance knows. Equal for equal problems, whatever the order of the input (R9)."""

    format: Format
    application: str | None = Field(default=None, description="application.id")
    taken_at: Time | None = Field(
        default=None, description="time of the snapshot, ISO 8601; null: follow-ups come after the interval"
    )
    configs: AssignmentConfigs
    options: Options = Options()
    tasks: Annotated[tuple[TaskInfo, ...], Field(strict=False, fail_fast=True)]
    clients: Annotated[tuple[KafkaStreamsState, ...], Field(strict=False, fail_fast=True, min_length=1)]
    remembered: TaskAssignment | None = Field(default=None, description="the last answer for this application")

    @model_validator(mode="after")
    def _normalise(self) -> Self:
        if "_normalised" not in self.__dict__:  # pydantic validates an instance again if it is a field of another
            clients = mark_drains(self.clients, self.options.drain)
            lag, options = self.configs.acceptable_recovery_lag, self.options
            normalised = normalise(self.tasks, clients, self.remembered, lag, options, self.taken_at)
            self.__dict__.update(
                tasks=normalised.tasks,
                clients=normalised.clients,
                remembered=normalised.remembered,
                _normalised=normalised,
            )
        return self

    def with_options(self, **options: object) -> Self:
        """Return the snapshot with some of its options changed; the others stay.

        Args:
            options: fields of `Options` by name, such as `preset="weighted"`, `weights={"stickiness": 100.0}` or
                `goals=("restore_work", "active_moves")`; lists, tuples and dictionaries as in JSON.

        Raises:
            InputError: for an unknown field or a value that is not allowed.
            ArgumentError: for options that have already changed tasks or clients of this snapshot.

        Examples:
            >>> import optassign
            >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
            >>> state.with_options(preset="weighted", weights={"stickiness": 100.0}).options.preset
            'weighted'
        """
        given = self.options
        for name, at_first in (("weigh_by", "given"), ("task_weights", {}), ("drain", ())):
            if name in options and getattr(given, name) != at_first and options[name] != getattr(given, name):
                found = f"a change of {getattr(given, name)!r}, by which this snapshot was read"
                raise ArgumentError(name, found, "a change before the snapshot is read")
        try:
            changed = given.model_copy(update=options)
        except ValidationError as error:
            data = {**given.model_dump(), **options}
            raise from_validation(error, data, Options, "options") from None
        return self.model_copy(update={"options": changed})

    def to_frame(self, rows: Literal["clients", "tasks"] = "clients") -> "DataFrame":
        """Return a pandas data frame with a row for each client or each task, in order of ids.

        Raises:
            MissingPackageError: without pandas.

        Examples:
            >>> import optassign
            >>> state = optassign.generate("steady", tasks=12, clients=3, seed=1)
            >>> int(state.to_frame()["previous_active"].sum())
            12
        """
        if rows == "clients":
            return make_frame((_describe_client(client) for client in self.clients), _CLIENT_COLUMNS)
        if rows != "tasks":
            raise ArgumentError("rows", repr(rows), "'clients' or 'tasks'")
        owner = {task: client.process_id for client in self.clients for task in client.previous_active}
        described = (
            {
                "task": task.id,
                "kind": task.kind,
                "weight": task.weight,
                "changelog_end_offset": task.changelog_end_offset,
                "previous_active": owner.get(task.id),
            }
            for task in self.tasks
        )
        return make_frame(described, ("task", "kind", "weight", "changelog_end_offset", "previous_active"))

    def _repr_html_(self) -> str:
        kinds = [task.kind for task in self.tasks]
        tasks = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in ("logged", "unlogged", "stateless") if kind in kinds)
        standbys = self.configs.num_standby_replicas
        title = f"{self.application or 'snapshot'}: {len(kinds):,} tasks ({tasks}), {len(self.clients):,} clients"
        rows = [tuple(_describe_client(client).values()) for client in self.clients]
        return make_html(f"{title}, num_standby_replicas {standbys}, preset {self.options.preset}", _CLIENT_COLUMNS, rows)

    @property
    def dropped(self) -> Dropped:
        """Numbers of left-out entries about tasks that do not exist, and of lags of tasks without a changelog."""
        return self._known.dropped

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The first few entries of clients that were left out because their tasks do not exist."""
        return self._known.left_out

    @property
    def all_tasks(self) -> Mapping[str, TaskInfo]:
        """Task id → task, in order of ids (KIP-924 allTasks)."""
        return self._known.all_tasks

    @property
    def subtopologies(self) -> Mapping[tuple[str, int], tuple[TaskInfo, ...]]:
        """(name of the topology, number) → the subtopology's tasks, all of one kind, in order of ids."""
        return self._known.subtopologies

    @property
    def assignment_configs(self) -> AssignmentConfigs:
        """KIP-924 assignmentConfigs."""
        return self.configs

    @property
    def kafka_streams_states(self) -> Mapping[str, KafkaStreamsState]:
        """Process id → client, in order of ids (KIP-924 kafkaStreamsStates)."""
        return self._known.kafka_streams_states

    @property
    def full_lags(self) -> Mapping[str, int]:
        """Logged task → offsets that a client without state has to replay, in order of ids.

        That is the changelog's end offset. If it is missing: max(largest reported lag, acceptable_recovery_lag) + 1, within
        int64.
        """
        return self._known.full_lags

    @property
    def rates(self) -> SourceRates | None:
        """Input rates of tasks, if the options weigh by them (`options.weigh_by`); otherwise None."""
        return self._known.rates

    @property
    def _known(self) -> Normalised:
        normalised: Normalised = self.__dict__["_normalised"]
        return normalised


_CLIENT_COLUMNS = ("client", "threads", "capacity", "previous_active", "previous_standby", "rack", "draining")


def _describe_client(client: KafkaStreamsState) -> dict[str, object]:
    """Return a client's row in frames and notebooks, in the order of `_CLIENT_COLUMNS`; tasks are counted."""
    return {
        "client": client.process_id,
        "threads": client.threads,
        "capacity": client.capacity,
        "previous_active": len(client.previous_active),
        "previous_standby": len(client.previous_standby),
        "rack": client.rack,
        "draining": client.draining,
    }
