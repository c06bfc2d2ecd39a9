"""The shared steps of commands: read the snapshot, check and ask assignors, write the result.

The command line imports this module for every command, so slow imports are inside functions.
"""

import os
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.cli.output import UsageError
from optassign.errors import ArgumentError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState
    from optassign.recordings.recording import Recording

_VARIABLE = "OPTASSIGN_RECORDINGS"
"""The environment variable with the default of --recordings."""
_DEFAULT = "recordings"
_ID = re.compile(r".+/\d{4}-\d\d-\d\d/\d{6}\.\d{3}-\d+")
"""The form of a recording's id, which hardly any file name has."""


def find_folder(arguments: Namespace) -> Path:
    """Return the folder of all recordings. UsageError if it does not exist."""
    folder = Path(_get_stated_folder(arguments) or _DEFAULT)
    if not folder.is_dir():
        raise UsageError(f"--recordings: found {folder}, which is no folder; allowed: a folder of recordings")
    return folder


def find_recording(arguments: Namespace, name: str) -> Path:
    """Return the path of the named recording: - or a file, an id, or an application's latest recording."""
    from optassign.recordings.files import SUFFIX

    path = Path(name)
    if name == "-" or os.path.isfile(name) or path.name.endswith(SUFFIX):
        return path
    folder = find_folder(arguments)
    return _find_latest(folder, name) or folder / f"{name}{SUFFIX}"


def find_snapshot(arguments: Namespace) -> str:
    """Return the source that SNAPSHOT names: - or a file unchanged, the recording with this id, or an application's latest
    recording. Any other name is unchanged.

    UsageError for another name if --recordings is stated, or the name has the form of an id.
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
    """Return the path of an application's latest recording; None if it has none. UsageError if the folder cannot be read."""
    from optassign.recordings.files import find_recordings

    if not folder.is_dir():
        return None
    try:
        latest = max(find_recordings(folder, application), default=None)
    except OSError as error:
        raise UsageError(f"--recordings: found that {folder} cannot be read ({error.strerror}); allowed: a folder") from None
    return None if latest is None else latest.path


def choose_answer(recording: "Recording | None", not_applied: bool) -> "TaskAssignment":
    """Return the recorded answer, or with `not_applied` the service's own. UsageError if there is no such answer."""
    if not not_applied and recording is not None:
        return recording.assignment
    if recording is None or recording.not_applied_assignment is None:
        found = "a snapshot without an answer" if recording is None else "a recording with one answer"
        raise UsageError(f"--not-applied: found {found}; allowed: where another answer than the service's was applied")
    return recording.not_applied_assignment


def _get_stated_folder(arguments: Namespace) -> str | None:
    return arguments.recordings or os.environ.get(_VARIABLE)


def load_snapshot(arguments: Namespace) -> "ApplicationState":
    """Return the snapshot of the command line, as `load_rebalance` does, without its recording."""
    return load_rebalance(arguments)[0]


def load_rebalance(arguments: Namespace) -> "tuple[ApplicationState, Recording | None]":
    """Return the snapshot of the command line, with the options of --options, and its recording, if any.

    InputError or UsageError if it cannot be read.
    """
    from optassign.cli.show.progress import ProgressLine
    from optassign.formats.toml_input import read_options
    from optassign.recordings.recording import read_rebalance

    with ProgressLine("reading"):
        state, recording = read_rebalance(find_snapshot(arguments))
        if arguments.options is not None:
            try:
                state = state.with_options(**dict(read_options(Path(arguments.options))))
            except ArgumentError as error:
                raise UsageError(f"--options: {error}") from None
    return state, recording


def check_standard_input(arguments: Namespace) -> None:
    """Raise UsageError if both the snapshot and the answer are to be read from standard input."""
    if arguments.snapshot == "-" and arguments.assignment == "-":
        raise UsageError("found - for both SNAPSHOT and ASSIGNMENT; allowed: one of them from standard input")


def describe_size(state: "ApplicationState") -> str:
    """Return the numbers of tasks and clients as text, for a progress line."""
    return f"{len(state.tasks):,} tasks on {len(state.clients):,} clients"


def check_assignor(name: str, option: str = "--assignor") -> None:
    """Raise UsageError, with the option's name, unless the assignor and its variant after a colon exist."""
    from optassign.assignor import is_own, list_names, list_variants

    base, colon, variant = name.partition(":")
    if not is_own(base) and base not in list_names():
        raise UsageError(f"{option}: found {name!r}; allowed: {', '.join(list_names())}")
    if colon and variant not in list_variants(base):
        allowed = ", ".join([base, *(f"{base}:{one}" for one in list_variants(base))])
        raise UsageError(f"{option}: found {name!r}; allowed: {allowed}")


def list_assignors(text: str) -> list[str]:
    """Return the names in `text`, the comma-separated value of --assignors, each once. UsageError for an unknown name."""
    chosen = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in chosen:
        check_assignor(name, "--assignors")
    return chosen


def choose_solver(state: "ApplicationState", arguments: Namespace) -> "ApplicationState":
    """Return the snapshot with the solver of --solver in its options, if one is given."""
    if arguments.solver is None:
        return state
    return state.model_copy(update={"options": state.options.model_copy(update={"solver": arguments.solver})})


def ask_assignor(state: "ApplicationState", arguments: Namespace) -> "TaskAssignment":
    """Return the answer of --assignor within --time-limit; after a second, standard error shows the progress."""
    from optassign.assignor import assign
    from optassign.cli.show.progress import ProgressLine

    with ProgressLine(f"asking {arguments.assignor}: {describe_size(state)}"), blame_assignor(arguments.assignor):
        return assign(state, arguments.assignor, arguments.time_limit)


@contextmanager
def blame_assignor(name: str) -> Iterator[None]:
    """Turn an error of a registered assignor into an AssignorError of one line; errors of optassign's own pass through."""
    from optassign.assignor import AssignorError, describe_failure, is_own

    try:
        yield
    except (Exception, SystemExit) as error:
        if is_own(name) or isinstance(error, AssignorError):
            raise
        raise AssignorError(f"assignor {name!r} failed: {describe_failure(error)}") from error


def write_result(
    arguments: Namespace, make_json: Callable[[], str], make_tables: "Callable[[int], Iterable[RenderableType]]"
) -> None:
    """Write the result to --output, in the format of --format; `make_tables` takes a width in columns."""
    from optassign.cli.output import choose_format, write_tables, write_text

    if choose_format(arguments) == "json":
        write_text(make_json(), arguments.output)
    else:
        write_tables(make_tables, arguments.output)
