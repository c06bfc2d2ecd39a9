"""Where recordings lie: FOLDER/application/YYYY-MM-DD/HHMMSS.mmm-n.json.gz, in UTC; names, lists, the newest answers."""

import logging
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path
from urllib.parse import quote

from optassign.formats.input_errors import InputError
from optassign.formats.json_head import read_members
from optassign.formats.reading import to_model
from optassign.recordings.recording import Recording, RecordingHead, read_recording

__all__ = ["SUFFIX", "Entry", "entries", "folder_of", "newest_answers", "read_head", "relative_path"]

SUFFIX = ".json.gz"
NOBODY = "=none"
"""Folder of rebalances that name no application; no encoded name has an equals sign."""
_LONGEST, _KEPT = 120, 100
_HEAD = 1 << 16
"""Bytes, compressed, in which the head of a recording ends: its names are limited."""
_TRIES, _LOOKS = 5, 1000
"""Damaged recordings, and recordings in all, among which an application's last applied answer is looked for."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = re.compile(r"(\d{6}\.\d{3})-(\d+)\.json\.gz")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Entry:
    """One file, by its name alone; the oldest first."""

    at: datetime
    number: int
    folder: str
    """The application's folder."""
    path: Path
    size: int
    """Bytes."""

    @property
    def id(self) -> str:
        """What the command line calls it: its path below the folder of all recordings, without suffix."""
        return "/".join(self.path.parts[-3:]).removesuffix(SUFFIX)


def folder_of(application: str | None) -> str:
    """The name of the folder for an application's recordings: one level, no special names, on every file system.

    Letters, digits, `_`, `-` and inner dots stay, all else is written as %XX; of long names the beginning and a hash.
    """
    if application is None:
        return NOBODY
    name = quote(application, safe="", errors="surrogatepass").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > _LONGEST:
        digest = sha256(application.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{name[:_KEPT]}~{digest}"
    return name or "%"


def relative_path(application: str | None, at: datetime, number: int) -> Path:
    """Where a recording goes, below the folder of all."""
    at = at.astimezone(UTC)
    time = f"{at:%H%M%S}.{at.microsecond // 1000:03d}"
    return Path(folder_of(application), f"{at:%Y-%m-%d}", f"{time}-{number}{SUFFIX}")


def entries(folder: Path, application: str | None = None) -> Iterator[Entry]:
    """All recordings below `folder`, or one application's, in no particular order; whatever is named otherwise is passed by.

    OSError if the folder itself cannot be read; none if it does not exist.
    """
    wanted = None if application is None else folder_of(application)
    if not folder.exists():
        return
    for of_application in folder.iterdir():
        if wanted is None or of_application.name == wanted:
            for day in _inside(of_application):
                if _DAY.fullmatch(day.name):
                    yield from _of_day(day, of_application.name)


def _inside(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is none or has just been deleted, or if it cannot be read: others can be."""
    try:
        return list(folder.iterdir())
    except (NotADirectoryError, FileNotFoundError):
        return []
    except OSError as error:  # not ours, such as lost+found; damaged
        _log.warning("a folder is passed by: %s cannot be read (%s)", folder, error.strerror or error)
        return []


def _of_day(day: Path, folder: str) -> Iterator[Entry]:
    for path in _inside(day):
        match = _FILE.fullmatch(path.name)
        if match:
            try:
                at = datetime.strptime(f"{day.name} {match[1]}000+0000", "%Y-%m-%d %H%M%S.%f%z")
                yield Entry(at, int(match[2]), folder, path, path.stat().st_size)
            except (ValueError, OSError):  # no such day or time; deleted meanwhile, not ours or damaged
                continue


def read_head(path: Path) -> RecordingHead:
    """The head of a recording, without reading the rest. InputError for everything wrong with it."""
    try:
        with open(path, "rb") as file:
            content = zlib.decompressobj(31).decompress(file.read(_HEAD), _HEAD)
    except OSError as error:
        raise InputError(str(path), "", f"that it cannot be read ({error.strerror or error})", "a recording") from None
    except zlib.error:
        raise InputError(str(path), "", "no gzip", "a recording: JSON compressed by gzip") from None
    data = {}
    for name, value in read_members(content.decode("utf-8", "replace")):
        data[name] = value
        if name == "summary":
            break
    head, _ = to_model(data, RecordingHead, str(path), unknown="ignore")
    return head


def newest_answers(folder: Path, most: int) -> list[Recording]:
    """Of each application the newest recording whose answer was meant to be applied; at most `most`, the newest first.

    One that cannot be read is passed by, with a warning, for an older one.
    """
    by_application = sorted(entries(folder), key=lambda entry: (entry.folder, entry), reverse=True)
    newest = [next(group) for _, group in groupby(by_application, key=lambda entry: entry.folder)]
    chosen = {entry.folder for entry in sorted(newest, reverse=True)[:most] if entry.folder != NOBODY}
    found = []
    for name, group in groupby(by_application, key=lambda entry: entry.folder):
        if name in chosen:
            recording = _newest_applied(group)
            if recording is not None:
                found.append(recording)
    return sorted(found, key=lambda recording: recording.answered_at, reverse=True)


def _newest_applied(group: Iterator[Entry]) -> Recording | None:
    tries = 0
    for entry in islice(group, _LOOKS):
        try:
            head = read_head(entry.path)
            if head.mode == "active" and head.in_time:
                return read_recording(entry.path)
        except InputError as error:
            _log.warning("a recording is passed by: %s", error)
            tries += 1
            if tries == _TRIES:
                return None
    return None
