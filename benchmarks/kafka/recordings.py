"""The service's recordings of real rebalances, checked afterwards."""

from __future__ import annotations

from pathlib import Path

from optassign.judging.validation import validate
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording, replay_recording


def check_recordings(folder: Path) -> tuple[int, list[str]]:
    """How many recordings there are, and what is wrong with them: a broken rule, an answer that a replay does not repeat."""
    faults: list[str] = []
    files = sorted(find_recordings(folder))
    for entry in files:
        recording = read_recording(entry.path)
        faults += [f"{entry.id}: {violation}" for violation in validate(recording.snapshot, recording.assignment)]
        if replay_recording(recording).without_times() != recording.assignment.without_times():
            faults.append(f"{entry.id}: a replay gives another answer")
    return len(files), faults
