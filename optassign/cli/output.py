"""The output of a command: results on standard output or in a file, as JSON or tables; exit codes; errors in one line."""

import io
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from optassign.files import write_file
from optassign.printable import escape_unprintable

if TYPE_CHECKING:
    from rich.console import RenderableType

TABLE_WIDTH = 120
"""The width of tables outside a terminal, unless COLUMNS is set: a log or an issue shows as much."""
NARROW = 100
"""The width up to which tables leave out columns, and the width of help texts: longer lines are hard to read."""


DONE, FAILED, USAGE, UNREACHABLE, REFUSED = range(5)
"""Exit codes: done; failed, a rule is broken, or a group does not converge; bad usage or input; no service answers; the service
refuses."""


class CommandError(ValueError):
    """An error that ends a command with one line on standard error. `code`: its exit code."""

    code = FAILED


class FailedError(CommandError):
    """The command cannot finish, through no fault of its arguments or input."""


class UsageError(CommandError):
    """An error of the command line that argparse cannot detect."""

    code = USAGE


class UnreachableError(CommandError):
    """No service answers at the URL."""

    code = UNREACHABLE


class RefusedError(CommandError):
    """The service refuses the request."""

    code = REFUSED


def choose_format(arguments: Namespace) -> Literal["json", "table"]:
    """Return the format of --format; by default a table for standard output and JSON for a file."""
    if arguments.format is not None:
        chosen: Literal["json", "table"] = arguments.format
        return chosen
    return "table" if arguments.output in (None, "-") else "json"


def format_json(value: Any) -> str:
    """Return `value` as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def write_tables(make_tables: "Callable[[int], Iterable[RenderableType]]", output: str | None) -> None:
    """Write tables and text for people; `make_tables` takes the width in columns. Only a terminal gets colours."""
    from rich.console import Console  # takes 0.1 s, which JSON does not need
    from rich.text import Text

    class PipedConsole(Console):
        """A console that passes a closed pipe on to the command line, which ends with 141; rich would end with 1."""

        def on_broken_pipe(self) -> None:
            """Raise BrokenPipeError."""
            raise BrokenPipeError

    to_stdout = output in (None, "-")
    file = sys.stdout if to_stdout else io.StringIO()
    if to_stdout and not _is_utf8(sys.stdout):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else None if file.isatty() else TABLE_WIDTH
    console = PipedConsole(file=file, width=width, highlight=False, emoji=False, markup=False)
    for part in make_tables(console.width):
        if isinstance(part, Text) and not all(map(str.isprintable, part.plain.split("\n"))):  # a name with control characters
            part = Text("\n".join(map(escape_unprintable, part.plain.split("\n"))), style=part.style)
        # A line of text stays a line, so that it can be searched for; a terminal wraps it.
        console.print(part, soft_wrap=isinstance(part, Text))
    if isinstance(file, io.StringIO):
        write_text(file.getvalue(), output)


def write_text(text: str, output: str | None) -> None:
    """Write to standard output, or to a file atomically. InputError if it cannot be written."""
    if output is None or output == "-":
        if not _is_utf8(sys.stdout):
            sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr] # JSON is UTF-8, whatever the locale
        sys.stdout.write(text)
        return
    try:
        write_file(text, Path(output))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        from optassign.formats.input_errors import InputError  # imports pydantic, too slow for a help text

        raise InputError(output, "", f"that it cannot be written ({reason})", "a file to write, or -") from None


def _is_utf8(file: TextIO) -> bool:
    return file.encoding.lower().replace("-", "") == "utf8"
