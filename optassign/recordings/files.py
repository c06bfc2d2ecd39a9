"""Where recordings lie: FOLDER/application/YYYY-MM-DD/HHMMSS.mmm-n.json.gz, in UTC. How they are named, listed and found."""

import logging
import re
import zlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from urllib.parse import quote

from optassign.formats.input_errors import InputError
from optassign.formats.reading import read_members, to_model
from optassign.recordings.recording import Recording, RecordingHead, read_recording
from optassign_models.policy.constants import DAMAGED_RECORDINGS, KEPT_OF_FOLDER, LONGEST_FOLDER, READ_RECORDINGS

__all__ = [
    "SUFFIX",
    "RecordingFile",
    "find_newest_answers",
    "find_recordings",
    "make_relative_path",
    "measure_file",
    "name_day",
    "name_folder",
    "read_recording_head",
]

SUFFIX = ".json.gz"
_NO_APPLICATION = "=none"
"""The folder of rebalances that name no application; no encoded name has an equals sign."""
_HEAD = 1 << 16
"""Bytes, compressed, in which the head of a recording ends, as names in it are limited."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = re.compile(r"(\d{6}\.\d{3})-(\d+)\.json\.gz")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class RecordingFile:
    """The parts of a recording's path. They sort by age, the oldest first."""

    at: datetime
    number: int
    """Among those of the same millisecond."""
    folder: str
    """The application's folder."""
    path: Path
    size: int
    """Bytes that it takes on the disk, which are whole blocks."""

    @property
    def id(self) -> str:
        """The command line's name of it: its path below the folder of all recordings, without suffix."""
        return "/".join(self.path.parts[-3:]).removesuffix(SUFFIX)


def name_folder(application: str | None) -> str:
    """The name of the folder for an application's recordings: one level, no special names, on every file system.

    Letters, digits, `_`, `-` and inner dots stay, other characters become %XX; of long names the beginning and a hash.
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
    """The path of a recording below the folder of all. `number`: among those of the same millisecond."""
    at = at.astimezone(UTC)
    time = f"{at:%H%M%S}.{at.microsecond // 1000:03d}"
    return Path(name_folder(application), f"{at:%Y-%m-%d}", f"{time}-{number}{SUFFIX}")


def name_day(at: datetime) -> str:
    """The name of a day's folder."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def find_recordings(
    folder: Path, application: str | None = None, days: Container[str] | None = None
) -> Iterator[RecordingFile]:
    """All recordings below `folder`, or one application's, or those of some days (YYYY-MM-DD), in no particular order.

    Other names are ignored.

    OSError if the folder itself cannot be read; none if it does not exist.
    """
    wanted = None if application is None else name_folder(application)
    if not folder.exists():
        return
    for of_application in folder.iterdir():
        if wanted is None or of_application.name == wanted:
            for day in _list_folder(of_application):
                if _DAY.fullmatch(day.name) and (days is None or day.name in days):
                    yield from _list_day(day, of_application.name)


def measure_file(path: Path) -> int:
    """Bytes that a file takes on the disk. OSError if it cannot be looked at."""
    found = path.stat()
    return max(found.st_size, 512 * getattr(found, "st_blocks", 0))


def _list_folder(folder: Path) -> list[Path]:
    """List a folder; nothing if it is no folder, has just been deleted or, with a warning, cannot be read."""
    try:
        return list(folder.iterdir())
    except (NotADirectoryError, FileNotFoundError):
        return []
    except OSError as error:  # another program's, such as lost+found, or damaged: the others can be read all the same
        _log.warning("a folder is passed by: %s cannot be read (%s)", folder, error.strerror or error)
        return []


def _list_day(day: Path, folder: str) -> Iterator[RecordingFile]:
    """The recordings in the folder of one day of an application, whose folder is called `folder`."""
    for path in _list_folder(day):
        match = _FILE.fullmatch(path.name)
        if match:
            try:
                at = datetime.strptime(f"{day.name} {match[1]}000+0000", "%Y-%m-%d %H%M%S.%f%z")
                yield RecordingFile(at, int(match[2]), folder, path, measure_file(path))
            except (ValueError, OSError):  # no such day or time, or a file that is gone or cannot be looked at
                continue


def read_recording_head(path: Path) -> RecordingHead:
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
        if name == "assignment":  # of an older service: there is no overview before it
            break
        data[name] = value
        if name == "overview":
            break
    head, _ = to_model(data, RecordingHead, str(path), unknown="ignore")
    return head


def find_newest_answers(folder: Path, most: int) -> list[Recording]:
    """Find the newest applied answers of each application; of at most `most` applications, the newest first.

    They are the newest recording in active mode and, if it is newer than that, the newest in shadow mode. For a recording that
    cannot be read, an older one is taken, with a warning.
    """
    if not folder.exists():
        return []
    newest: list[tuple[RecordingFile, Iterator[RecordingFile]]] = []
    for of_application in folder.iterdir():
        if of_application.name != _NO_APPLICATION:
            files = _list_newest_first(of_application)
            first = next(files, None)
            if first is not None:
                newest.append((first, files))
    newest.sort(key=lambda pair: (pair[0].at, pair[0].number, pair[0].folder), reverse=True)
    read = (recording for first, files in newest[:most] for recording in _read_newest_applied(chain([first], files)))
    return sorted(read, key=lambda recording: recording.answered_at, reverse=True)


def _list_newest_first(of_application: Path) -> Iterator[RecordingFile]:
    """List an application's recordings, the newest first; of older days only if they are asked for."""
    days = sorted((day for day in _list_folder(of_application) if _DAY.fullmatch(day.name)), reverse=True)
    for day in days:
        yield from sorted(_list_day(day, of_application.name), reverse=True)


def _read_newest_applied(group: Iterator[RecordingFile]) -> Iterator[Recording]:
    """Read the newest applied answer, and if that is one of shadow mode, the newest of active mode, too."""
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
            _log.warning("a recording is passed by: %s", error)
            damaged += 1
            if damaged == DAMAGED_RECORDINGS:
                return
