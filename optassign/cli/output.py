"""Where results go: standard output or a file, as JSON or for people."""

import io
import json
import os
import stat
import sys
import tempfile
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, RenderableType

from optassign.input_errors import InputError

__all__ = ["as_json_text", "format_of", "write", "write_rendered"]

_WIDTH = 120
"""Of tables that go to no terminal, where COLUMNS does not say otherwise."""


def format_of(arguments: Namespace) -> Literal["json", "table"]:
    """`--format`, or else a table to a terminal and JSON elsewhere and with `--output`."""
    if arguments.format is not None:
        chosen: Literal["json", "table"] = arguments.format
        return chosen
    return "table" if arguments.output is None and sys.stdout.isatty() else "json"


def as_json_text(value: Any) -> str:
    """`value` as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def write_rendered(what: list[RenderableType], output: str | None) -> None:
    """Tables and text for people; colours only to a terminal."""
    if output in (None, "-"):
        console = _console(sys.stdout)
        for part in what:
            console.print(part)
        return
    assert output is not None
    text = io.StringIO()
    console = _console(text)
    for part in what:
        console.print(part)
    write(text.getvalue(), output)


def _console(file: Any) -> Console:
    terminal = file.isatty()
    columns = os.environ.get("COLUMNS", "")
    width = None if terminal else int(columns) if columns.isdigit() and int(columns) else _WIDTH
    return Console(file=file, width=width, highlight=False, emoji=False, markup=False, soft_wrap=False)


def write(text: str, output: str | None) -> None:
    """Write to standard output, or to a file: wholly or not at all. InputError if that cannot be."""
    if output in (None, "-"):
        sys.stdout.write(text)
        return
    assert output is not None
    try:
        _write_file(text, Path(output))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(output, "", f"that it cannot be written ({reason})", "a file to write, or -") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(output, "", f"that it cannot be written ({error})", "a file to write, or -") from None


def _write_file(text: str, path: Path) -> None:
    path = Path(os.path.realpath(path))  # a link stays, what it leads to is written
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o666 & ~_umask()
    if not stat.S_ISREG(mode):  # a device or a pipe (or a folder, which cannot be opened)
        path.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, stat.S_IMODE(mode))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
