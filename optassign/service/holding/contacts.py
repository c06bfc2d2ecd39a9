"""When an application was last heard of, and what it rebalances for next."""

from dataclasses import dataclass
from typing import Any

from optassign.formats.base import parse_time
from optassign.measuring.outlook import AWAITED, Awaited
from optassign.recordings.recording import RecordingHead
from optassign.service.clock import format_utc

__all__ = ["NO_CONTACT", "Contact", "make_contact"]

NO_CONTACT: dict[str, Any] = {"last_rebalance": None, "next_rebalance": None, "waits_for": ""}
"""GET shows this before the first known rebalance."""


@dataclass(frozen=True)
class Contact:
    """The last rebalance of an application in active mode."""

    at: float
    """Seconds since 1970."""
    followup_ms: int | None
    awaited: Awaited | None

    def describe(self) -> dict[str, Any]:
        """Describe the next rebalance, as GET shows it."""
        due = None if self.followup_ms is None else format_utc(self.at + min(self.followup_ms / 1000, 1e10))
        return {
            "last_rebalance": format_utc(self.at),
            "next_rebalance": due,
            "waits_for": "" if self.awaited is None else AWAITED[self.awaited],
        }


def make_contact(head: RecordingHead) -> Contact:
    """From a rebalance that was answered, or recorded."""
    return Contact(parse_time(head.recorded_at).timestamp(), head.summary.followup_ms, head.summary.awaited)
