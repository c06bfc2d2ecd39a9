"""`--applications`: quiet hours and limits of each application, from a TOML file that is reloaded when it changes."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError

from optassign.formats.base import Frozen, NotEmpty
from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError, from_validation
from optassign.formats.toml_input import read_toml
from optassign.service.settings import SettingsError, WatchedFiles

__all__ = ["ApplicationSettings", "ApplicationsFile", "QuietHours", "parse_hours"]


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ALLOWED = "such as 22:00-06:00, Sat 00:00-24:00 or Mon-Fri 08:00-18:00"
_TEXT = re.compile(r"(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))? )?(\d\d):(\d\d)-(\d\d):(\d\d)")
_DAY = 24 * 60
_WEEK = 7 * _DAY


@dataclass(frozen=True)
class QuietHours:
    """The weekly quiet hours of an application, in minutes of the week from Monday 00:00 local time."""

    texts: tuple[str, ...]
    zone: str
    spans: tuple[tuple[int, int], ...]
    """(from, to) in minutes of the week; `to` may lie in the next week."""

    def find_end(self, now: datetime) -> datetime | None:
        """Return the end of the present quiet hours, or None outside quiet hours. `now` has a time zone.

        Adjacent hours count as one span. If the whole week is quiet, the end is a week from now.
        """
        local = now.astimezone(ZoneInfo(self.zone))
        minute = local.weekday() * _DAY + local.hour * 60 + local.minute
        ends = minute
        while ends < minute + _WEEK:
            further = max((self._reach(start, end, ends) for start, end in self.spans), default=ends)
            if further == ends:
                break
            ends = min(further, minute + _WEEK)
        if ends == minute:
            return None
        # Add in local time, so that quiet hours end at the stated local time even across a daylight saving change.
        wall = local.replace(second=0, microsecond=0, tzinfo=None) + timedelta(minutes=ends - minute)
        return wall.replace(tzinfo=ZoneInfo(self.zone), fold=local.fold)  # in autumn an hour comes twice

    @staticmethod
    def _reach(start: int, end: int, minute: int) -> int:
        """Return the end of the weekly span if it contains `minute`, otherwise `minute`. Minutes count on beyond the week."""
        for weeks in range(-1, 3):
            if start + weeks * _WEEK <= minute < end + weeks * _WEEK:
                return end + weeks * _WEEK
        return minute


def parse_hours(texts: Sequence[str], zone: str) -> QuietHours:
    """Return the hours of texts such as `Mon-Fri 08:00-18:00`. ValueError for invalid hours or an unknown time zone."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"found the time zone {zone!r}; allowed: a name such as UTC or Europe/Berlin") from None
    spans: list[tuple[int, int]] = []
    for text in texts:
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError(f"found {text!r}; allowed: {_ALLOWED}")
        first, last = ((day or "").lower() for day in found.group(1, 2))
        begin, end = (int(found[i]) * 60 + int(found[i + 1]) for i in (3, 5))
        bad_minutes = int(found[4]) > 59 or int(found[6]) > 59
        if bad_minutes or begin >= _DAY or end > _DAY or begin == end or {first, last} - {"", *_DAYS}:
            raise ValueError(f"found {text!r}; allowed: {_ALLOWED}")
        for day in _list_days(first, last):
            spans.append((day * _DAY + begin, day * _DAY + end + (_DAY if end < begin else 0)))
    return QuietHours(tuple(texts), zone, tuple(spans))


def _list_days(first: str, last: str) -> list[int]:
    if not first:
        return list(range(7))
    begin = _DAYS.index(first)
    end = _DAYS.index(last) if last else begin
    return [(begin + i) % 7 for i in range((end - begin) % 7 + 1)]


class _Table(Frozen):
    """The file's table of one application."""

    quiet_hours: Annotated[tuple[NotEmpty, ...], Field(strict=False)] = ()
    time_zone: NotEmpty = "UTC"
    limits: Annotated[tuple[dict[str, Any], ...], Field(strict=False)] = ()


class _File(Frozen):
    only_listed: bool = False
    applications: dict[str, _Table] = Field(default={})


@dataclass(frozen=True)
class ApplicationSettings:
    """The settings of one application in the file."""

    quiet: QuietHours | None = None
    limits: tuple[Mapping[str, Any], ...] = ()
    """Limits in the form of a snapshot's options."""


class ApplicationsFile:
    """The settings in the file of applications; none without a file."""

    def __init__(self, path: Path | None) -> None:
        """Read the file. SettingsError, in one line, for an unusable file."""
        self._path, self._files = path, WatchedFiles(path)
        self._found, self._only_listed = ({}, False) if path is None else _read(path)

    def allows(self, application: str | None) -> bool:
        """Return whether the service answers an application: always, or with `only_listed` only if the file names it."""
        return not self._only_listed or application in self._found

    def get(self, application: str) -> ApplicationSettings:
        """Return the settings of an application; the defaults if the file does not name it."""
        return self._found.get(application, ApplicationSettings())

    def list_names(self) -> tuple[str, ...]:
        """Return the applications that the file names, sorted."""
        return tuple(sorted(self._found))

    def reload(self) -> bool:
        """Read the file again if it has changed, and return whether it had. SettingsError for an unusable file; the old
        settings then stay."""
        if self._path is None or not self._files.have_changed():
            return False
        self._found, self._only_listed = _read(self._path)
        return True


def _read(path: Path) -> tuple[dict[str, ApplicationSettings], bool]:
    """Return the settings by application, and whether the service answers only these applications."""
    try:
        data = read_toml(path)
        file = _File.model_validate(data)
    except ValidationError as error:
        raise SettingsError(f"--applications: {from_validation(error, data, _File, str(path))}") from None
    except InputError as error:
        raise SettingsError(f"--applications: {error}") from None
    found = {}
    for name, table in file.applications.items():
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
        # Convert to JSON, so that no TOML type, such as a date, gets into a snapshot.
        found[name] = ApplicationSettings(quiet, tuple(json.loads(json.dumps(list(table.limits)))))
    return found, file.only_listed
