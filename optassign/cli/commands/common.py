"""What several commands need: exit codes, reading a snapshot, giving out results."""

from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.assignor import names, variants
from optassign.cli.show.output import format_of, write, write_rendered
from optassign.cli.show.progress import Progress
from optassign.formats.options_file import read_options
from optassign.formats.reading import read_state
from optassign.formats.state import ApplicationState

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["BROKEN", "DONE", "USAGE", "UsageError", "give", "known", "size", "snapshot"]

DONE, BROKEN, USAGE = 0, 1, 2
"""Exit codes."""


class UsageError(ValueError):
    """Something on the command line that only the command can tell to be wrong."""


def give(arguments: Namespace, json_text: Callable[[], str], tables: "Callable[[int], Iterable[RenderableType]]") -> None:
    """The result as JSON or as tables, wherever it is to go."""
    if format_of(arguments) == "json":
        write(json_text(), arguments.output)
    else:
        write_rendered(tables, arguments.output)


def snapshot(arguments: Namespace) -> ApplicationState:
    """The snapshot that the command line names, with the options it names."""
    with Progress("reading"):
        state = read_state(arguments.snapshot)
        if arguments.options is None:
            return state
        try:
            options = read_options(Path(arguments.options))
        except ValueError as error:
            raise UsageError(error) from None
        return state.model_copy(update={"options": options})


def size(state: ApplicationState) -> str:
    """How large a problem is, for people."""
    return f"{len(state.tasks):,} tasks on {len(state.clients):,} clients"


def known(name: str, option: str = "--assignor") -> str:
    """The name, if there is an assignor of that name; UsageError if not."""
    base, colon, variant = name.partition(":")
    if base not in names():
        raise UsageError(f"{option}: found {name!r}; allowed: {', '.join(names())}")
    if colon and variant not in variants(base):
        allowed = ", ".join([base, *(f"{base}:{one}" for one in variants(base))])
        raise UsageError(f"{option}: found {name!r}; allowed: {allowed}")
    return name
