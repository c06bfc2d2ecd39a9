"""The shared steps of commands: read the snapshot, check and ask assignors, write the result.

Commands import this before they are chosen, so it imports what takes time only where that is used.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from optassign.cli.output import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState
    from optassign.recordings.recording import Recording

__all__ = [
    "ask_assignor",
    "blame_assignor",
    "check_assignor",
    "check_standard_input",
    "describe_size",
    "list_assignors",
    "load_rebalance",
    "load_snapshot",
    "write_result",
]


def load_snapshot(arguments: Namespace) -> "ApplicationState":
    """The snapshot of `load_rebalance`."""
    return load_rebalance(arguments)[0]


def load_rebalance(arguments: Namespace) -> "tuple[ApplicationState, Recording | None]":
    """Read the snapshot that the command line names, with the options of --options, and the recording that it is from, if any.

    InputError or UsageError if it cannot be read.
    """
    from pathlib import Path

    from optassign.cli.recordings import find_snapshot
    from optassign.cli.show.progress import ProgressLine
    from optassign.formats.toml_file import read_options
    from optassign.recordings.recording import read_rebalance

    with ProgressLine("reading"):
        state, recording = read_rebalance(find_snapshot(arguments))
        if arguments.options is not None:
            state = state.model_copy(update={"options": read_options(Path(arguments.options))})
    return state, recording


def check_standard_input(arguments: Namespace) -> None:
    """UsageError if both the snapshot and the answer are to be read from standard input."""
    if arguments.snapshot == "-" and arguments.assignment == "-":
        raise UsageError("found - for both SNAPSHOT and ASSIGNMENT; allowed: one of them from standard input")


def describe_size(state: "ApplicationState") -> str:
    """How large a problem is, for a line of progress."""
    return f"{len(state.tasks):,} tasks on {len(state.clients):,} clients"


def check_assignor(name: str, option: str = "--assignor") -> None:
    """UsageError, which names the option, unless there is an assignor of that name and, after a colon, that variant."""
    from optassign.assignor import is_own, names, variants

    base, colon, variant = name.partition(":")
    if not is_own(base) and base not in names():
        raise UsageError(f"{option}: found {name!r}; allowed: {', '.join(names())}")
    if colon and variant not in variants(base):
        allowed = ", ".join([base, *(f"{base}:{one}" for one in variants(base))])
        raise UsageError(f"{option}: found {name!r}; allowed: {allowed}")


def list_assignors(text: str) -> list[str]:
    """The names in --assignors, which commas separate. UsageError for one that there is not."""
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        check_assignor(name, "--assignors")
    return chosen


def ask_assignor(state: "ApplicationState", arguments: Namespace) -> "TaskAssignment":
    """The answer of --assignor within --time-limit; after a second, standard error says what takes so long."""
    from optassign.assignor import assign
    from optassign.cli.show.progress import ProgressLine

    with ProgressLine(f"asking {arguments.assignor}: {describe_size(state)}"), blame_assignor(arguments.assignor):
        return assign(state, arguments.assignor, arguments.time_limit)


@contextmanager
def blame_assignor(name: str) -> Iterator[None]:
    """Turn an error of a registered assignor into an AssignorError, which is one line; an error of optassign's own is a bug."""
    from optassign.assignor import AssignorError, describe_failure, is_own

    try:
        yield
    except Exception as error:
        if is_own(name) or isinstance(error, AssignorError | BrokenPipeError):
            raise
        raise AssignorError(f"assignor {name!r} failed: {describe_failure(error)}") from error


def write_result(
    arguments: Namespace, make_json: Callable[[], str], make_tables: "Callable[[int], Iterable[RenderableType]]"
) -> None:
    """Write the result where --output says, in the format of --format; `make_tables` takes a width in columns."""
    from optassign.cli.output import choose_format, write_tables, write_text

    if choose_format(arguments) == "json":
        write_text(make_json(), arguments.output)
    else:
        write_tables(make_tables, arguments.output)
