"""What several commands do: read the snapshot, check and ask assignors, write the result.

Commands import this before they are chosen, so it imports what takes time only where that is used.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from optassign.cli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.formats.assignment import TaskAssignment
    from optassign.formats.state import ApplicationState

__all__ = [
    "ask_assignor",
    "check_assignor",
    "check_standard_input",
    "describe_size",
    "list_assignors",
    "load_snapshot",
    "write_result",
]


def load_snapshot(arguments: Namespace) -> "ApplicationState":
    """Read the snapshot that the command line names, with the options of --options. InputError or UsageError if it cannot."""
    from pathlib import Path

    from optassign.cli.show.progress import Progress
    from optassign.formats.options_file import read_options
    from optassign.formats.reading import read_state

    with Progress("reading"):
        state = read_state(arguments.snapshot)
        if arguments.options is None:
            return state
        try:
            options = read_options(Path(arguments.options))
        except ValueError as error:
            raise UsageError(error) from None
        return state.model_copy(update={"options": options})


def check_standard_input(arguments: Namespace) -> None:
    """UsageError if both the snapshot and the answer are to be read from standard input."""
    if arguments.snapshot == "-" and arguments.assignment == "-":
        raise UsageError("found - for both SNAPSHOT and ASSIGNMENT; allowed: one of them from standard input")


def describe_size(state: "ApplicationState") -> str:
    """How large a problem is, for a line of progress."""
    return f"{len(state.tasks):,} tasks on {len(state.clients):,} clients"


def check_assignor(name: str, option: str = "--assignor") -> None:
    """UsageError, which names the option, unless there is an assignor of that name and, after a colon, that variant."""
    from optassign.assignor import names, variants

    base, colon, variant = name.partition(":")
    if base not in names():
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
    from optassign.cli.show.progress import Progress

    with Progress(f"asking {arguments.assignor}: {describe_size(state)}"):
        return assign(state, arguments.assignor, arguments.time_limit)


def write_result(
    arguments: Namespace, make_json: Callable[[], str], make_tables: "Callable[[int], Iterable[RenderableType]]"
) -> None:
    """Write the result where --output says, in the format of --format; `make_tables` takes a width in columns."""
    from optassign.cli.output import choose_format, write_tables, write_text

    if choose_format(arguments) == "json":
        write_text(make_json(), arguments.output)
    else:
        write_tables(make_tables, arguments.output)
