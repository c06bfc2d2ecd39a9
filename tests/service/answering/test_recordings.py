"""Tests of recordings: each rebalance has one in its place, which replays to the byte. test_recorder.py tests writing."""

import gzip
import json
from datetime import datetime
from pathlib import Path

import jsonschema
import pytest
from serving import Service, dump_without_times, list_files, make_state, wait_until
from serving_here import ServiceHere, assign_late, run_service_here

from optassign.formats.json_input import read_state
from optassign.recordings.files import make_relative_path, name_folder
from optassign.recordings.recording import read_recorded_snapshot, read_recording, replay_recording, summarise
from optassign.schema import json_schema


def await_recordings(recordings: Path, application: str | None, count: int = 1) -> list[Path]:
    """Return the files of an application, once there are `count` of them."""
    folder = recordings / name_folder(application)
    wait_until(lambda: len(list_files(folder)) >= count)
    return list_files(folder)


def test_replaying_gives_the_same_answer_to_the_byte(here: ServiceHere, held_recordings: Path) -> None:
    service, state = here, make_state("replayed")
    data = json.loads(state.model_dump_json())
    data["clients"][0]["lags"]["9_9"] = 3  # counted in the reports of answer and replay
    data["clients"][0]["mood"] = "good"
    data["x_note"] = [1, 2.5]
    bodies = [json.dumps(data).encode()] * 2
    responses = [service.assign(body) for body in bodies]  # the second has the memory of the first
    responses.append(assign_late(service, bodies[0]))  # greedy's answer, too late
    responses.append(service.assign(bodies[0], optassign_mode="shadow"))
    found = [read_recording(path) for path in await_recordings(held_recordings, "replayed", 4)]
    assert len(found) == 4
    by_time = {recording.answered_at: recording for recording in found}
    for response, (mode, in_time, memory) in zip(
        responses,
        [
            ("active", True, "none"),
            ("active", True, "service"),
            ("active", False, "service"),
            ("shadow", True, "none"),
        ],
        strict=True,
    ):
        recording = by_time[int(response.headers["optassign-answered-at"])]
        assert (recording.mode, recording.in_time, recording.memory) == (mode, in_time, memory)
        assert recording.assignment.model_dump_json().encode() == response.content
        replayed = replay_recording(recording)
        assert replayed is not None
        assert dump_without_times(replayed) == dump_without_times(recording.assignment)
        assert recording.assignment.report.dropped.lags == 1
        assert bool(recording.summary.why_greedy) is not in_time
        assert recording.summary == summarise(recording.snapshot, recording.assignment)


def test_the_recorded_snapshot_is_the_solved_one(service: Service, recordings: Path) -> None:
    data = json.loads(make_state("exported").model_dump_json())
    data["clients"][0]["lags"]["9_9"] = 3
    data["x_note"] = [1, 2.5]
    service.assign(json.dumps({**data, "mood": "good"}).encode())
    (path,) = await_recordings(recordings, "exported")
    assert json.loads(read_recorded_snapshot(path)) == data
    assert read_state(read_recorded_snapshot(path).encode()).dropped.lags == 1


def test_a_recording_has_its_place_and_its_schema(service: Service, recordings: Path) -> None:
    service.assign(make_state("../../etc/orders"), optassign_plugin="1.2.3")
    (path,) = await_recordings(recordings, "../../etc/orders")
    assert path.relative_to(recordings).parts[0] == "%2E.%2F..%2Fetc%2Forders"
    recording = read_recording(path)
    assert (recording.application, recording.plugin) == ("../../etc/orders", "1.2.3")
    at = datetime.fromisoformat(recording.recorded_at)
    assert path == recordings / make_relative_path("../../etc/orders", at, 0)
    content = json.loads(gzip.decompress(path.read_bytes()))
    jsonschema.Draft202012Validator(json_schema("recording")).validate(content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema("recording")).validate({**content, "mode": "test"})


def test_a_rebalance_without_an_application_is_recorded(service: Service, recordings: Path) -> None:
    service.assign(make_state(None))
    assert read_recording(await_recordings(recordings, None)[0]).application is None


@pytest.mark.parametrize(
    ("application", "folder"),
    [
        ("orders", "orders"),
        ("orders.v2_a-b", "orders.v2_a-b"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("a/b", "a%2Fb"),
        ("a\\b", "a%5Cb"),
        ("nul\0", "nul%00"),
        ("=none", "%3Dnone"),
        ("a~b", "a%7Eb"),
        ("ü", "%C3%BC"),
        ("a b", "a%20b"),
        ("", "%"),
        (None, "=none"),
    ],
)
def test_folders_of_applications(application: str | None, folder: str) -> None:
    assert name_folder(application) == folder


def test_long_names_have_different_short_folders() -> None:
    names = ["a" * 300, "a" * 301, "ü" * 120, "a" * 120]
    folders = [name_folder(name) for name in names]
    assert len(set(folders)) == 4
    assert all(len(folder) <= 120 for folder in folders)


def test_without_recordings_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with run_service_here("--workers", "1") as service:
        service.assign(make_state("unrecorded"))
        service.wait_for("rebalance")
        assert service.read_metric("optassign_recording") == 0
    assert list(tmp_path.iterdir()) == []
