"""Recordings on the command line: the folder of all, and one of them by its file, its id or its application."""

import os
import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.cli.output import UsageError

if TYPE_CHECKING:
    from optassign.formats.assignment import TaskAssignment
    from optassign.recordings.recording import Recording

__all__ = ["choose_answer", "find_folder", "find_recording", "find_snapshot"]

_VARIABLE = "OPTASSIGN_RECORDINGS"
"""The variable of the environment that names the folder where --recordings does not."""
_DEFAULT = "recordings"
_ID = re.compile(r".+/\d{4}-\d\d-\d\d/\d{6}\.\d{3}-\d+")
"""The form of an id, which is hardly meant as a file."""


def find_folder(arguments: Namespace) -> Path:
    """The folder of all recordings. UsageError if there is none."""
    folder = Path(_get_stated_folder(arguments) or _DEFAULT)
    if not folder.is_dir():
        raise UsageError(f"--recordings: found {folder}, which is no folder; allowed: a folder of recordings")
    return folder


def find_recording(arguments: Namespace, name: str) -> Path:
    """The path of the recording that is named: - or a file, an id, or an application, whose latest recording it is then."""
    from optassign.recordings.files import SUFFIX

    path = Path(name)
    if name == "-" or os.path.isfile(name) or path.name.endswith(SUFFIX):
        return path
    folder = find_folder(arguments)
    return _find_latest(folder, name) or folder / f"{name}{SUFFIX}"


def find_snapshot(arguments: Namespace) -> str:
    """The source that SNAPSHOT names: - or a file as it is, or the recording with this id, or an application's latest one.

    UsageError where --recordings says that it is one of these, or it reads like an id, and there is no such recording.
    """
    from optassign.recordings.files import SUFFIX

    name: str = arguments.snapshot
    if name == "-" or os.path.exists(name):
        return name
    folder = Path(_get_stated_folder(arguments) or _DEFAULT)
    recording = folder / f"{name}{SUFFIX}"
    if recording.is_file():
        return str(recording)
    latest = _find_latest(folder, name)
    if latest is not None:
        return str(latest)
    if arguments.recordings is not None:
        folder = find_folder(arguments)
        raise UsageError(
            f"SNAPSHOT: found {name!r}, which is no file, and no recording or application in {folder}; "
            f"allowed: a file, or an id or application that `optassign record ls --recordings {folder}` shows"
        )
    if _ID.fullmatch(name):
        raise UsageError(
            f"SNAPSHOT: found {name!r}, which is no file and no recording in {folder}; "
            "allowed: a file, or an id together with the folder of its recordings: --recordings FOLDER"
        )
    return name


def _find_latest(folder: Path, application: str) -> Path | None:
    """The path of an application's latest recording; None where it has none."""
    from optassign.recordings.files import find_recordings

    if not folder.is_dir():
        return None
    try:
        latest = max(find_recordings(folder, application), default=None)
    except OSError as error:
        raise UsageError(f"--recordings: found that {folder} cannot be read ({error.strerror}); allowed: a folder") from None
    return None if latest is None else latest.path


def choose_answer(recording: "Recording | None", beside: bool) -> "TaskAssignment":
    """The recorded answer, or with `--beside` the service's own. UsageError where there is none."""
    if not beside and recording is not None:
        return recording.assignment
    if recording is None or recording.beside_assignment is None:
        found = "a snapshot alone" if recording is None else "a recording without an answer beside the recorded one"
        raise UsageError(f"--beside: found {found}; allowed: where another answer than the service's was applied")
    return recording.beside_assignment


def _get_stated_folder(arguments: Namespace) -> str | None:
    return arguments.recordings or os.environ.get(_VARIABLE)
