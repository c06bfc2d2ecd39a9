"""`--applications`: quiet hours and limits of each application, from a TOML file that is read anew when it changes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from optassign.formats.base import Frozen, NotEmpty
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError, from_validation
from optassign.formats.toml_file import read_toml
from optassign.service.holding.quiet_hours import QuietHours, parse_hours
from optassign.service.settings import SettingsError
from optassign.service.watched_files import WatchedFiles

__all__ = ["ApplicationSettings", "ApplicationsFile"]


class _Table(Frozen):
    """One application in the file."""

    quiet_hours: Annotated[tuple[NotEmpty, ...], Field(strict=False)] = ()
    time_zone: NotEmpty = "UTC"
    limits: Annotated[tuple[dict[str, Any], ...], Field(strict=False)] = ()


class _File(Frozen):
    applications: dict[str, _Table] = Field(default={})


@dataclass(frozen=True)
class ApplicationSettings:
    """The file's settings of one application."""

    quiet: QuietHours | None = None
    limits: tuple[Mapping[str, Any], ...] = ()
    """As a snapshot's options have them."""


class ApplicationsFile:
    """The file, or none."""

    def __init__(self, path: Path | None) -> None:
        """SettingsError, in one line, for a file that cannot be used."""
        self._path, self._files = path, WatchedFiles(path)
        self._found = {} if path is None else _read(path)

    def get(self, application: str) -> ApplicationSettings:
        """Return the file's settings of an application."""
        return self._found.get(application, ApplicationSettings())

    def list_names(self) -> tuple[str, ...]:
        """The applications that it names."""
        return tuple(sorted(self._found))

    def reload(self) -> bool:
        """Read the file anew if it has changed, and say whether it had. SettingsError if it cannot be used: the old stays."""
        if self._path is None or not self._files.have_changed():
            return False
        self._found = _read(self._path)
        return True


def _read(path: Path) -> dict[str, ApplicationSettings]:
    try:
        data = read_toml(path)
        tables = _File.model_validate(data).applications
    except ValidationError as error:
        raise SettingsError(f"--applications: {from_validation(error, data, _File, str(path))}") from None
    except InputError as error:
        raise SettingsError(f"--applications: {error}") from None
    found = {}
    for name, table in tables.items():
        where = f"--applications: {path}: applications.{name}"
        try:
            quiet = parse_hours(table.quiet_hours, table.time_zone) if table.quiet_hours else None
        except ValueError as error:
            raise SettingsError(f"{where}.quiet_hours: {error}") from None
        limits = {"limits": list(table.limits)}
        try:
            Options.model_validate(limits)
        except ValidationError as error:
            wrong = from_validation(error, limits, Options, where)
            raise SettingsError(str(wrong)) from None
        # As JSON, so that nothing of TOML's own, such as a date, gets into a snapshot.
        found[name] = ApplicationSettings(quiet, tuple(json.loads(json.dumps(list(table.limits)))))
    return found
