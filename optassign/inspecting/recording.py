"""An inspected rebalance as a recording, with optassign's answer to the same snapshot next to the applied one."""

from __future__ import annotations

import json

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import format_ms, to_ms
from optassign.inspecting.inspected import Inspected
from optassign.recordings.overview import make_overview
from optassign.recordings.recording import Beside, Recording, RecordingHead, encode_recording, summarise

__all__ = ["encode", "make_recording"]

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
