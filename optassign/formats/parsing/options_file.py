"""Options from a TOML file."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optassign.formats.base import Frozen
from optassign.formats.configs import Options
from optassign.formats.parsing.input_errors import InputError, from_validation, show_value
from optassign.formats.parsing.toml_file import read_toml

__all__ = ["read_options"]

_TABLE = "options"


class _OptionsFile(Frozen):
    """The file as it may be, and as it is taken where the table's head is left out."""

    options: Options


def read_options(path: Path) -> Options:
    """Options from a TOML file, with the names they have in a snapshot's `options`: at the top or in a table `[options]`.

    InputError, in one line with place, found and allowed, for what cannot be read or is not right.
    """
    table = read_toml(path)
    has_head = table.keys() == {_TABLE} and isinstance(table[_TABLE], dict)
    if _TABLE in table and not has_head:
        found = "it beside other fields" if isinstance(table[_TABLE], dict) else show_value(table[_TABLE])
        raise InputError(str(path), _TABLE, found, "the options at the top, or all of them in a table [options]")
    data: dict[str, Any] = table if has_head else {_TABLE: table}
    try:
        return _OptionsFile.model_validate(data).options
    except ValidationError as error:
        wrong = from_validation(error, data, _OptionsFile, str(path))
        place = wrong.place if has_head else wrong.place.removeprefix(_TABLE).removeprefix(".")
        raise InputError(wrong.source, place, wrong.found, wrong.allowed, wrong.more) from None
