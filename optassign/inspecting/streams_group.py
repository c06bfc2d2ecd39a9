"""Read a group of `group.protocol=streams` (KIP-1071): the broker reports topology, offsets and assignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from optassign.formats.assignment import KafkaStreamsAssignment, Report, TaskAssignment, Termination
from optassign.formats.base import format_ms
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from optassign.formats.task_id import TaskId, sorted_ids
from optassign.formats.tasks import TaskInfo, TaskTopicPartition
from optassign.inspecting.group_reading import StatedSettings, Topic
from optassign.inspecting.inspected import AppliedCopies, Inspected
from optassign.measuring.balance import is_balanced

_Task = tuple[str, int]
"""(subtopology, partition)."""
BROKERS_ASSIGNOR = "broker"
"""The assignor of the answer: the broker's, which reports no name."""


@dataclass(frozen=True)
class StreamsMember:
    """A member of the group, as the broker describes it."""

    client_id: str
    process_id: str
    instance_id: str | None
    rack: str | None
    host: str | None
    tags: Mapping[str, str]
    offsets: Mapping[_Task, int]
    """Task → offset sum of its copy, as last reported (every `task.offset.interval.ms`)."""
    current: Mapping[str, tuple[_Task, ...]]
    """Role → its present tasks."""
    target: Mapping[str, tuple[_Task, ...]]
    """Role → its target tasks: the assignor's answer."""


@dataclass(frozen=True)
class StreamsGroupReading:
    """A group of the streams protocol at one moment."""

    application: str
    taken_at_ms: int
    epoch: int
    topology: Mapping[str, tuple[str, ...]]
    """Subtopology → its changelog topics."""
    members: tuple[StreamsMember, ...]
    changelogs: Mapping[str, Topic] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def inspect_streams(reading: StreamsGroupReading, settings: StatedSettings, growth: Mapping[str, float]) -> Inspected:
    """Return the group as a snapshot with each member's present tasks, and the assignor's answer with the target tasks.

    `growth`: changelog topic → offsets per second and partition.
    """
    processes: dict[str, list[StreamsMember]] = {}
    for member in sorted(reading.members, key=lambda each: (each.process_id, each.client_id)):
        processes.setdefault(member.process_id, []).append(member)
    roles = {name: {role: _collect(members, role, "target") for role in _ROLES} for name, members in processes.items()}
    tasks = sorted_ids({task for given in roles.values() for named in given.values() for task in named})
    copies = AppliedCopies(
        active={name: given["active"] for name, given in roles.items()},
        standby={name: given["standby"] for name, given in roles.items()},
    )
    logged = {task for task in tasks if _list_changelogs(reading, task)}
    ends = _sum_partitions(reading, logged, {name: topic.ends for name, topic in reading.changelogs.items()})
    sizes = {name: topic.sizes for name, topic in reading.changelogs.items()}
    state = ApplicationState(
        format=1,
        application=reading.application,
        taken_at=format_ms(reading.taken_at_ms),
        configs=settings.make_configs(copies.count_standbys(logged)),
        tasks=tuple(
            TaskInfo(
                id=task,
                stateful=task in logged,
                changelog_end_offset=ends.get(task),
                partitions=tuple(
                    TaskTopicPartition(topic=topic, partition=TaskId.parse(task).partition, changelog=True)
                    for topic in _list_changelogs(reading, task)
                ),
            )
            for task in tasks
        ),
        clients=tuple(_describe_client(name, members, ends, logged) for name, members in processes.items()),
    )
    answer = TaskAssignment(
        assignor=BROKERS_ASSIGNOR,
        clients=tuple(
            KafkaStreamsAssignment(
                process_id=name, active=tuple(given["active"]), standby=tuple(given["standby"]), warmup=tuple(given["warmup"])
            )
            for name, given in roles.items()
        ),
    )
    report = Report(
        balanced=is_balanced(state, answer), termination=Termination(reason="observed", detail="the group's target assignment")
    )
    assumed = settings.list_assumed()
    return Inspected(
        protocol="streams",
        snapshot=state,
        applied=answer.model_copy(update={"report": report}),
        static_members=sum(member.instance_id is not None for member in reading.members),
        handed_over=(),
        growth={t: rate for t in sorted(logged) if (rate := sum(growth.get(n, 0.0) for n in _list_changelogs(reading, t)))},
        changelog_bytes=_sum_partitions(reading, logged, sizes),
        remarks=(
            *reading.remarks,
            "Members report their offsets once a minute (task.offset.interval.ms): lags are as old as that.",
            *([f"The broker does not tell {', '.join(assumed)}: these are Kafka's defaults."] if assumed else []),
        ),
    )


_ROLES = ("active", "standby", "warmup")


def _name(task: _Task) -> str:
    return f"{task[0]}_{task[1]}"


def _collect(members: Iterable[StreamsMember], role: str, which: str) -> list[str]:
    return sorted_ids({_name(task) for member in members for task in getattr(member, which)[role]})


def _list_changelogs(reading: StreamsGroupReading, task: str) -> tuple[str, ...]:
    return reading.topology.get(str(TaskId.parse(task).subtopology), ())


def _sum_partitions(
    reading: StreamsGroupReading, logged: Iterable[str], values: Mapping[str, Mapping[int, int]]
) -> dict[str, int]:
    """Return logged task → sum over its changelogs' partitions (end offsets or bytes), if all of them are known."""
    sums = {}
    for task in logged:
        partition = TaskId.parse(task).partition
        known = [values[name] for name in _list_changelogs(reading, task) if name in values]
        if len(known) == len(_list_changelogs(reading, task)) and all(partition in each for each in known):
            sums[task] = sum(each[partition] for each in known)
    return sums


def _describe_client(
    name: str, members: list[StreamsMember], ends: Mapping[str, int], logged: Iterable[str]
) -> KafkaStreamsState:
    active = _collect(members, "active", "current")
    standby = sorted_ids({*_collect(members, "standby", "current"), *_collect(members, "warmup", "current")} - {*active})
    offsets = {_name(task): offset for member in members for task, offset in member.offsets.items()}
    lags = {
        task: RUNNING
        if task in active
        else max(0, ends[task] - offsets[task])
        if task in offsets and task in ends
        else UNKNOWN_LAG
        for task in (*active, *standby)
        if task in logged
    }
    return KafkaStreamsState(
        process_id=name,
        threads=len(members),
        previous_active=tuple(active),
        previous_standby=tuple(standby),
        lags=lags,
        tags=dict(members[0].tags),
        rack=members[0].rack,
        host=members[0].host,
        client_id=None,
    )
