"""One inspected rebalance: what the assignor knew, as a snapshot, and what it answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState

__all__ = ["UNKNOWN_ASSIGNOR", "Inspected", "Protocol"]

Protocol = Literal["classic", "streams"]
"""`group.protocol`."""
UNKNOWN_ASSIGNOR = "unknown"
"""The assignor of an answer that none of Kafka's assignors gives to the snapshot."""


@dataclass(frozen=True)
class Inspected:
    """The last rebalance of a group."""

    protocol: Protocol
    snapshot: ApplicationState
    applied: TaskAssignment
    """`assignor` says whose answer it is, if one of Kafka's assignors gives the same one to the snapshot."""
    static_members: int
    """Stream threads with a `group.instance.id`."""
    handed_over: tuple[str, ...]
    """Tasks that no instance owned when the rebalance began though it is not the group's first one: an earlier pass took
    them from their owners."""
    growth: dict[str, float]
    """Logged task -> offsets per second that its changelogs grow, where two readings were made."""
    remarks: tuple[str, ...]
    """Assumptions and unreadable parts, each in a sentence."""
