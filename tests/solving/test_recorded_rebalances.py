"""Tests that rebalances of a real cluster, recorded in tests/kafka, replay to the byte and keep the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign.judging.validation import validate
from optassign.recordings.recording import read_recording, replay_recording

RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "recordings").glob("*.json.gz"))


def test_recordings_exist() -> None:
    assert RECORDINGS


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_a_replay_gives_the_same_answer_to_the_byte(path: Path) -> None:
    recording = read_recording(path)
    replayed = replay_recording(recording)
    assert replayed is not None
    assert replayed.without_times().model_dump_json() == recording.assignment.without_times().model_dump_json()


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_the_answer_keeps_the_rules(path: Path) -> None:
    recording = read_recording(path)
    assert validate(recording.snapshot, recording.assignment) == []
