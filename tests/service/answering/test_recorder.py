"""Tests of the recorder: the retention of recordings, foreign files in its folder, and disk errors."""

import errno
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from serving import MOST_SECONDS, Service, list_files, make_state, run_service, wait_until

from optassign import TaskAssignment, assign
from optassign.cli import main
from optassign.recordings import files as recording_files
from optassign.recordings.files import (
    find_newest_answers,
    find_recordings,
    make_relative_path,
    measure_file,
    read_recording_head,
)
from optassign.recordings.recording import RecordingHead, encode_recording, read_recording, summarise
from optassign.service.metrics import Metrics
from optassign.service.recorder import Recorder


def make_item(at: datetime, application: str = "orders", tasks: int = 6) -> tuple[RecordingHead, bytes, bytes]:
    state = make_state(application, tasks)
    answer = assign(state, "greedy")
    time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = RecordingHead(
        format=1, application=application, recorded_at=time, answered_at=1, assignor="greedy", time_limit=1.0,
        summary=summarise(state, answer),
    )  # fmt: skip
    return head, answer.model_dump_json().encode(), state.model_dump_json().encode()


def start_recorder(folder: Path, keep_days: float = 90, keep_bytes: int = 1 << 30, metrics: Metrics | None = None) -> Recorder:
    started = Recorder(folder, keep_days, keep_bytes, metrics or Metrics("test", 10))
    started.start()
    return started


def write_recordings(folder: Path, *items: tuple[RecordingHead, bytes, bytes]) -> None:
    """Write recordings of any age."""
    recorder = start_recorder(folder, keep_days=1000)
    for each in items:
        recorder.put(*each)
    recorder.stop(MOST_SECONDS)


def find_events(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, object]]:
    return [vars(line)["fields"] for line in list(caplog.records) if line.name == "optassign.service" and line.msg == name]


NOW = datetime.now(UTC).replace(microsecond=123_000)


def test_the_same_rebalance_makes_the_same_file() -> None:
    rebalance = make_item(NOW)
    assert encode_recording(*rebalance) == encode_recording(*rebalance)
    assert encode_recording(*rebalance)[4:8] == bytes(4)  # the place of gzip's time


def test_two_recordings_in_one_millisecond_are_both_kept(tmp_path: Path) -> None:
    recorder = start_recorder(tmp_path)
    for _ in range(2):
        recorder.put(*make_item(NOW))
    recorder.stop(MOST_SECONDS)
    assert list_files(tmp_path) == [tmp_path / make_relative_path("orders", NOW, number) for number in (0, 1)]


def measure_item(folder: Path, item: Any) -> int:
    """Return the bytes of the item's recording on the disk, in whole blocks."""
    path = folder / "measured"
    path.write_bytes(encode_recording(*item))
    try:
        return measure_file(path)
    finally:
        path.unlink()


def test_recordings_are_deleted_once_both_clocks_have_passed_their_days(tmp_path: Path) -> None:
    """A clock that is years ahead for a while deletes nothing; a clock that has long been right goes on deleting."""
    write_recordings(tmp_path, *(make_item(NOW - timedelta(days=days), f"app-{days}") for days in (1, 30)))
    last_believed = NOW - timedelta(days=4000)
    (tmp_path / ".clock").write_text(last_believed.isoformat(), encoding="ascii")
    start_recorder(tmp_path, keep_days=7).stop(MOST_SECONDS)
    assert len(list_files(tmp_path)) == 2
    believed = datetime.fromisoformat((tmp_path / ".clock").read_text().strip())
    assert last_believed <= believed < last_believed + timedelta(days=1)
    (tmp_path / ".clock").write_text(NOW.isoformat(), encoding="ascii")
    start_recorder(tmp_path, keep_days=7).stop(MOST_SECONDS)
    assert list_files(tmp_path) == [tmp_path / make_relative_path("app-1", NOW - timedelta(days=1), 0)]


def test_a_rebalance_without_room_in_the_queue_is_not_called_recorded(tmp_path: Path) -> None:
    metrics = Metrics("test", 10)
    recorder = Recorder(tmp_path, 1000, 1 << 30, metrics)  # its thread is not started, as if the disk hung
    item = make_item(NOW)
    taken = [recorder.put(*item) for _ in range(100)]
    assert taken == sorted(taken, reverse=True)
    assert (taken[0], taken[-1]) == (True, False)
    assert read_metric(metrics, "lost_total") == taken.count(False)


def test_memory_does_not_grow_with_recordings(tmp_path: Path) -> None:
    """The recorder keeps a few numbers per day, however many recordings the day has."""
    folder = tmp_path / "orders" / f"{NOW:%Y-%m-%d}"
    folder.mkdir(parents=True)
    kept = []
    for number in (10, 2000):
        for each in range(number):
            (folder / f"000000.000-{each}.json.gz").touch()
        recorder = Recorder(tmp_path, 1000, 1 << 40, Metrics("test", 10))
        recorder.start()
        recorder.stop(MOST_SECONDS)
        kept.append(len(pickle.dumps({name: each for name, each in vars(recorder).items() if name in ("_days", "_oldest")})))
        assert recorder._days == {f"{NOW:%Y-%m-%d}": (number, 0)}
    assert kept[1] < 2 * kept[0] + 1000


def test_the_oldest_recordings_of_all_applications_go_first(tmp_path: Path) -> None:
    times = [NOW - timedelta(hours=hours) for hours in range(6, 0, -1)]
    items = [make_item(at, application) for at, application in zip(times, ("a", "b") * 3, strict=True)]
    recorder = start_recorder(tmp_path, keep_bytes=3 * measure_item(tmp_path, items[0]))
    for each in items:
        recorder.put(*each)
    recorder.stop(MOST_SECONDS)
    assert [entry.at for entry in sorted(find_recordings(tmp_path))] == times[3:]


def test_old_recordings_go_at_the_start_and_other_files_stay(tmp_path: Path) -> None:
    write_recordings(tmp_path, *(make_item(NOW - timedelta(days=days), f"app-{days}") for days in (1, 100)))
    foreign = tmp_path / "app-100" / "notes.txt"
    foreign.write_text("mine", encoding="utf-8")
    start_recorder(tmp_path, keep_days=90).stop(MOST_SECONDS)
    assert list_files(tmp_path) == [tmp_path / make_relative_path("app-1", NOW - timedelta(days=1), 0), foreign]


def test_many_old_recordings_do_not_delay_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder deletes a few at a time until all old recordings are gone."""
    write_recordings(tmp_path, *(make_item(NOW - timedelta(days=100, hours=hours)) for hours in range(9)))
    monkeypatch.setattr("optassign.service.recorder._DELETED_AT_ONCE", 2)
    recorder = start_recorder(tmp_path)
    recorder.put(*make_item(NOW))
    wait_until(lambda: list_files(tmp_path) == [tmp_path / make_relative_path("orders", NOW, 0)])
    recorder.stop(MOST_SECONDS)
    assert recorder._days == {f"{NOW:%Y-%m-%d}": (1, recorder._bytes)}


def test_a_head_is_read_whatever_its_length(tmp_path: Path) -> None:
    """The reader inflates the first block of the file, and more of it for a longer head."""
    for length in (0, 3_000, 5_000):
        head, answer, state = make_item(NOW, "orders")
        head = head.model_copy(update={"why": "".join(hex(hash((length, place))) for place in range(length // 16))})
        path = tmp_path / f"{length}.json.gz"
        path.write_bytes(encode_recording(head, answer, state))
        assert read_recording_head(path) == head


def test_any_number_of_days_may_be_configured(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The number exceeds the days since the year 1."""
    items = [make_item(NOW - timedelta(hours=hours)) for hours in (2, 1)]
    recorder = start_recorder(tmp_path, keep_days=1e6, keep_bytes=measure_item(tmp_path, items[1]))
    for each in items:
        recorder.put(*each)
    recorder.stop(MOST_SECONDS)
    assert [entry.at for entry in find_recordings(tmp_path)] == [NOW - timedelta(hours=1)]
    assert not find_events(caplog, "recording_failed")


def test_an_error_in_one_rebalance_does_not_end_recording(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics("test", 10)
    recorder = start_recorder(tmp_path, metrics=metrics)
    head, answer, _ = make_item(NOW)
    recorder.put(head, answer, None)  # type: ignore[arg-type]
    recorder.put(*make_item(NOW))
    recorder.stop(MOST_SECONDS)
    assert len(find_events(caplog, "recording_failed")) == 1
    assert list_files(tmp_path) == [tmp_path / make_relative_path("orders", NOW, 0)]
    assert (read_metric(metrics, "lost_total"), read_metric(metrics, "written_total")) == (1, 1)


def read_metric(metrics: Metrics, name: str) -> float:
    found = re.search(rf"^optassign_recordings_{name} (\S+)$", metrics.render().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_leftovers_of_a_crash_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / make_relative_path("orders", NOW, 0)
    path.parent.mkdir(parents=True)
    leftover = path.with_name(f".recording-{path.name}")
    leftover.write_bytes(b"half")
    recorder = start_recorder(tmp_path)
    recorder.put(*make_item(NOW))
    recorder.stop(MOST_SECONDS)
    assert not leftover.exists()
    assert [read_recording(file).application for file in list_files(tmp_path)] == ["orders"]


def test_the_last_answer_is_searched_among_the_newest_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that has long been in shadow mode must not read all its recordings at its start."""
    shadows = [make_item(NOW - timedelta(hours=hours)) for hours in range(3)]
    in_shadow = [
        (head.model_copy(update={"mode": "shadow", "reported": True}), answer, state) for head, answer, state in shadows
    ]
    write_recordings(tmp_path, make_item(NOW - timedelta(hours=3)), *in_shadow)
    monkeypatch.setattr(recording_files, "READ_RECORDINGS", 4)
    assert [found.mode for found in find_newest_answers(tmp_path, 10)] == ["shadow", "active"]
    monkeypatch.setattr(recording_files, "READ_RECORDINGS", 3)
    assert [found.mode for found in find_newest_answers(tmp_path, 10)] == ["shadow"]


# Files that cannot be read or deleted


def make_unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder unreadable, as its mode would for users other than root."""

    def refuse(real: Callable[[Any], Any], path: Any = ".") -> Any:
        if str(path) == str(folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return real(path)

    monkeypatch.setattr(os, "listdir", partial(refuse, os.listdir))
    monkeypatch.setattr(os, "scandir", partial(refuse, os.scandir))


def test_unreadable_files_hide_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recordings(tmp_path, make_item(NOW - timedelta(days=200), "old"), make_item(NOW, "new"))
    (tmp_path / "lost+found").mkdir()
    make_unreadable(tmp_path / "lost+found", monkeypatch)
    for path in (tmp_path / "loop", tmp_path / "new" / "2026-01-01", tmp_path / make_relative_path("new", NOW, 7)):
        path.symlink_to(path.name)  # not a file, not a folder, and no error of permission
    assert {found.application for found in find_newest_answers(tmp_path, 10)} == {"old", "new"}  # the memory after a restart
    assert f"{tmp_path / 'lost+found'}, which cannot be read ({os.strerror(errno.EACCES)})" in caplog.text
    assert main(["record", "ls", "--recordings", str(tmp_path), "--json"]) == 0
    assert [row["application"] for row in json.loads(capsys.readouterr().out)] == ["old", "new"]
    start_recorder(tmp_path, keep_days=90).stop(MOST_SECONDS)
    assert [entry.folder for entry in find_recordings(tmp_path)] == ["new"]


def test_undeletable_files_keep_no_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_recordings(tmp_path, *(make_item(NOW - timedelta(days=days)) for days in (202, 201)))
    kept = [tmp_path / make_relative_path("orders", NOW - timedelta(days=days), 0) for days in (204, 203)]
    for path in kept:
        path.mkdir(parents=True)  # even root cannot unlink a folder
    leftover = kept[0].with_name(f".recording-{kept[0].name}")
    leftover.mkdir()
    metrics = Metrics("test", 10)
    recorder = start_recorder(tmp_path, metrics=metrics)
    recorder.put(*make_item(NOW))
    recorder.stop(MOST_SECONDS)
    new = tmp_path / make_relative_path("orders", NOW, 0)
    assert sorted(entry.path for entry in find_recordings(tmp_path)) == [*kept, new]
    assert leftover.exists()
    (line,) = find_events(caplog, "recording_kept")  # logged once, though checked after each rebalance
    assert (line["path"], line["others"]) == (str(kept[0]), 1)
    assert read_metric(metrics, "bytes") == measure_file(new)
    assert not find_events(caplog, "recording_stopped")


def test_recording_stops_where_files_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_recordings(tmp_path, make_item(NOW - timedelta(days=200)))
    metrics = Metrics("test", 10)
    with monkeypatch.context() as unreadable:
        make_unreadable(tmp_path, unreadable)
        recorder = start_recorder(tmp_path, metrics=metrics)
        for _ in range(2):
            recorder.put(*make_item(NOW))
        wait_until(lambda: read_metric(metrics, "lost_total") == 2)
    recorder.put(*make_item(NOW))
    recorder.stop(MOST_SECONDS)
    assert [entry.at for entry in find_recordings(tmp_path)] == [NOW]
    assert [line["why"] for line in find_events(caplog, "recording_stopped")] == [os.strerror(errno.EACCES)]


# Disk errors


def test_a_full_disk_stops_recording_and_never_assigning(tmp_path: Path) -> None:
    def count(service: Service, name: str) -> float:
        return service.read_metric(f"optassign_recordings_{name}_total") or 0

    def has_lost_more_than(lost: float) -> bool:
        return count(service, "lost") > lost

    # No file may be larger than this, so small recordings are written and large ones are not, as on a disk nearly full.
    with run_service("--workers", "1", "--recordings", str(tmp_path), limit_files=4000) as service:
        small, large = make_state("small", 6), make_state("large", 600)
        assert service.assign(small).status_code == 200
        wait_until(lambda: count(service, "written") == 1)
        for _ in range(2):
            lost = count(service, "lost")
            answer = TaskAssignment.model_validate_json(service.assign(large, optassign_mode="shadow").content)
            assert answer.without_times() == assign(large).without_times()
            wait_until(partial(has_lost_more_than, lost))
        assert service.read_metric("optassign_recording") == 0
        assert len(service.list_events("recording_stopped")) == 1  # once for both
        assert service.wait_for("recording_stopped")["why"] == os.strerror(errno.EFBIG)
        assert service.assign(small).status_code == 200
        wait_until(lambda: count(service, "written") == 2)
        assert service.read_metric("optassign_recording") == 1
        service.wait_for("recording", 2)
    assert [path.parts[-3] for path in list_files(tmp_path)] == ["small", "small"]
    assert not list(tmp_path.rglob(".recording-*"))


def test_a_folder_that_goes_away_is_made_again(tmp_path: Path) -> None:
    recorder = start_recorder(tmp_path / "recordings")
    recorder.put(*make_item(NOW, "a"))
    wait_until(lambda: list_files(tmp_path))
    shutil.rmtree(tmp_path / "recordings" / "a")
    recorder.put(*make_item(NOW, "b"))
    recorder.stop(MOST_SECONDS)
    assert [path.parts[-3] for path in list_files(tmp_path)] == ["b"]
