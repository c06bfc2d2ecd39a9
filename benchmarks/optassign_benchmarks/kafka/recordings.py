"""The service's recordings of real rebalances, checked afterwards."""

from __future__ import annotations

from pathlib import Path

from optassign.judging.validation import validate
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording, replay_recording


def check_recordings(folder: Path, application: str | None = None) -> tuple[int, list[str]]:
    """How many recordings (of an application) there are, and what is wrong with them: a broken rule, an answer that a replay
    does not repeat although no time limit was hit.

    Answers of Kafka's own assignors, applied in shadow mode, need not keep the rules.
    """
    faults: list[str] = []
    files = sorted(find_recordings(folder, application))
    for entry in files:
        recording = read_recording(entry.path)
        ours = recording.service_answer
        answers = [ours, recording.assignment if recording.assignor == "fallback" else None]
        for answer in filter(None, answers):
            faults += [f"{entry.id}: {answer.assignor}: {violation}" for violation in validate(recording.snapshot, answer)]
        if ours is not None and ours.report.termination.limit == "time":
            continue  # what was cut off by the clock need not be cut off there again
        again = replay_recording(recording)
        if (None if again is None else again.without_times()) != (None if ours is None else ours.without_times()):
            faults.append(f"{entry.id}: a replay gives another answer")
    return len(files), faults
