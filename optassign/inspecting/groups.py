"""Read a group and its topics, wait until it is stable, and follow its next rebalances."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from optassign.formats.input_errors import InputError
from optassign.inspecting.classic import is_between_passes
from optassign.inspecting.cluster import ClusterConnection
from optassign.inspecting.group_reading import (
    GroupReading,
    Member,
    UserDataError,
    decode_assignment,
    decode_subscription,
    find_changelog_names,
)
from optassign.inspecting.streams_group import StreamsGroupReading, StreamsMember

GROUP_LOOK_S = 1.0
"""Seconds between two readings of a group that is not stable; short, so that a short stable phase is not missed."""


AnyReading = GroupReading | StreamsGroupReading
_STREAMS_PROTOCOL = "stream"
"""Kafka Streams' name of its assignor in the consumer protocol."""


class _NotStableError(Exception):
    """Raised if the group is not stable; `str()` is the reason, as a predicate: `hands tasks over`."""


def await_group(
    cluster: ClusterConnection, group: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> AnyReading:
    """Read the group; while it rebalances, repeat for about `seconds` seconds. InputError if it does not become stable."""
    left = seconds
    while True:
        try:
            return _read_group(cluster, group)
        except _NotStableError as error:
            if left <= 0:
                allowed = "a stable group; --wait SECONDS waits longer"
                raise InputError("--group", "", f"{group!r}, which {error}, for {seconds:g} s", allowed) from None
        sleep(min(GROUP_LOOK_S, max(left, 0.1)))
        left -= GROUP_LOOK_S


def _read_group(cluster: ClusterConnection, group: str) -> AnyReading:
    """Read the group and its topics once. _NotStableError while it rebalances; InputError if there is no such group."""
    described = cluster.describe_classic(group)
    if described is not None and described.protocol_type == "consumer":
        return _read_classic(cluster, group, described)
    described = cluster.describe_streams(group)
    if described is None:
        raise cluster.make_no_group_error(group)
    return _read_streams(cluster, group, described)


def _read_classic(cluster: ClusterConnection, group: str, described: Any) -> GroupReading:
    at = _now_ms()
    if described.group_state == "Empty":
        raise InputError("--group", "", f"{group!r}, which has no members", "a group whose application runs")
    if described.group_state != "Stable":
        raise _NotStableError(f"rebalances ({described.group_state})")
    if described.protocol_data != _STREAMS_PROTOCOL:
        found = f"{group!r}, whose members use the assignor {described.protocol_data!r}"
        raise InputError("--group", "", found, "a group of Kafka Streams")
    try:
        members = tuple(decode_member(member) for member in described.members)
    except (UserDataError, struct.error, ValueError) as error:
        raise InputError(
            "--group", "", f"{group!r}, whose messages cannot be read ({error})", "Kafka Streams 2.6 or later"
        ) from None
    reading = GroupReading(group, at, members, {}, {})
    if is_between_passes(reading):
        raise _NotStableError("hands tasks over")
    return _add_topics(cluster, reading)


def decode_member(member: Any) -> Member:
    """Return a member of a classic group from the broker's description.

    UserDataError, struct.error or ValueError if it is not a stream thread of Kafka 2.6 or later.
    """
    subscription = ConsumerProtocolSubscription.decode(bytes(member.member_metadata))
    assignment = ConsumerProtocolAssignment.decode(bytes(member.member_assignment))
    return Member(
        client_id=member.client_id,
        instance_id=member.group_instance_id,
        rack=subscription.rack_id,
        owned=frozenset((each.topic, p) for each in subscription.owned_partitions or () for p in each.partitions),
        subscription=decode_subscription(bytes(subscription.user_data or b"")),
        partitions=tuple(sorted((each.topic, p) for each in assignment.assigned_partitions for p in each.partitions)),
        assignment=decode_assignment(bytes(assignment.user_data or b"")),
    )


def _add_topics(cluster: ClusterConnection, reading: GroupReading) -> GroupReading:
    names = find_changelog_names(reading.application, cluster.list_topics(), cluster.list_groups())
    changelogs, unseen = cluster.read_topics(names, with_ends=True)
    read = {topic for member in reading.members for topic, _ in member.partitions}
    read |= {
        topic for member in reading.members for partitions in member.assignment.standby.values() for topic, _ in partitions
    }
    sources, _ = cluster.read_topics(read, with_ends=False)
    remarks = [*_remark_on_unseen(unseen)]
    if not names:
        remarks.append("No changelog can be seen: the application has none, or the right DESCRIBE on its topics is missing.")
    return replace(reading, changelogs=changelogs, sources=sources).with_remarks(remarks)


def _remark_on_unseen(topics: Sequence[str]) -> tuple[str, ...]:
    return (f"You may not see {', '.join(topics)}: the right DESCRIBE on these topics is missing.",) if topics else ()


def _read_streams(cluster: ClusterConnection, group: str, described: Any) -> StreamsGroupReading:
    at = _now_ms()
    if described.group_state == "Empty":
        raise InputError("--group", "", f"{group!r}, which has no members", "a group whose application runs")
    if described.topology is None or described.topology.subtopologies is None:
        raise _NotStableError("has no topology yet")
    if described.group_state not in ("Stable", "Reconciling"):
        raise _NotStableError(f"is not ready ({described.group_state})")
    reading = StreamsGroupReading(
        application=group,
        taken_at_ms=at,
        epoch=described.group_epoch,
        topology={
            each.subtopology_id: tuple(topic.name for topic in each.state_changelog_topics)
            for each in described.topology.subtopologies
        },
        members=tuple(_describe_member(member) for member in described.members),
    )
    names = {name for topics in reading.topology.values() for name in topics}
    changelogs, unseen = cluster.read_topics(names, with_ends=True)
    return replace(reading, changelogs=changelogs, remarks=_remark_on_unseen(unseen))


def _describe_member(member: Any) -> StreamsMember:
    endpoint = member.user_endpoint
    return StreamsMember(
        client_id=member.client_id,
        process_id=member.process_id,
        instance_id=member.instance_id,
        rack=member.rack_id,
        host=None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        tags={tag.key: tag.value for tag in member.client_tags},
        offsets={(each.subtopology_id, each.partition): each.offset for each in member.task_offsets},
        current=_list_roles(member.assignment),
        target=_list_roles(member.target_assignment),
    )


def _list_roles(assignment: Any) -> Mapping[str, tuple[tuple[str, int], ...]]:
    roles = {"active": assignment.active_tasks, "standby": assignment.standby_tasks, "warmup": assignment.warmup_tasks}
    return {role: tuple((each.subtopology_id, p) for each in tasks for p in each.partitions) for role, tasks in roles.items()}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def follow(
    cluster: ClusterConnection,
    group: str,
    every: float,
    on_trouble: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[AnyReading]:
    """Yield the group now, and after each rebalance, without end.

    The group is read every `every` seconds; rebalances between two readings count as one. A failed reading is repeated; its
    error goes to `on_trouble`, unless it equals the error of the reading before.
    """
    last: object = None
    trouble = ""
    while True:
        try:
            reading = _read_group(cluster, group)
        except _NotStableError:
            sleep(min(1.0, every))
            continue
        except InputError as error:
            if str(error) != trouble:
                on_trouble(str(error))
            trouble = str(error)
        else:
            trouble = ""
            state = _identify(reading)
            if state != last:
                last = state
                yield reading
        sleep(every)


def _identify(reading: AnyReading) -> object:
    """Return a value that changes with every rebalance: members' owned tasks and their new tasks, or the epoch."""
    if isinstance(reading, GroupReading):
        return frozenset(
            (
                m.client_id,
                m.owned,
                tuple(sorted(m.subscription.offset_sums.items())),
                m.assignment.active,
                frozenset(m.assignment.standby),
                m.assignment.next_rebalance_ms,
            )
            for m in reading.members
        )
    return reading.epoch
