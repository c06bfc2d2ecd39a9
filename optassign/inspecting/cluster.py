"""A connection to the brokers that only asks: descriptions of groups, topics and end offsets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    GroupAuthorizationFailedError,
    IncompatibleBrokerVersion,
    KafkaError,
    SaslAuthenticationFailedError,
    for_code,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetSpec

from optassign.formats.input_errors import InputError
from optassign.inspecting.reading import Topic
from optassign_models.policy.constants import BOOTSTRAP_MS, NAMED_GROUPS

__all__ = ["ClusterConnection"]


class StreamsGroupDescribeRequest(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg] # kafka-python has no types
    """Asks for groups of `group.protocol=streams` by name (KIP-1071, Kafka 4.1). kafka-python does not know the message:
    the JSON file next to this module has its fields on the wire."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg] # the same
    """Topologies, members, offsets and assignments of groups."""


_SERVER = "--bootstrap-server"
_NOT_FOUND = 69
"""Kafka's GROUP_ID_NOT_FOUND."""
_Result = TypeVar("_Result")


class _Admin(KafkaAdminClient):  # type: ignore[misc] # kafka-python has no types
    """kafka-python's client, with the members' bytes as they came: what it makes of them cannot be undone."""

    def _describe_groups_process_response(self, response: Any) -> dict[str, Any]:
        return {group.group_id: group for group in response.groups}

    async def ask_for_streams_group(self, group: str) -> Any:
        """The description of a group with `group.protocol=streams`. IncompatibleBrokerVersion before Kafka 4.1."""
        request = StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
        (node,) = (await self._find_coordinator_ids([group])).values()
        response = await self._manager.send(request, node_id=node)
        return response.groups[0]

    async def ask_for_racks(self) -> dict[int, str | None]:
        """Broker -> its rack."""
        metadata = await self._get_cluster_metadata([])
        return {broker["node_id"]: broker.get("rack") for broker in metadata["brokers"]}

    def run(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Run one of the questions above."""
        return self._manager.run(question, *arguments)


class ClusterConnection:
    """An open connection; a context manager. InputError, in words of the command line, for everything that fails."""

    def __init__(self, servers: str, settings: Mapping[str, Any]) -> None:
        # kafka-python logs each attempt to connect and what became of it; the error at the end says it once.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._servers = servers
        self._admin: Any = self._ask(
            lambda: _Admin(
                bootstrap_servers=servers.split(","),
                client_id="optassign-inspect",
                bootstrap_timeout_ms=BOOTSTRAP_MS,
                **settings,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._admin.close()

    def describe_classic(self, group: str) -> Any | None:
        """The broker's description of a classic group, members with their bytes; None: there is none."""
        found = self._ask(lambda: self._admin.describe_groups([group])[group])
        if found.error_code not in (0, _NOT_FOUND):
            raise self._explain(for_code(found.error_code)(), group)
        return None if found.error_code == _NOT_FOUND or found.group_state == "Dead" else found

    def describe_streams(self, group: str) -> Any | None:
        """The broker's description of a group of the streams protocol; None: the broker has none."""
        try:
            found = self._ask(lambda: self._admin.run(self._admin.ask_for_streams_group, group), IncompatibleBrokerVersion)
        except IncompatibleBrokerVersion:
            return None
        if found.error_code not in (0, _NOT_FOUND):
            raise self._explain(for_code(found.error_code)(), group)
        return None if found.error_code == _NOT_FOUND or found.group_state == "Dead" else found

    def list_groups(self) -> list[str]:
        """The names of all groups that the user may see, sorted; none where listing them is not allowed."""
        try:
            return sorted({group["group_id"] for group in self._ask(self._admin.list_groups, KafkaError)})
        except KafkaError:
            return []

    def list_topics(self) -> list[str]:
        """The names of all topics that the user may see."""
        return sorted(self._ask(self._admin.list_topics))

    def read_topics(self, names: Iterable[str], *, with_ends: bool) -> tuple[dict[str, Topic], tuple[str, ...]]:
        """Topic -> replicas' racks and, `with_ends`, end offsets; and the topics that the user may not see."""
        wanted = sorted(names)
        if not wanted:
            return {}, ()
        racks = self._ask(lambda: self._admin.run(self._admin.ask_for_racks))
        found: dict[str, Topic] = {}
        for topic in self._ask(lambda: self._admin.describe_topics(wanted)):
            if topic["error_code"]:
                continue
            partitions = {part["partition_index"]: part["replica_nodes"] for part in topic["partitions"]}
            ends = self._read_ends(topic["name"], partitions) if with_ends else {}
            if ends is not None:
                found[topic["name"]] = Topic(ends, {p: _list_racks(nodes, racks) for p, nodes in sorted(partitions.items())})
        return found, tuple(name for name in wanted if name not in found)

    def no_group(self, group: str) -> InputError:
        """The error of a group that there is not."""
        names = self.list_groups()
        shown = ", ".join(names[:NAMED_GROUPS]) + (
            f" and {len(names) - NAMED_GROUPS} more" if len(names) > NAMED_GROUPS else ""
        )
        return InputError(
            "--group", "", f"{group!r}, which is no group here", shown or "the application.id of a running application"
        )

    def _read_ends(self, topic: str, partitions: Iterable[int]) -> dict[int, int] | None:
        """Partition -> end offset, as Kafka Streams asks for it; None: not allowed to see."""
        specs = {KafkaTopicPartition(topic, partition): OffsetSpec.LATEST for partition in partitions}
        try:
            offsets = self._ask(lambda: self._admin.list_partition_offsets(specs), AuthorizationError)
        except AuthorizationError:
            return None
        return {place.partition: found.offset for place, found in sorted(offsets.items())}

    def _ask(self, question: Callable[[], _Result], *expected: type[KafkaError]) -> _Result:
        try:
            return question()
        except expected:
            raise
        except (KafkaError, OSError, ValueError) as error:
            raise self._explain(error) from None

    def _explain(self, error: Exception, group: str = "") -> InputError:
        """Explain the error and its remedy."""
        if isinstance(error, GroupAuthorizationFailedError):
            return InputError(
                "--group", "", f"{group!r}, which you may not describe", "a user with the right DESCRIBE on the group"
            )
        if isinstance(error, SaslAuthenticationFailedError):
            return InputError(
                "--command-config", "", f"that {self._servers} refuses this user ({_describe(error)})", "one it knows"
            )
        if isinstance(error, AuthorizationError):
            return InputError(
                "--command-config", "", f"a user without rights ({_describe(error)})", "DESCRIBE on group and topics"
            )
        allowed = "brokers that answer; secured ones need --command-config FILE with a client.properties"
        return InputError(_SERVER, "", f"{self._servers!r}, which gives no answer ({_describe(error)})", allowed)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _list_racks(nodes: Iterable[int], racks: Mapping[int, str | None]) -> tuple[str, ...]:
    return tuple(sorted({rack for node in nodes if (rack := racks.get(node)) is not None}))
