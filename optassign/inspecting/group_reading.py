"""A group as members, brokers and the user describe it: messages of the last rebalance, topics, stated settings."""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from optassign.formats.configs import AssignmentConfigs
from optassign.formats.input_errors import InputError
from optassign.formats.task_id import TaskId


@dataclass(frozen=True)
class StatedSettings:
    """Settings of the application; None if the user has not stated them."""

    acceptable_recovery_lag: int | None = None
    max_warmup_replicas: int | None = None
    num_standby_replicas: int | None = None
    probing_rebalance_interval_ms: int | None = None
    rack_aware_assignment_tags: tuple[str, ...] = ()
    stores: Mapping[int, frozenset[str]] | None = None
    """Number of a subtopology → its stores, from `Topology#describe()`."""

    def make_configs(self, standbys: int) -> AssignmentConfigs:
        """Return configs for a snapshot. `standbys`: standbys of each logged task, used if the user has stated no number."""
        stated = {
            name: getattr(self, name)
            for name in ("acceptable_recovery_lag", "max_warmup_replicas", "probing_rebalance_interval_ms")
            if getattr(self, name) is not None
        }
        number = standbys if self.num_standby_replicas is None else self.num_standby_replicas
        return AssignmentConfigs(
            num_standby_replicas=number, rack_aware_assignment_tags=self.rack_aware_assignment_tags, **stated
        )

    def list_assumed(self) -> tuple[str, ...]:
        """Return `name=value` of each assumed default, with Kafka's names."""
        defaults = AssignmentConfigs()
        names = ("max_warmup_replicas", "acceptable_recovery_lag", "probing_rebalance_interval_ms")
        return tuple(f"{name.replace('_', '.')}={getattr(defaults, name)}" for name in names if getattr(self, name) is None)


_LINE = re.compile(r"Sub-topology:\s*(?P<number>\d+)|\(stores:\s*\[(?P<stores>[^\]]*)\]\)")


def read_stores(text: str, source: str) -> dict[int, frozenset[str]]:
    """Return number of a subtopology → names of its stores. InputError, about `source`, if the text has no subtopology."""
    stores: dict[int, set[str]] = {}
    number: int | None = None
    for found in _LINE.finditer(text):
        if found["number"] is not None:
            number = int(found["number"])
            stores.setdefault(number, set())
        elif number is not None:
            stores[number] |= {name.strip() for name in found["stores"].split(",") if name.strip()}
    if not stores:
        raise InputError(source, "", "no line that begins with Sub-topology:", "what Topology#describe() prints")
    return {number: frozenset(names) for number, names in stores.items()}


NO_REBALANCE = 2**63 - 1
"""Kafka's Long.MAX_VALUE: no rebalance is scheduled."""
_VERSIONS = range(7, 12)
"""The readable versions: earlier ones (Kafka before 2.6) have no offset sums, later ones are unknown."""
_NAMED_SINCE, _UNIQUE_SINCE, _ERROR_SINCE, _TAGS_SINCE = 10, 8, 9, 11
"""The first versions of SubscriptionInfo with topology names, with the unique field, the error code, and client tags."""


class UserDataError(ValueError):
    """Raised for bytes that are not user data of Kafka Streams 2.6 or later."""


@dataclass(frozen=True)
class StreamsSubscription:
    """The user data that a stream thread sends when it joins."""

    version: int
    process_id: str
    host: str | None
    """host:port of `application.server`."""
    offset_sums: Mapping[str, int]
    """Logged task → offsets on this disk, summed over its changelogs; −2 if the thread runs it."""
    tags: Mapping[str, str]


@dataclass(frozen=True)
class StreamsAssignment:
    """The user data that the leader sends to a stream thread."""

    version: int
    active: tuple[str, ...]
    """A task for each partition of the consumer, in the order of (topic, partition)."""
    standby: Mapping[str, frozenset[tuple[str, int]]]
    """Task → its source partitions. Warm-ups are among the standbys."""
    next_rebalance_ms: int
    """Time at which this thread triggers the next rebalance, ms since 1970; 0: at once; `NO_REBALANCE`: never."""


def decode_subscription(data: bytes) -> StreamsSubscription:
    """Decode the user data of a member's subscription. UserDataError if it is not from Kafka Streams 2.6 or later."""
    reader = _Reader(data)
    version = reader.take_version()
    process_id = str(uuid.UUID(bytes=reader.take(16)))
    host = reader.take(reader.take_int()).decode() or None
    sums: dict[str, int] = {}
    for _ in range(reader.take_int()):
        subtopology = reader.take_int()
        if version >= _NAMED_SINCE:
            partition, offsets = reader.take_int(), reader.take_long()
            sums[str(TaskId(reader.take_string() or "", subtopology, partition))] = offsets
        else:
            for _ in range(reader.take_int()):
                partition = reader.take_int()
                sums[str(TaskId("", subtopology, partition))] = reader.take_long()
    if version >= _UNIQUE_SINCE:
        reader.take(1)
    if version >= _ERROR_SINCE:
        reader.take_int()
    tags = {}
    if version >= _TAGS_SINCE:
        for _ in range(reader.take_int()):
            key = reader.take(reader.take_int()).decode()
            tags[key] = reader.take(reader.take_int()).decode()
    return StreamsSubscription(version, process_id, host, sums, tags)


def decode_assignment(data: bytes) -> StreamsAssignment:
    """Decode the user data of a member's assignment. UserDataError if it is not from Kafka Streams 2.6 or later."""
    reader = _Reader(data)
    version = reader.take_version()
    named = version >= _NAMED_SINCE
    active = tuple(reader.take_task(named) for _ in range(reader.take_int()))
    standby = {}
    for _ in range(reader.take_int()):
        task = reader.take_task(named)
        standby[task] = frozenset((reader.take_short_text(), reader.take_int()) for _ in range(reader.take_int()))
    reader.skip_hosts()
    reader.take_int()  # the error code: a group with an error does not rebalance further
    return StreamsAssignment(version, active, standby, reader.take_long())


class _Reader:
    """A reader of big-endian numbers and texts; UserDataError beyond the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = bytes(data), 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise UserDataError(f"{len(self._data)} bytes end at {self._at}, where {length} more are announced")
        taken, self._at = self._data[self._at : end], end
        return taken

    def take_version(self) -> int:
        """Return the version, and skip the sender's latest supported version."""
        version = self.take_int()
        if version not in _VERSIONS:
            known = f"{_VERSIONS.start} to {_VERSIONS.stop - 1}"
            raise UserDataError(f"version {version} of Kafka Streams' protocol; known are {known}, those since Kafka 2.6")
        self.take_int()
        return version

    def take_int(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def take_long(self) -> int:
        return int(struct.unpack(">q", self.take(8))[0])

    def take_string(self) -> str | None:
        """Return text after a 16-bit length; None for length −1."""
        length = struct.unpack(">h", self.take(2))[0]
        return None if length < 0 else self.take(length).decode()

    def take_short_text(self) -> str:
        """Return text as written by DataOutputStream.writeUTF; names of topics and hosts are ASCII: the same in UTF-8."""
        return self.take(struct.unpack(">H", self.take(2))[0]).decode()

    def take_task(self, named: bool) -> str:
        subtopology, partition = self.take_int(), self.take_int()
        name = self.take(2 * self.take_int()).decode("utf-16-be") if named else ""
        return str(TaskId(name, subtopology, partition))

    def skip_hosts(self) -> None:
        """Skip the dictionary of topics, and the active and standby partitions of hosts."""
        for _ in range(self.take_int()):
            self.take_int()
            self.take_short_text()
        for _ in range(2):
            for _ in range(self.take_int()):
                self.take_short_text()
                self.take_int()
                for _ in range(self.take_int()):
                    self.take(8)


TopicPartition = tuple[str, int]
"""(topic, partition)."""


@dataclass(frozen=True)
class Member:
    """A stream thread, with its messages of the last rebalance."""

    client_id: str
    instance_id: str | None
    """`group.instance.id` of a static member."""
    rack: str | None
    owned: frozenset[TopicPartition]
    """Partitions that it owned at the beginning of the rebalance."""
    subscription: StreamsSubscription
    partitions: tuple[TopicPartition, ...]
    """Its assigned partitions, in order; `assignment.active` has the task of each."""
    assignment: StreamsAssignment


@dataclass(frozen=True)
class Topic:
    """The parts of a topic that the user may see."""

    ends: Mapping[int, int]
    """Partition → end offset; empty if not requested."""
    racks: Mapping[int, tuple[str, ...]]
    """Partition → racks of its replicas; an empty tuple if brokers have none."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Partition → bytes of its log on a broker's disk; empty if not requested or not visible."""


@dataclass(frozen=True)
class GroupReading:
    """A group and its topics at one moment."""

    application: str
    taken_at_ms: int
    """Time of the broker's answer, ms since 1970."""
    members: tuple[Member, ...]
    changelogs: Mapping[str, Topic]
    """Topics with names of this application's changelogs."""
    sources: Mapping[str, Topic]
    """Topics that tasks read, without end offsets."""
    remarks: tuple[str, ...] = ()
    """Sentences on unreadable parts and their consequences."""

    def with_remarks(self, remarks: Iterable[str]) -> GroupReading:
        """Return the reading with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


def find_changelog_names(application: str, topics: Iterable[str], other_groups: Iterable[str] = ()) -> list[str]:
    """Return the topics named `<application.id>-<store>-changelog`, sorted.

    `other_groups`: names of all groups. A topic that begins with a longer name belongs to that group: changelogs of `orders-eu`
    begin with `orders-`, too.
    """
    longer = tuple(f"{name}-" for name in other_groups if name.startswith(f"{application}-"))
    return sorted(
        name
        for name in topics
        if name.startswith(f"{application}-") and name.endswith("-changelog") and not (longer and name.startswith(longer))
    )


def measure_growth(before: Mapping[str, Topic], after: Mapping[str, Topic], seconds: float) -> dict[str, float]:
    """Return topic → mean growth of its partitions in offsets per second, between two readings `seconds` apart."""
    grown = {}
    for name, topic in before.items():
        later = after[name].ends if name in after else {}
        written = [max(0, later[partition] - end) for partition, end in topic.ends.items() if partition in later]
        if written and seconds > 0:
            grown[name] = sum(written) / len(written) / seconds
    return grown
