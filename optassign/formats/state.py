"""The snapshot: `ApplicationState` and what it is made of, KIP-924's names as released: all that a rebalance knows.

Checked once, here. Nothing behind this module looks for wrong types, unknown tasks or order: an `ApplicationState`
holds its tasks sorted by `TaskId`, its clients by process id, lists and dictionaries of tasks in that order, and only
tasks that exist.
"""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from optassign.formats.assignment import Dropped, SourceRates, TaskAssignment
from optassign.formats.base import Format, Frozen, Time
from optassign.formats.clients import LAG_ALLOWED, RUNNING, UNKNOWN_LAG, KafkaStreamsState, tell_to_drain
from optassign.formats.configs import AssignmentConfigs, Options, Weights
from optassign.formats.normalise import LeftOut, Normalised, normalise
from optassign.formats.task_id import TaskId
from optassign.formats.tasks import TaskInfo, TaskTopicPartition

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


class ApplicationState(Frozen):
    """Everything one rebalance knows. Equal for equal problems, in whatever order the input lists things (R9)."""

    format: Format
    application: str | None = Field(default=None, description="application.id")
    taken_at: Time | None = Field(default=None, description="ISO 8601; null: follow-ups are due after the interval")
    configs: AssignmentConfigs
    options: Options = Options()
    tasks: Annotated[tuple[TaskInfo, ...], Field(strict=False, fail_fast=True)]
    clients: Annotated[tuple[KafkaStreamsState, ...], Field(strict=False, fail_fast=True, min_length=1)]
    remembered: TaskAssignment | None = Field(default=None, description="the last answer for this application")

    @model_validator(mode="after")
    def _normalise(self) -> Self:
        if "_normalised" not in self.__dict__:  # an instance handed in as a field of another comes by a second time
            clients = tell_to_drain(self.clients, self.options.drain)
            lag, options = self.configs.acceptable_recovery_lag, self.options
            normalised = normalise(self.tasks, clients, self.remembered, lag, options, self.taken_at)
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
    def left_out(self) -> tuple[LeftOut, ...]:
        """The first few of the entries of clients that were left out, as they are about tasks that do not exist."""
        return self._known.left_out

    @property
    def all_tasks(self) -> Mapping[str, TaskInfo]:
        """Task id -> task, in order of ids (KIP-924 allTasks)."""
        return self._known.all_tasks

    @property
    def subtopologies(self) -> Mapping[tuple[str, int], tuple[TaskInfo, ...]]:
        """(Name of the topology, number) -> the tasks of that subtopology, all of one kind, in order of ids."""
        return self._known.subtopologies

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
    def rates(self) -> SourceRates | None:
        """How fast the input of tasks grows, where the options weigh by that (`options.weigh_by`); None elsewhere."""
        return self._known.rates

    @property
    def _known(self) -> Normalised:
        normalised: Normalised = self.__dict__["_normalised"]
        return normalised
