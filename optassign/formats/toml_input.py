"""Read TOML files, and options from them; every fault is an `InputError` of one line."""

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optassign.formats.base import Frozen
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError, from_validation, shorten, show_value

_TWICE = {"Cannot overwrite": "each name once", "Cannot declare": "each table once"}
"""Beginning of tomllib's message → what is allowed."""
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(path: Path, what: str = "TOML") -> dict[str, Any]:
    """Return the table in the file, without a check of its fields. InputError, which allows `what`, if it is not TOML."""
    source, allowed = str(path), f"a file with {what} in UTF-8"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(source, "", "no such file", allowed) from None
    except IsADirectoryError:
        raise InputError(source, "", "a folder", allowed) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(source, "", f"that it cannot be read ({reason})", allowed) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise InputError(source, f"byte {error.start}", found, allowed) from None
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _toml_syntax_error(error, text, source, what) from None
    except ValueError:  # of int()
        raise InputError(source, "", "a whole number of more than 4,300 digits", "numbers of 64 bits") from None


def _toml_syntax_error(error: Exception, text: str, source: str, what: str) -> InputError:
    """Return tomllib's error in terms of the file: line, text found, and what is allowed."""
    message = str(error)
    place = _PLACE.search(message)
    if place is None:
        return InputError(source, "", "tables or lists nested too deeply", f"a file with {what} in UTF-8")
    lines = text.rstrip().split("\n")
    line = min(int(place[1] or len(lines)), len(lines))
    reason = _PLACE.sub("", message)
    twice = next((allowed for begin, allowed in _TWICE.items() if reason.startswith(begin)), None)
    where = f"line {line}" + (f", column {place[2]}" if place[2] and twice is None else "")
    found = show_value(shorten(lines[line - 1].strip(), 40))
    return InputError(source, where, found, twice or f"{what} ({reason[:1].lower()}{reason[1:]})")


_TABLE = "options"


class _OptionsFile(Frozen):
    """The file, with the optional head of its table added."""

    options: Options


def read_options(path: Path) -> Options:
    """Read options from a TOML file: the fields of a snapshot's `options`, at the top or in a table `[options]`.

    InputError, with place, found and allowed, if the file cannot be read or is wrong.
    """
    table = read_toml(path)
    has_head = table.keys() == {_TABLE} and isinstance(table[_TABLE], dict)
    if _TABLE in table and not has_head:
        found = "it next to other fields" if isinstance(table[_TABLE], dict) else show_value(table[_TABLE])
        raise InputError(str(path), _TABLE, found, "the options at the top, or all of them in a table [options]")
    data: dict[str, Any] = table if has_head else {_TABLE: table}
    try:
        return _OptionsFile.model_validate(data).options
    except ValidationError as error:
        wrong = from_validation(error, data, _OptionsFile, str(path))
        place = wrong.place if has_head else wrong.place.removeprefix(_TABLE).removeprefix(".")
        raise InputError(wrong.source, place, wrong.found, wrong.allowed, wrong.more) from None
