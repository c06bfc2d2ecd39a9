"""Tests that many recordings are listed without reading all of them."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pages import write_recording
from serving import make_state

from optassign.service.views import applications
from optassign.service.views.index import RecordingIndex


def fill(folder: Path, days: int, of_each: int) -> list[str]:
    """Write recordings of one application; return their ids, newest first."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    content = write_recording(folder, make_state("many"), begin - timedelta(days=1)).read_bytes()
    ids = ["many/2026-02-28/000000.000-0"]
    for day in range(days):
        for number in range(of_each):
            at = begin + timedelta(days=day, minutes=number)
            path = folder / "many" / f"{at:%Y-%m-%d}" / f"{at:%H%M%S}.000-0.json.gz"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            ids.append(f"many/{at:%Y-%m-%d}/{at:%H%M%S}.000-0")
    return ids[::-1]


def test_newest_first_and_pages(tmp_path: Path) -> None:
    ids = fill(tmp_path, 4, 30)
    index = RecordingIndex(tmp_path)
    assert [entry.id for entry in index.list_entries("many")] == ids
    before = ids[40].partition("/")[2]
    assert [entry.id for entry in index.list_entries("many", before=before)] == ids[41:]
    for place in (40, 29, 30, 0, len(ids) - 1):
        entry = index.find_entry("many", *ids[place].split("/")[1:])
        assert entry is not None
        found = [None if other is None else other.id for other in index.find_neighbours(entry)]
        assert found == [ids[place + 1] if place + 1 < len(ids) else None, ids[place - 1] if place else None]


def test_a_page_of_old_recordings_reads_no_folder_of_newer_days(tmp_path: Path) -> None:
    ids = fill(tmp_path, 4, 30)
    index = RecordingIndex(tmp_path)
    before = ids[100].partition("/")[2]
    shutil.rmtree(tmp_path / "many" / "2026-03-04")
    (tmp_path / "many" / "2026-03-04").write_text("would be an error if it were listed", encoding="ascii")
    assert [entry.id for entry in index.list_entries("many", before=before, everywhere=True)] == ids[101:]
    assert set(index._days["many"]) == {"2026-02-28", "2026-03-01"}


def test_only_listed_recordings_are_read(tmp_path: Path) -> None:
    """The first page reads fifty recordings, however many there are."""
    fill(tmp_path, 2, 100)
    for path in sorted(tmp_path.rglob("*.gz"))[:100]:
        path.write_bytes(b"would be refused if it were read")
    index = RecordingIndex(tmp_path)
    assert len(index.read_heads(index.list_entries("many"), 50)) == 50


def test_later_recordings_are_listed(tmp_path: Path) -> None:
    fill(tmp_path, 4, 2)
    index = RecordingIndex(tmp_path)
    assert len(list(index.list_entries("many"))) == 9
    late = tmp_path / "many" / "2026-03-01" / "235959.000-0.json.gz"
    late.write_bytes(b"")
    assert len(list(index.list_entries("many", everywhere=True))) == 10
    new = tmp_path / "many" / "2026-03-05" / "000000.000-0.json.gz"
    new.parent.mkdir()
    new.write_bytes(b"")
    assert next(index.list_entries("many")).id == "many/2026-03-05/000000.000-0"


def test_the_application_of_that_name_is_listed_before_newer_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    for days, name in enumerate(("many", "many-1", "many-2", "other")):
        write_recording(tmp_path, make_state(name), begin + timedelta(days=days))
    monkeypatch.setattr(applications, "_LISTED_APPLICATIONS", 2)
    now = (begin + timedelta(days=9)).timestamp()

    def find(text: str) -> tuple[set[str | None], int]:
        view = applications.view_applications(RecordingIndex(tmp_path), now, None, {}, find=text)
        return {row.application for row in view.applications}, view.more

    assert find("") == ({"other", "many-2"}, 2)
    assert find("many") == ({"many", "many-2"}, 2)
