"""Decoding a recording on an executor: from its bytes to snapshot and answer, at any multiple of the recorded size."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime
from typing import Any

from optassign.formats.assignment import TaskAssignment
from optassign.formats.parsing.input_errors import InputError
from optassign.formats.parsing.reading import read_value, to_model
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import Recording
from optassign_benchmarks.spark.recordings.scale import scale_assignment, scale_state

__all__ = ["RECORDED", "decode_recording"]

RECORDED = "recorded"
"""In the place of an assignor's name: the answer is the one that was given at the time."""
_ALLOWED = "a recording: JSON compressed by gzip"
_SOURCE = "recording"


def decode_recording(content: bytes, scale: int = 1) -> tuple[ApplicationState, dict[str, Any], TaskAssignment]:
    """Snapshot, columns about the recording, and the recorded answer. InputError for everything wrong with the content."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(_SOURCE, "", f"that it is cut short, damaged or not compressed ({error})", _ALLOWED) from None
    recording, _ = to_model(read_value(text, _SOURCE), Recording, _SOURCE)
    state, answer = recording.snapshot, recording.assignment
    if {client.process_id for client in state.clients} != set(answer.by_process_id):
        raise InputError(
            _SOURCE, "assignment.clients", "other clients than in the snapshot", "one entry for each of its clients"
        )
    about = {
        "application": recording.application or state.application or "",
        "day": _utc_day(recording.recorded_at),
        "recorded_at": recording.recorded_at,
        "mode": recording.mode,
        "recorded_assignor": recording.assignor,
        "tasks": len(state.tasks) * scale,
        "clients": len(state.clients) * scale,
        "scale": scale,
    }
    return scale_state(state, scale), about, scale_assignment(answer, state, scale)


def _utc_day(recorded_at: str) -> str:
    try:
        at = datetime.fromisoformat(recorded_at)
    except ValueError:
        raise InputError(_SOURCE, "recorded_at", repr(recorded_at), "a time as ISO 8601") from None
    return f"{at if at.tzinfo is None else at.astimezone(UTC):%Y-%m-%d}"
