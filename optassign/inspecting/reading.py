"""A broker's view of one classic group: its members' messages of the last rebalance, and the topics around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from optassign.inspecting.user_data import StreamsAssignment, StreamsSubscription

__all__ = ["GroupReading", "Member", "Topic", "TopicPartition", "find_changelog_names", "measure_growth"]

TopicPartition = tuple[str, int]
"""(topic, partition)."""


@dataclass(frozen=True)
class Member:
    """One stream thread: what it sent and got in the last rebalance."""

    client_id: str
    instance_id: str | None
    """`group.instance.id` of a static member."""
    rack: str | None
    owned: frozenset[TopicPartition]
    """Partitions that it owned when the rebalance began."""
    subscription: StreamsSubscription
    partitions: tuple[TopicPartition, ...]
    """Partitions that it was assigned, in order; `assignment.active` has the task of each."""
    assignment: StreamsAssignment


@dataclass(frozen=True)
class Topic:
    """One topic, with the parts that the user may see."""

    ends: Mapping[int, int]
    """Partition -> end offset; empty: not asked for, or not allowed to see."""
    racks: Mapping[int, tuple[str, ...]]
    """Partition -> racks of its replicas; an empty tuple: brokers without racks."""


@dataclass(frozen=True)
class GroupReading:
    """A group and its topics at one moment."""

    application: str
    taken_at_ms: int
    """When the broker answered, ms since 1970."""
    members: tuple[Member, ...]
    changelogs: Mapping[str, Topic]
    """Topics that are called as this application's changelogs are."""
    sources: Mapping[str, Topic]
    """Topics that tasks read; without end offsets."""
    remarks: tuple[str, ...] = ()
    """The parts that could not be read, and the consequences."""

    def with_remarks(self, remarks: Iterable[str]) -> GroupReading:
        """The same reading with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


def find_changelog_names(application: str, topics: Iterable[str], other_groups: Iterable[str] = ()) -> list[str]:
    """The topics that are called `<application.id>-<store>-changelog`, sorted.

    `other_groups`: names of all groups. A topic that begins with a longer one of these belongs to that group: the changelogs of
    `orders-eu` begin with `orders-`, too.
    """
    longer = tuple(f"{name}-" for name in other_groups if name.startswith(f"{application}-"))
    return sorted(
        name
        for name in topics
        if name.startswith(f"{application}-") and name.endswith("-changelog") and not (longer and name.startswith(longer))
    )


def measure_growth(before: Mapping[str, Topic], after: Mapping[str, Topic], seconds: float) -> dict[str, float]:
    """Topic -> offsets per second and partition, in the mean, between two readings `seconds` seconds apart."""
    grown = {}
    for name, topic in before.items():
        later = after[name].ends if name in after else {}
        written = [max(0, later[partition] - end) for partition, end in topic.ends.items() if partition in later]
        if written and seconds > 0:
            grown[name] = sum(written) / len(written) / seconds
    return grown
