"""The tasks of a snapshot: `TaskInfo`, and the topic partitions that it reads and keeps its state in (KIP-924's names)."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from optassign.formats.base import Count, Frozen, Int32, NotEmpty, TaskIdText, Weight, cross_check_error, is_none
from optassign.formats.task_id import TaskId


class TaskTopicPartition(Frozen):
    """A topic partition that a task reads (`source`) or keeps its state in (`changelog`), and the racks of its replicas."""

    topic: NotEmpty | None = None
    partition: Int32 | None = None
    changelog: bool = False
    source: bool = Field(default_factory=lambda data: not data.get("changelog"), description="default: not changelog")
    racks: Annotated[
        tuple[str, ...], Field(strict=False, fail_fast=True), AfterValidator(lambda racks: tuple(sorted(racks)))
    ] = ()

    def _sort_key(self) -> tuple[Any, ...]:
        partition = -1 if self.partition is None else self.partition
        return (self.topic or "", partition, self.source, self.changelog, self.racks)


def _sorted_partitions(partitions: tuple[TaskTopicPartition, ...]) -> tuple[TaskTopicPartition, ...]:
    return partitions if len(partitions) < 2 else tuple(sorted(partitions, key=TaskTopicPartition._sort_key))


class TaskInfo(Frozen):
    """One task of the topology."""

    id: TaskIdText
    stateful: bool = Field(description="it has a store")
    logged: bool = Field(
        default_factory=lambda data: data.get("stateful", False),
        description="a store has a changelog, so the task has lags, standbys and warm-ups; default: as stateful",
    )
    changelog_end_offset: Count | None = Field(default=None, description="sum of the end offsets of its changelogs")
    source_end_offset: Count | None = Field(
        default=None, exclude_if=is_none, description="sum of the end offsets of its source partitions; for weigh_by rates"
    )
    weight: Weight = Field(default=1.0, description="relative load of the active copy")
    partitions: Annotated[
        tuple[TaskTopicPartition, ...], Field(strict=False, fail_fast=True), AfterValidator(_sorted_partitions)
    ] = Field(default=(), description="only for goals rack_traffic and rack_cost")

    @model_validator(mode="after")
    def _logged_is_stateful(self) -> Self:
        if self.logged and not self.stateful:
            raise cross_check_error(f"true, and task {self.id} is not stateful", "false unless stateful is true", ".logged")
        return self

    @property
    def task_id(self) -> TaskId:
        """The parsed id."""
        return TaskId.parse(self.id)

    @property
    def kind(self) -> str:
        """`stateless`, `unlogged` (stateful without a changelog) or `logged`; one for all tasks of a subtopology."""
        return "logged" if self.logged else "unlogged" if self.stateful else "stateless"
