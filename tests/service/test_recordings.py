"""Recordings: every rebalance, replayed to the byte; how long they are kept; and a disk that gives out."""

import errno
import gzip
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from serving import Service, eventually, files, serving

from optassign import ApplicationState, TaskAssignment, assign
from optassign.generate import generate
from optassign.reading import read_state
from optassign.recording_files import entries, folder_of, relative_path
from optassign.recordings import RecordingHead, encode, read_recording, read_snapshot, replay, summarise
from optassign.schema import json_schema
from optassign.service.metrics import Metrics
from optassign.service.recorder import Recorder


def state_of(application: str | None, tasks: int = 24) -> ApplicationState:
    return generate("scale-out", tasks, 4, 1, seed=3).model_copy(update={"application": application})


def recorded(recordings: Path, application: str | None, count: int = 1) -> list[Path]:
    """The files of an application, once there are so many."""
    folder = recordings / folder_of(application)
    eventually(lambda: len(files(folder)) >= count)
    return files(folder)


def said(answer: TaskAssignment) -> str:
    return answer.without_times().model_dump_json()


def test_replaying_gives_the_same_answer_to_the_byte(service: Service, recordings: Path) -> None:
    state = state_of("replayed")
    data = json.loads(state.model_dump_json())
    data["clients"][0]["lags"]["9_9"] = 3  # counted in the report of the answer, and of the replay
    data["clients"][0]["mood"] = "good"
    data["x_note"] = [1, 2.5]
    bodies = [json.dumps(data).encode()] * 2
    responses = [service.assign(body) for body in bodies]  # the second with the first one's memory
    responses.append(service.assign(bodies[0], optassign_deadline_ms="1"))  # by greedy
    responses.append(service.assign(bodies[0], optassign_mode="shadow"))
    found = [read_recording(path) for path in recorded(recordings, "replayed", 4)]
    assert len(found) == 4
    by_time = {recording.answered_at: recording for recording in found}
    for response, (mode, assignor, memory) in zip(
        responses,
        [
            ("active", "cp-sat", "none"),
            ("active", "cp-sat", "service"),
            ("active", "greedy", "service"),
            ("shadow", "cp-sat", "none"),
        ],
        strict=True,
    ):
        recording = by_time[int(response.headers["optassign-answered-at"])]
        assert (recording.mode, recording.assignor, recording.memory) == (mode, assignor, memory)
        assert recording.assignment.model_dump_json().encode() == response.content
        assert said(replay(recording)) == said(recording.assignment)
        assert recording.assignment.report.dropped.lags == 1
        assert recording.in_time is (assignor == "cp-sat")
        assert recording.summary == summarise(recording.snapshot, recording.assignment)


def test_the_snapshot_that_comes_out_is_what_was_solved(service: Service, recordings: Path) -> None:
    data = json.loads(state_of("exported").model_dump_json())
    data["clients"][0]["lags"]["9_9"] = 3
    data["x_note"] = [1, 2.5]
    service.assign(json.dumps({**data, "mood": "good"}).encode())
    (path,) = recorded(recordings, "exported")
    assert json.loads(read_snapshot(path)) == data
    assert read_state(read_snapshot(path).encode()).dropped.lags == 1


def test_a_recording_has_its_place_and_its_schema(service: Service, recordings: Path) -> None:
    service.assign(state_of("../../etc/orders"), optassign_plugin="1.2.3")
    (path,) = recorded(recordings, "../../etc/orders")
    assert path.relative_to(recordings).parts[0] == "%2E.%2F..%2Fetc%2Forders"
    recording = read_recording(path)
    assert (recording.application, recording.plugin) == ("../../etc/orders", "1.2.3")
    at = datetime.fromisoformat(recording.recorded_at)
    assert path == recordings / relative_path("../../etc/orders", at, 0)
    content = json.loads(gzip.decompress(path.read_bytes()))
    jsonschema.Draft202012Validator(json_schema("recording")).validate(content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema("recording")).validate({**content, "mode": "test"})


def test_a_rebalance_of_no_application_is_recorded_too(service: Service, recordings: Path) -> None:
    service.assign(state_of(None))
    assert read_recording(recorded(recordings, None)[0]).application is None


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
    assert folder_of(application) == folder


def test_long_names_have_short_folders_of_their_own() -> None:
    names = ["a" * 300, "a" * 301, "ü" * 120, "a" * 120]
    folders = [folder_of(name) for name in names]
    assert len(set(folders)) == 4
    assert all(len(folder) <= 120 for folder in folders)


# The recorder by itself


def item(at: datetime, application: str = "orders", tasks: int = 6) -> tuple[RecordingHead, bytes, bytes]:
    state = state_of(application, tasks)
    answer = assign(state, "greedy")
    time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = RecordingHead(
        format=1, application=application, recorded_at=time, answered_at=1, assignor="greedy", time_limit=1.0,
        summary=summarise(state, answer),
    )  # fmt: skip
    return head, answer.model_dump_json().encode(), state.model_dump_json().encode()


def recorder_of(folder: Path, keep_days: float = 90, keep_bytes: int = 1 << 30) -> Recorder:
    started = Recorder(folder, keep_days, keep_bytes, Metrics("test", 10))
    started.start()
    return started


NOW = datetime.now(UTC).replace(microsecond=123_000)


def test_the_same_rebalance_makes_the_same_file() -> None:
    rebalance = item(NOW)
    assert encode(*rebalance) == encode(*rebalance)
    assert encode(*rebalance)[4:8] == bytes(4)  # where gzip would write the time


def test_two_in_the_same_millisecond_are_both_kept(tmp_path: Path) -> None:
    recorder = recorder_of(tmp_path)
    for _ in range(2):
        recorder.put(*item(NOW))
    recorder.stop(30)
    assert files(tmp_path) == [tmp_path / relative_path("orders", NOW, number) for number in (0, 1)]


def test_the_oldest_go_first_whosever_they_are(tmp_path: Path) -> None:
    times = [NOW - timedelta(hours=hours) for hours in range(6, 0, -1)]
    items = [item(at, application) for at, application in zip(times, ("a", "b") * 3, strict=True)]
    sizes = [len(encode(*each)) for each in items]
    recorder = recorder_of(tmp_path, keep_bytes=sum(sizes[3:]))
    for each in items:
        recorder.put(*each)
    recorder.stop(30)
    assert [entry.at for entry in sorted(entries(tmp_path))] == times[3:]


def test_what_is_too_old_goes_when_the_service_starts_and_other_files_stay(tmp_path: Path) -> None:
    recorder = recorder_of(tmp_path, keep_days=1000)
    for days in (1, 100):
        recorder.put(*item(NOW - timedelta(days=days), f"app-{days}"))
    recorder.stop(30)
    foreign = tmp_path / "app-100" / "notes.txt"
    foreign.write_text("mine", encoding="utf-8")
    recorder_of(tmp_path, keep_days=90).stop(30)
    assert files(tmp_path) == [tmp_path / relative_path("app-1", NOW - timedelta(days=1), 0), foreign]


def test_what_a_crash_left_behind_is_cleared_away(tmp_path: Path) -> None:
    path = tmp_path / relative_path("orders", NOW, 0)
    path.parent.mkdir(parents=True)
    leftover = path.with_name(f".recording-{path.name}")
    leftover.write_bytes(b"half")
    recorder = recorder_of(tmp_path)
    recorder.put(*item(NOW))
    recorder.stop(30)
    assert not leftover.exists()
    assert [read_recording(file).application for file in files(tmp_path)] == ["orders"]


# A disk that gives out


def test_a_full_disk_stops_recording_and_never_assigning(tmp_path: Path) -> None:
    def counted(service: Service, name: str) -> float:
        return service.metric(f"optassign_recordings_{name}_total") or 0

    def more_than(lost: float) -> bool:
        return counted(service, "lost") > lost

    # No file may be larger than this, so what is small can be written and what is large cannot, as on a disk nearly full.
    with serving("--workers", "1", "--recordings", str(tmp_path), limit_files=4000) as service:
        small, large = state_of("small", 6), state_of("large", 600)
        assert service.assign(small).status_code == 200
        eventually(lambda: counted(service, "written") == 1)
        for _ in range(2):
            lost = counted(service, "lost")
            answer = TaskAssignment.model_validate_json(service.assign(large, optassign_mode="shadow").content)
            assert said(answer) == said(assign(large))
            eventually(partial(more_than, lost))
        assert service.metric("optassign_recording") == 0
        assert len(service.events("recording_stopped")) == 1  # once for both
        assert service.wait_for("recording_stopped")["why"] == os.strerror(errno.EFBIG)
        assert service.assign(small).status_code == 200
        eventually(lambda: counted(service, "written") == 2)
        assert service.metric("optassign_recording") == 1
        service.wait_for("recording", 2)
    assert [path.parts[-3] for path in files(tmp_path)] == ["small", "small"]
    assert not list(tmp_path.rglob(".recording-*"))


def test_a_folder_that_goes_away_is_made_again(tmp_path: Path) -> None:
    recorder = recorder_of(tmp_path / "recordings")
    recorder.put(*item(NOW, "a"))
    eventually(lambda: files(tmp_path))
    shutil.rmtree(tmp_path / "recordings" / "a")
    recorder.put(*item(NOW, "b"))
    recorder.stop(30)
    assert [path.parts[-3] for path in files(tmp_path)] == ["b"]


def test_without_recordings_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving("--workers", "1") as service:
        service.assign(state_of("unrecorded"))
        service.wait_for("rebalance")
        assert service.metric("optassign_recording") == 0
    assert list(tmp_path.iterdir()) == []
