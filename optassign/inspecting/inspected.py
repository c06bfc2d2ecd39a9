"""One inspected rebalance: what the assignor knew, as a snapshot, and what it answered; also as a recording."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import format_ms, to_ms
from optassign.formats.state import ApplicationState
from optassign.recordings.overview import make_overview
from optassign.recordings.recording import Beside, Recording, RecordingHead, encode_recording, summarise

__all__ = ["UNKNOWN_ASSIGNOR", "Inspected", "Protocol", "encode", "make_recording"]

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


_OPTASSIGN = "cp-sat"


def make_recording(inspected: Inspected, time_limit: float) -> Recording:
    """The rebalance as the plug-in in shadow mode has it recorded. `time_limit`: seconds of solving for optassign's answer."""
    state, applied = inspected.snapshot, inspected.applied
    own = assign(state, _OPTASSIGN, time_limit)
    at = state.taken_at or format_ms(0)
    beside = Beside(assignor=_OPTASSIGN, time_limit=time_limit, after_the_fact=True, summary=summarise(state, own))
    return Recording(
        format=1,
        application=state.application,
        recorded_at=at,
        answered_at=to_ms(at),
        mode="shadow",
        assignor=applied.assignor,
        time_limit=0.0,
        reported=True,
        beside=beside,
        summary=summarise(state, applied),
        overview=make_overview(state, applied),
        assignment=applied,
        beside_assignment=own,
        snapshot=state,
    )


def encode(recording: Recording) -> bytes:
    """The content of a file that every command reads."""
    head = RecordingHead.model_validate({name: getattr(recording, name) for name in RecordingHead.model_fields})
    return encode_recording(
        head,
        _to_json(recording.assignment),
        recording.snapshot.model_dump_json().encode(),
        _to_json(recording.beside_assignment),
    )


def _to_json(answer: TaskAssignment | None) -> bytes:
    return b"null" if answer is None else json.dumps(answer.model_dump(mode="json"), ensure_ascii=False).encode()
