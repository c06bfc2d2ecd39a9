"""The clients of a snapshot: `KafkaStreamsState` with previous tasks, disk and lags (KIP-924's names)."""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self

from pydantic import Field, model_validator

from optassign.formats.base import INT64_MAX, Frozen, NotEmpty, TaskIds, cross_check_error, quote
from optassign.formats.task_id import INT32_MAX, TaskId
from optassign_models.policy.constants import LEAST_CAPACITY, MOST_CAPACITY

RUNNING = -2
"""Lag of an active copy that runs here (Kafka's Task.LATEST_OFFSET)."""
UNKNOWN_LAG = -3
"""Unknown lag (Kafka's SubscriptionInfo.UNKNOWN_OFFSET_SUM)."""
DRAIN_TAG = "optassign.drain"
"""Client tag whose value `true` means that the client drains, like `draining`."""
LAG_ALLOWED = "-2 (running here), -3 (not known) or an integer from 0 to 9223372036854775807"

_Lag = Annotated[int, Field(ge=UNKNOWN_LAG, le=INT64_MAX, description=LAG_ALLOWED, json_schema_extra={"not": {"const": -1}})]
if TYPE_CHECKING:  # read-only to the type checker; a plain dict, which pydantic reads fastest, at run time
    _Lags = Mapping[str, int]
    _Consumers = Mapping[str, tuple[str, ...]]
    _Tags = Mapping[str, str]
else:
    _Lags = Annotated[dict[str, _Lag], Field(fail_fast=True)]
    _Consumers = Annotated[dict[str, TaskIds], Field(fail_fast=True)]
    _Tags = Annotated[dict[str, str], Field(fail_fast=True)]


class _KnowsTasks(Protocol):
    """The part of the snapshot that a client needs."""

    @property
    def full_lags(self) -> Mapping[str, int]: ...


class KafkaStreamsState(Frozen):
    """One client: a process of the application, the tasks that it ran, the state on its disk, and its lags (offsets)."""

    process_id: NotEmpty = Field(description="Kafka's process id, a UUID; here any text that is not empty")
    threads: Annotated[int, Field(ge=1, le=INT32_MAX, description="num.stream.threads")]
    consumers: _Consumers = Field(default={}, description="previous active tasks per consumer")
    previous_active: TaskIds = Field(default=(), description="tasks that it owns: it runs them, or ran them until now")
    previous_standby: TaskIds = Field(default=(), description="every other task directory on its disk")
    lags: _Lags = Field(default={}, description="offsets to replay; -2 running here, -3 not known; absent: no state")
    tags: _Tags = Field(default={}, description="client.tag.*")
    rack: str | None = Field(default=None, description="client.rack")
    host: str | None = Field(default=None, description="host:port of application.server")
    client_id: str | None = Field(default=None, description="client.id, if the application sets it")
    capacity: Annotated[float, Field(ge=LEAST_CAPACITY, le=MOST_CAPACITY, description="relative capacity of one thread")] = 1.0
    draining: bool = Field(default=False, description="about to leave, so it gives its tasks away")

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        if -1 in self.lags.values():
            task = next(task for task, lag in self.lags.items() if lag == -1)
            raise cross_check_error("-1", LAG_ALLOWED, f".lags[{quote(task)}]")
        for name in ("previous_active", "previous_standby"):
            _each_once(getattr(self, name), f".{name}")
        for consumer, tasks in self.consumers.items():
            _each_once(tasks, f".consumers[{quote(consumer)}]")
        if not set(self.previous_active).isdisjoint(self.previous_standby):
            active = set(self.previous_active)
            i, task = next((i, task) for i, task in enumerate(self.previous_standby) if task in active)
            also = f"task {task}, which is in previous_active too"
            raise cross_check_error(also, "each task in one of the two lists", f".previous_standby[{i}]")
        if self._is_tagged and not self.draining:
            self.__dict__.update(draining=True, _says_draining=False)
        return self

    @property
    def says_draining(self) -> bool:
        """Whether the client itself says `draining`, as the plug-in reads it. `draining` is also true if only the tag
        `optassign.drain` or `Options.drain` says so (R8).
        """
        return bool(self.__dict__.get("_says_draining", self.draining))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed; a drain that tag or options request is not copied, but read again."""
        if update and "draining" not in update:
            update = {**update, "draining": self.says_draining}
        return super().model_copy(update=update, deep=deep)

    def with_drain(self, requested: bool) -> Self:
        """Return the client, draining if it says so, its tag does, or a drain is requested."""
        drains = self.says_draining or self._is_tagged or requested
        if self.draining == drains:
            return self
        other = copy(self)
        other.__dict__.update(draining=drains, _says_draining=self.says_draining)
        return other

    @property
    def _is_tagged(self) -> bool:
        return self.tags.get(DRAIN_TAG, "").lower() == "true"

    def lag_for(self, task: str | TaskId) -> int:
        """Return the offsets to replay for a logged task; -2 if it runs here, -3 if unknown (KIP-924 lagFor).

        A client without state has to replay the whole changelog, which only its `ApplicationState` knows. LookupError if the
        task does not exist or has no changelog.
        """
        lag = self.lags.get(str(task))
        return self._full_lags()[str(task)] if lag is None else lag

    def prev_tasks_by_lag(self, consumer: str) -> tuple[str, ...]:
        """Return the consumer's previous tasks by (lag, id), with lag 0 for tasks without a changelog (KIP-924 prevTasksByLag).

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

    def _full_lags(self) -> Mapping[str, int]:
        """Return logged task → offsets of its whole changelog. LookupError outside of a snapshot."""
        normalised: _KnowsTasks | None = self.__dict__.get("_normalised")
        if normalised is None:
            raise LookupError(f"client {self.process_id} is not part of an ApplicationState, which knows the tasks")
        return normalised.full_lags


def _each_once(tasks: tuple[str, ...], place: str) -> None:
    if len(set(tasks)) != len(tasks):
        seen: set[str] = set()
        for i, task in enumerate(tasks):
            if task in seen:
                raise cross_check_error(f"task {task} a second time", "each task once", f"{place}[{i}]")
            seen.add(task)


def find_clients(clients: Iterable[KafkaStreamsState], name: str) -> list[KafkaStreamsState]:
    """Return the client with that process id, otherwise all clients with that client id or host."""
    clients = list(clients)
    exact = [client for client in clients if client.process_id == name]
    return exact or [client for client in clients if name in (client.client_id, client.host)]


def list_process_ids(clients: Iterable[KafkaStreamsState], names: Iterable[str]) -> tuple[str, ...]:
    """Return the process ids of the clients that go by these names, each once; a name of no client stays as it is."""
    clients = list(clients)
    found = (sorted(client.process_id for client in find_clients(clients, name)) or [name] for name in names)
    return tuple(dict.fromkeys(process_id for each in found for process_id in each))


def mark_drains(clients: tuple[KafkaStreamsState, ...], names: Iterable[str]) -> tuple[KafkaStreamsState, ...]:
    """Return the clients; each drains if it says so, or if one of the names fits it alone."""
    requested = {found[0].process_id for name in names if len(found := find_clients(clients, name)) == 1}
    return tuple(client.with_drain(client.process_id in requested) for client in clients)
