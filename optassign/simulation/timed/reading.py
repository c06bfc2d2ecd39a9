"""Reads scenarios: files, and those of the library that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from optassign.formats.input_errors import InputError, from_validation
from optassign.formats.toml_file import read_toml
from optassign.simulation.timed.scenario import Scenario

__all__ = ["list_library", "read_scenario"]

_LIBRARY = Path(str(files("optassign.simulation.timed") / "library"))


def list_library() -> list[str]:
    """Names of the scenarios that come with the package."""
    return sorted(path.stem for path in _LIBRARY.glob("*.toml"))


def read_scenario(name: str) -> Scenario:
    """The scenario in a file, or the one of the library that has this name. InputError for everything wrong with it."""
    path = Path(name)
    if not path.exists() and name in list_library():
        path = _LIBRARY / f"{name}.toml"
    if not path.exists():
        allowed = f"a file with a scenario in TOML, or one of {', '.join(list_library())}"
        raise InputError(name, "", "no such file", allowed)
    table = read_toml(path)
    try:
        return Scenario.model_validate(table)
    except ValidationError as error:
        raise from_validation(error, table, Scenario, str(path)) from None
