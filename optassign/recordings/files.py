"""Names, lists and heads of the files of recordings: FOLDER/application/YYYY-MM-DD/HHMMSS.mmm-n.json.gz, in UTC."""

import logging
import os
import re
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_members, to_model
from optassign.recordings.recording import Recording, RecordingHead, read_recording

__all__ = [
    "SUFFIX",
    "RecordingFile",
    "count_recordings",
    "find_newest_answers",
    "find_recordings",
    "make_relative_path",
    "measure_file",
    "name_day",
    "name_folder",
    "read_recording_head",
]

DAMAGED_RECORDINGS = 5
"""Number of damaged recordings skipped in search of a readable recording. More of them mean that the disk is broken."""

LONGEST_FOLDER = 120
"""Most characters of the name of an application's folder: file systems allow 255, and date and file name follow."""
KEPT_OF_FOLDER = 100
"""Characters of a longer name that are kept before its hash: people still recognise the name."""
READ_RECORDINGS = 1_000
"""Most recordings per application that the service searches for its last applied answer, before the first request
(tests/service/answering/test_recorder.py)."""


SUFFIX = ".json.gz"
_NO_APPLICATION = "=none"
"""The folder of rebalances that name no application; no encoded name has an equals sign."""
_HEAD_BYTES = (1 << 12, 1 << 16)
"""Bytes, compressed and inflated, that contain most heads, and that contain every head, as its names are limited."""
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_FILE = re.compile(r"(\d\d)(\d\d)(\d\d)\.(\d{3})-(\d+)\.json\.gz")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class RecordingFile:
    """The parts of a recording's path. Recordings sort by time, the oldest first."""

    at: datetime
    number: int
    """Number among recordings of the same millisecond."""
    folder: str
    """The application's folder."""
    path: Path

    @property
    def id(self) -> str:
        """The name on the command line: the path below the folder of all recordings, without suffix."""
        return "/".join(self.path.parts[-3:]).removesuffix(SUFFIX)


def name_folder(application: str | None) -> str:
    """Return the name of the folder of an application's recordings: one level, valid on every file system.

    Letters, digits, `_`, `-` and inner dots stay, other characters become %XX; long names become their beginning and a hash.
    """
    if application is None:
        return _NO_APPLICATION
    name = quote(application, safe="", errors="surrogatepass").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > LONGEST_FOLDER:
        digest = sha256(application.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{name[:KEPT_OF_FOLDER]}~{digest}"
    return name or "%"


def make_relative_path(application: str | None, at: datetime, number: int) -> Path:
    """Return the path of a recording below the folder of all. `number`: its number among recordings of the same millisecond."""
    at = at.astimezone(UTC)
    time = f"{at:%H%M%S}.{at.microsecond // 1000:03d}"
    return Path(name_folder(application), f"{at:%Y-%m-%d}", f"{time}-{number}{SUFFIX}")


def name_day(at: datetime) -> str:
    """Return the name of a day's folder."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def find_recordings(
    folder: Path, application: str | None = None, days: Container[str] | None = None
) -> Iterator[RecordingFile]:
    """Yield recordings below `folder` in no particular order: of all applications or one, of all days or some (YYYY-MM-DD).

    Files with other names are ignored. OSError if the folder cannot be read; nothing if it does not exist.
    """
    wanted = None if application is None else name_folder(application)
    if not folder.exists():
        return
    for of_application in folder.iterdir():
        if wanted is None or of_application.name == wanted:
            for day in _list_folder(of_application):
                if days is None or day.name in days:
                    yield from _list_day(day, of_application.name)


def count_recordings(folder: Path) -> dict[str, tuple[int, int]]:
    """Return day (YYYY-MM-DD) → the number of its recordings below `folder`, and the bytes that they take on the disk.

    OSError if the folder itself cannot be read.
    """
    days: dict[str, tuple[int, int]] = {}
    for of_application in folder.iterdir():
        for day in filter(_find_day, _list_folder(of_application)):
            number, size = days.get(day.name, (0, 0))
            for entry in _scan_day(day):
                if _FILE.fullmatch(entry.name):
                    with suppress(OSError):  # just deleted
                        size += _count_blocks(entry.stat())
                        number += 1
            if number:
                days[day.name] = (number, size)
    return days


def measure_file(path: Path) -> int:
    """Return the bytes that a file takes on the disk, in whole blocks. OSError if its status cannot be read."""
    return _count_blocks(path.stat())


def _count_blocks(found: os.stat_result) -> int:
    return max(found.st_size, 512 * getattr(found, "st_blocks", 0))


def _list_folder(folder: Path) -> list[Path]:
    """Return the entries of a folder; empty if it is no folder, has just been deleted or, with a warning, cannot be read."""
    with _skip_unreadable(folder):
        return list(folder.iterdir())
    return []


@contextmanager
def _skip_unreadable(folder: Path) -> Iterator[None]:
    """Skip a folder that cannot be read, since other folders may be readable."""
    try:
        yield
    except (NotADirectoryError, FileNotFoundError):
        pass
    except OSError as error:  # another program's, such as lost+found, or damaged
        _log.warning("skipped folder %s, which cannot be read (%s)", folder, error.strerror or error)


def _find_day(folder: Path) -> datetime | None:
    """Return midnight UTC of the day that the folder's name states; None if it states no day."""
    match = _DAY.fullmatch(folder.name)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _list_day(day: Path, folder: str) -> Iterator[RecordingFile]:
    """Yield the recordings in the folder `day`. `folder`: the name of the application's folder."""
    date = _find_day(day)
    for entry in [] if date is None else _scan_day(day):
        match = _FILE.fullmatch(entry.name)
        if match and date is not None:
            hour, minute, second, millisecond, number = map(int, match.groups())
            with suppress(ValueError):  # no such time
                at = date.replace(hour=hour, minute=minute, second=second, microsecond=1000 * millisecond)
                yield RecordingFile(at, number, folder, day / entry.name)


def _scan_day(day: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a day's folder without dangling links; empty if it cannot be read or has just been deleted."""
    with _skip_unreadable(day), os.scandir(day) as entries:
        return [entry for entry in entries if not entry.is_symlink() or os.path.exists(entry)]
    return []


def read_recording_head(path: Path) -> RecordingHead:
    """Read the head of a recording, without the rest. InputError if the file cannot be read or its head is invalid."""
    data: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            for most in _HEAD_BYTES:
                file.seek(0)
                data, is_whole = _read_head(zlib.decompressobj(31).decompress(file.read(most), most))
                if is_whole:
                    break
    except OSError as error:
        raise InputError(str(path), "", f"that it cannot be read ({error.strerror or error})", "a recording") from None
    except zlib.error:
        raise InputError(str(path), "", "no gzip", "a recording: JSON compressed by gzip") from None
    head, _ = to_model(data, RecordingHead, str(path), unknown="ignore")
    return head


def _read_head(content: bytes) -> tuple[dict[str, Any], bool]:
    """Return the members of a recording before its answer, and whether all of them are in `content`."""
    data: dict[str, Any] = {}
    for name, value in read_members(content.decode("utf-8", "replace")):
        if name == "assignment":  # of an older service, which wrote no overview before it
            return data, True
        data[name] = value
        if name == "overview":
            return data, True
    return data, False


def find_newest_answers(folder: Path, most: int) -> Iterator[Recording]:
    """Yield the newest applied answers of at most `most` applications, those with the newest recordings first.

    Each application has its newest answer in active mode and, before it, a newer answer in shadow mode, if any. Recordings
    that cannot be read are skipped with a warning. OSError if the folder itself cannot be read.
    """
    if not folder.exists():
        return
    newest: list[tuple[RecordingFile, Iterator[RecordingFile]]] = []
    for of_application in folder.iterdir():
        if of_application.name != _NO_APPLICATION:
            files = _list_newest_first(of_application)
            first = next(files, None)
            if first is not None:
                newest.append((first, files))
    newest.sort(key=lambda pair: (pair[0].at, pair[0].number, pair[0].folder), reverse=True)
    for first, files in newest[:most]:
        yield from _read_newest_applied(chain([first], files))


def _list_newest_first(of_application: Path) -> Iterator[RecordingFile]:
    """Yield an application's recordings, the newest first; the folder of a day is read when the iteration reaches it."""
    for day in sorted(filter(_find_day, _list_folder(of_application)), reverse=True):
        yield from sorted(_list_day(day, of_application.name), reverse=True)


def _read_newest_applied(group: Iterator[RecordingFile]) -> Iterator[Recording]:
    """Yield the newest applied answer among `READ_RECORDINGS`; after one of shadow mode, the newest of active mode."""
    damaged, has_shadow = 0, False
    for file in islice(group, READ_RECORDINGS):
        try:
            head = read_recording_head(file.path)
            if head.applied and (head.mode == "active" or not has_shadow):
                yield read_recording(file.path, unknown="ignore")
                if head.mode == "active":
                    return
                has_shadow = True
        except InputError as error:
            _log.warning("skipped a recording: %s", error)
            damaged += 1
            if damaged == DAMAGED_RECORDINGS:
                return
