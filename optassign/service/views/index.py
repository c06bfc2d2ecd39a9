"""An index of recordings by application, the newest first; heads and whole recordings are read on demand."""

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from optassign.formats.base import parse_time
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_members
from optassign.recordings.files import SUFFIX, name_folder, read_recording_head
from optassign.recordings.recording import Recording, RecordingHead, read_recording
from optassign.service.newest import Newest

__all__ = ["Entry", "RecordingIndex"]

_KEPT_HEADS = 13_000
"""Heads kept in memory, enough for a first page of 256 applications: it reads 50 heads of each, an application's page 200."""
_KEPT_WAITING = 2_000  # recordings whose waiting copies are kept in memory: memory is limited
_KEPT_DERIVED = 32  # derived views that are kept in memory
_KEPT_WHOLE = 2  # whole recordings that are kept in memory
_NEWEST_DAYS = 2  # newest days of an application that are checked at each query: new recordings belong to these

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = re.compile(r"(\d{6}\.\d{3})-(\d+)\.json\.gz")

_T = TypeVar("_T")
Copy = tuple[str, str, str]
"""Task, process id and role of a copy."""


@dataclass(frozen=True)
class Entry:
    """The location of one recording."""

    folder: str
    day: str
    time: str
    """Time and number: `HHMMSS.mmm-n`."""
    path: Path

    @property
    def id(self) -> str:
        """Return the name of the recording in addresses and on the command line."""
        return f"{self.folder}/{self.day}/{self.time}"


class RecordingIndex:
    """An index of a folder of recordings; not thread-safe. Queries are fast for any number of recordings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._days: dict[str, dict[str, tuple[int, list[Entry]]]] = {}
        """Folder of an application → day → time of the day's last change, and its recordings, the newest first."""
        self._heads = Newest[tuple[Path, int], RecordingHead | None](_KEPT_HEADS)
        self._waiting = Newest[tuple[Path, int], frozenset[Copy]](_KEPT_WAITING)
        self._derived = Newest[tuple[str, str], tuple[tuple[str, int], Any]](_KEPT_DERIVED)
        self._whole = Newest[tuple[Path, int], Recording](_KEPT_WHOLE)

    def list_folders(self) -> list[str]:
        """Return the names of all applications' folders, sorted."""
        return sorted(name for name in _list_names(self._folder) if not name.startswith("."))

    def find_last_day(self, folder: str) -> int:
        """Return when the last day of an application began, nanoseconds since 1970; 0 if unknown."""
        try:
            return os.stat(self._folder / folder).st_mtime_ns
        except OSError:
            return 0

    def find_folder(self, application: str) -> str | None:
        """Return the folder of an application, given its name or the folder's; None if there is none."""
        known = set(self.list_folders())
        return next((name for name in (application, name_folder(application)) if name in known), None)

    def list_entries(self, folder: str, *, before: str = "", everywhere: bool = False) -> Iterator[Entry]:
        """Yield the recordings of an application, the newest first. `before`: only recordings before this `day/time`.

        `everywhere`: whether all days are checked for new recordings, rather than the newest two.
        """
        for number, day in enumerate(self._list_days(folder)):
            if before and day > before.partition("/")[0]:
                continue
            for entry in self._list_day(folder, day, is_fresh=everywhere or number < _NEWEST_DAYS):
                if not before or f"{entry.day}/{entry.time}" < before:
                    yield entry

    def find_entry(self, folder: str, day: str, time: str) -> Entry | None:
        """Return the entry of a recording, or None if there is no such file."""
        if folder not in self.list_folders() or not _DAY.fullmatch(day) or not _FILE.fullmatch(time + SUFFIX):
            return None
        path = self._folder / folder / day / (time + SUFFIX)
        return Entry(folder, day, time, path) if path.is_file() else None

    def find_neighbours(self, entry: Entry) -> tuple[Entry | None, Entry | None]:
        """Return the entries before and after a recording; None for an entry that does not exist."""
        before = next(self.list_entries(entry.folder, before=f"{entry.day}/{entry.time}", everywhere=True), None)
        days = (day for day in reversed(self._list_days(entry.folder)) if day >= entry.day)
        others = (other for day in days for other in reversed(self._list_day(entry.folder, day)))
        return before, next((other for other in others if (other.day, other.time) > (entry.day, entry.time)), None)

    def read_head(self, entry: Entry) -> RecordingHead | None:
        """Return the head of a recording, or None if it is unreadable."""

        def read() -> RecordingHead | None:
            try:
                head = read_recording_head(entry.path)
                parse_time(head.recorded_at)
            except (InputError, ValueError):
                return None
            return head

        return _keep(self._heads, entry.path, read)

    def read_heads(self, entries: Iterator[Entry], most: int) -> list[tuple[Entry, RecordingHead]]:
        """Take entries up to the `most`th readable recording, and return the heads of the readable ones."""
        heads = ((entry, self.read_head(entry)) for entry in entries)
        return list(islice(((entry, head) for entry, head in heads if head is not None), most))

    def read(self, entry: Entry) -> Recording:
        """Return a whole recording. InputError if it is unreadable."""
        return _keep(self._whole, entry.path, lambda: read_recording(entry.path, unknown="ignore"))

    def read_waiting(self, entry: Entry) -> frozenset[Copy]:
        """Return the copies that the follow-up waited for; empty if the recording is unreadable."""
        return _keep(self._waiting, entry.path, lambda: _read_waiting(entry.path))

    def read_owners(self, entry: Entry, task: str) -> tuple[str, ...]:
        """Return the clients to which the answer gives the active task; empty for an unknown task or an unreadable
        recording."""
        clients = _read_answer(entry.path).get("clients", ())
        return tuple(client["process_id"] for client in clients if task in client.get("active", ()))

    def derive(self, entry: Entry, what: str, make: Callable[[], _T]) -> _T:
        """Return a value derived from a recording. Of each application and kind of value (`what`), the last value is cached
        until its file changes."""
        try:
            key = (entry.id, entry.path.stat().st_mtime_ns)
        except OSError:
            return make()
        known = self._derived.get((entry.folder, what))
        if known is None or known[0] != key:
            known = self._derived[entry.folder, what] = (key, make())
        found: _T = known[1]
        return found

    def _list_days(self, folder: str) -> list[str]:
        """Return the days of an application, the newest first, and drop deleted days from memory."""
        days = sorted((name for name in _list_names(self._folder / folder) if _DAY.fullmatch(name)), reverse=True)
        known = self._days.setdefault(folder, {})
        for gone in known.keys() - days:
            del known[gone]
        return days

    def _list_day(self, folder: str, day: str, *, is_fresh: bool = True) -> list[Entry]:
        """Return the recordings of a day, the newest first. is_fresh: whether to check for changes since the last call."""
        path, known = self._folder / folder / day, self._days[folder]
        if day in known and not is_fresh:
            return known[day][1]
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            known[day] = (0, [])
            return []
        if day not in known or known[day][0] != changed:
            times = [(match[1], int(match[2]), name) for name in _list_names(path) if (match := _FILE.fullmatch(name))]
            entries = [Entry(folder, day, name.removesuffix(SUFFIX), path / name) for _, _, name in sorted(times, reverse=True)]
            known[day] = (changed, entries)
        return known[day][1]


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read_waiting(path: Path) -> frozenset[Copy]:
    waiting = _read_answer(path).get("report", {}).get("waiting", ())
    return frozenset((copy["task"], copy["process_id"], copy["role"]) for copy in waiting)


def _read_answer(path: Path) -> Mapping[str, Any]:
    """Return the answer of a recording as plain JSON, without parsing the snapshot; empty if the recording is unreadable."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            text = file.read()
    except (OSError, EOFError, ValueError, zlib.error):
        return {}
    members = read_members(text)
    return next((value for name, value in members if name == "assignment" and isinstance(value, Mapping)), {})


def _keep(cache: Newest[tuple[Path, int], _T], path: Path, read: Callable[[], _T]) -> _T:
    """Return the value cached for the file's present version; if there is none, read the value and cache it."""
    try:
        key = (path, path.stat().st_mtime_ns)
    except OSError:
        return read()
    if key not in cache:
        cache[key] = read()
    cache.move_to_end(key)
    return cache[key]
