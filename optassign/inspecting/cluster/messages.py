"""The request that describes a group of `group.protocol=streams` (KIP-1071, Kafka 4.1), which kafka-python does not know.

The two JSON files next to this module are the fields on the wire, in the form in which kafka-python takes them.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from optassign.inspecting.cluster import schemas

__all__ = ["StreamsGroupDescribeRequest", "StreamsGroupDescribeResponse"]


class StreamsGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg] # kafka-python has no types
    """Asks for groups by name."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg] # the same
    """Topologies, members, offsets and assignments of groups."""
