"""The snapshot: `ApplicationState` and what it is made of, KIP-924's names as released: all that a rebalance knows.

Checked once, here. Nothing behind this module looks for wrong types, unknown tasks or order: an `ApplicationState`
holds its tasks sorted by `TaskId`, its clients by process id, lists and dictionaries of tasks in that order, and only
tasks that exist.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from optassign._model import INT64_MAX, Count, Format, Frozen, Int32, NotEmpty, TaskIds, TaskIdText, found_not, show
from optassign._normalise import Normalised, normalise
from optassign.assignment import Dropped, TaskAssignment
from optassign.configs import AssignmentConfigs, Options, Weights
from optassign.task_id import INT32_MAX, TaskId

__all__ = [
    "RUNNING",
    "UNKNOWN_LAG",
    "ApplicationState",
    "AssignmentConfigs",
    "KafkaStreamsState",
    "Options",
    "TaskId",
    "TaskInfo",
    "TaskTopicPartition",
    "Weights",
]

RUNNING = -2
"""Lag of an active copy that runs here (Kafka's Task.LATEST_OFFSET)."""
UNKNOWN_LAG = -3
"""Lag that is not known (Kafka's SubscriptionInfo.UNKNOWN_OFFSET_SUM)."""
LAG_ALLOWED = "-2 (running here), -3 (not known) or an integer from 0 to 9223372036854775807"

_Lag = Annotated[int, Field(ge=UNKNOWN_LAG, le=INT64_MAX, description=LAG_ALLOWED, json_schema_extra={"not": {"const": -1}})]
if TYPE_CHECKING:  # read-only to the type checker; a plain dict, which pydantic reads fastest, at run time
    _Lags = Mapping[str, int]
    _Consumers = Mapping[str, tuple[str, ...]]
    _Tags = Mapping[str, str]
else:
    _Lags = dict[str, _Lag]
    _Consumers = dict[str, TaskIds]
    _Tags = dict[str, str]


class TaskTopicPartition(Frozen):
    """A topic partition that a task reads (`source`) or keeps its state in (`changelog`); the racks of its replicas."""

    topic: NotEmpty | None = None
    partition: Int32 | None = None
    changelog: bool = False
    source: bool = Field(default_factory=lambda data: not data.get("changelog"), description="default: not changelog")
    racks: Annotated[tuple[str, ...], Field(strict=False), AfterValidator(lambda racks: tuple(sorted(racks)))] = ()

    def _key(self) -> tuple[Any, ...]:
        partition = -1 if self.partition is None else self.partition
        return (self.topic or "", partition, self.source, self.changelog, self.racks)


def _sorted_partitions(partitions: tuple[TaskTopicPartition, ...]) -> tuple[TaskTopicPartition, ...]:
    return partitions if len(partitions) < 2 else tuple(sorted(partitions, key=TaskTopicPartition._key))


class TaskInfo(Frozen):
    """One task of the topology."""

    id: TaskIdText
    stateful: bool
    logged: bool = Field(
        default_factory=lambda data: data.get("stateful", False),
        description="a store keeps a changelog, so the task has lags, standbys, warm-ups; default: = stateful",
    )
    changelog_end_offset: Count | None = Field(default=None, description="offsets in the task's changelogs, summed")
    weight: Annotated[float, Field(gt=0, le=1e9, description="relative load of the active copy")] = 1.0
    partitions: Annotated[tuple[TaskTopicPartition, ...], Field(strict=False), AfterValidator(_sorted_partitions)] = ()

    @model_validator(mode="after")
    def _logged_is_stateful(self) -> Self:
        if self.logged and not self.stateful:
            raise found_not(f"true, and task {self.id} is not stateful", "false unless stateful is true", ".logged")
        return self

    @property
    def task_id(self) -> TaskId:
        """The id, parsed."""
        return TaskId.parse(self.id)

    @property
    def kind(self) -> str:
        """`stateless`, `unlogged` (stateful without a changelog) or `logged`; one for all tasks of a subtopology."""
        return "logged" if self.logged else "unlogged" if self.stateful else "stateless"


class KafkaStreamsState(Frozen):
    """One client: one process of the application, what it ran, what it has on disk and how far that lags (offsets)."""

    process_id: NotEmpty
    threads: Annotated[int, Field(ge=1, le=INT32_MAX)]
    consumers: _Consumers = Field(default={}, description="previous active tasks per consumer")
    previous_active: TaskIds = ()
    previous_standby: TaskIds = Field(default=(), description="every other task directory on its disk")
    lags: _Lags = Field(default={}, description="offsets to replay; -2 running here, -3 not known; absent: no state")
    tags: _Tags = Field(default={})
    rack: str | None = None
    host: str | None = None
    capacity: Annotated[float, Field(ge=1e-6, le=1e6, description="relative capacity of one thread")] = 1.0
    draining: bool = Field(default=False, description="about to leave: give its work away")

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        if -1 in self.lags.values():
            task = next(task for task, lag in self.lags.items() if lag == -1)
            raise found_not("-1", LAG_ALLOWED, f".lags[{show(task)}]")
        for name in ("previous_active", "previous_standby"):
            _each_once(getattr(self, name), f".{name}")
        for consumer, tasks in self.consumers.items():
            _each_once(tasks, f".consumers[{show(consumer)}]")
        if not set(self.previous_active).isdisjoint(self.previous_standby):
            active = set(self.previous_active)
            i, task = next((i, task) for i, task in enumerate(self.previous_standby) if task in active)
            also = f"task {task}, which is in previous_active too"
            raise found_not(also, "each task in one of the two lists", f".previous_standby[{i}]")
        return self

    def lag_for(self, task: str | TaskId) -> int:
        """Offsets this client still has to replay for a logged task; -2: running here, -3: not known (KIP-924 lagFor).

        Without state here: the whole changelog, which only the `ApplicationState` this client belongs to can tell.
        LookupError if the task does not exist or has no changelog.
        """
        lag = self.lags.get(str(task))
        return self._full_lags()[str(task)] if lag is None else lag

    def prev_tasks_by_lag(self, consumer: str) -> tuple[str, ...]:
        """The consumer's previous tasks by (lag, id), a task without a changelog as lag 0 (KIP-924 prevTasksByLag).

        LookupError if this client has no such consumer.
        """
        if consumer not in self.consumers:
            raise LookupError(f"client {self.process_id} has no consumer {consumer!r}")
        full = self._full_lags()
        return tuple(sorted(self.consumers[consumer], key=lambda t: (self.lag_for(t) if t in full else 0, TaskId.parse(t))))

    @property
    def stateful_tasks_to_lag_sums(self) -> dict[str, int]:
        """Lag of every logged task of the topology on this client, in order of ids (KIP-924 statefulTasksToLagSums)."""
        return {task: self.lags.get(task, full) for task, full in self._full_lags().items()}

    def _full_lags(self) -> "Mapping[str, int]":
        normalised: Normalised | None = self.__dict__.get("_normalised")
        if normalised is None:
            raise LookupError(f"client {self.process_id} is not part of an ApplicationState, which knows the tasks")
        return normalised.full_lags


def _each_once(tasks: tuple[str, ...], place: str) -> None:
    if len(set(tasks)) != len(tasks):
        seen: set[str] = set()
        for i, task in enumerate(tasks):
            if task in seen:
                raise found_not(f"task {task} a second time", "each task once", f"{place}[{i}]")
            seen.add(task)


def _is_time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise found_not(show(text), "a time as in ISO 8601, such as 2026-11-20T15:20:01.123Z") from None
    return text


class ApplicationState(Frozen):
    """Everything one rebalance knows. Equal for equal problems, in whatever order the input lists things (R9)."""

    format: Format
    application: str | None = Field(default=None, description="application.id")
    taken_at: Annotated[str, AfterValidator(_is_time)] | None = None
    configs: AssignmentConfigs
    options: Options = Options()
    tasks: Annotated[tuple[TaskInfo, ...], Field(strict=False)]
    clients: Annotated[tuple[KafkaStreamsState, ...], Field(strict=False, min_length=1)]
    remembered: TaskAssignment | None = Field(default=None, description="the last answer for this application")

    @model_validator(mode="after")
    def _normalise(self) -> Self:
        if "_normalised" not in self.__dict__:  # an instance handed in as a field of another comes by a second time
            normalised = normalise(self)
            self.__dict__.update(
                tasks=normalised.tasks,
                clients=normalised.clients,
                remembered=normalised.remembered,
                _normalised=normalised,
            )
        return self

    @property
    def dropped(self) -> Dropped:
        """How many entries about tasks that do not exist, and lags of tasks without a changelog, were left out."""
        return self._known.dropped

    @property
    def all_tasks(self) -> Mapping[str, TaskInfo]:
        """Task id -> task, in order of ids (KIP-924 allTasks)."""
        return self._known.all_tasks

    @property
    def assignment_configs(self) -> AssignmentConfigs:
        """KIP-924 assignmentConfigs."""
        return self.configs

    @property
    def kafka_streams_states(self) -> Mapping[str, KafkaStreamsState]:
        """Process id -> client, in order of ids (KIP-924 kafkaStreamsStates)."""
        return self._known.kafka_streams_states

    @property
    def full_lags(self) -> Mapping[str, int]:
        """Logged task -> what a client without state has to replay (offsets), in order of ids.

        That is the changelog's end offset or, where it is missing, the larger of (largest lag reported + 1) and
        (acceptable_recovery_lag + 1), within int64.
        """
        return self._known.full_lags

    @property
    def _known(self) -> Normalised:
        normalised: Normalised = self.__dict__["_normalised"]
        return normalised
