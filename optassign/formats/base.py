"""The base of all types of the JSON formats: frozen, strict, `null` means the default, fields that begin with `x_` are kept."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite, isnan
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from optassign.formats.input_errors import find_path
from optassign.formats.task_id import INT32_MAX, TASK_ID_ALLOWED, TASK_ID_PATTERN, TaskId, sorted_ids
from optassign_models.policy.constants import MOST_WEIGHT

INT64_MAX = 2**63 - 1
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999: `datetime` has no later times."""


def _refuse_infinite(names: Iterable[str], data: Mapping[str, Any]) -> None:
    """Raise a `cross_check_error` if one of these fields holds NaN or infinity, which JSON cannot express."""
    for name in names:
        stack = [data[name]]
        while stack:
            value = stack.pop()
            if isinstance(value, float):
                if not isfinite(value):
                    shown = "NaN" if isnan(value) else "-Infinity" if value < 0 else "Infinity"
                    place = find_path({name: data[name]}, lambda found: isinstance(found, float) and not isfinite(found))
                    raise cross_check_error(shown, "any JSON value without NaN and infinity", f".{place}")
            elif isinstance(value, dict):
                stack.extend(value.values())
            elif isinstance(value, list):
                stack.extend(value)


class Frozen(BaseModel):
    """Base of all types read from or written to JSON.

    Strict: no "2" for 2, no true for 1, no 2.0 for an integer, no NaN or infinity, no unknown field. In Python, tuples and sets
    are accepted as lists. Objects inside are plain dicts for speed: do not change them.

    A list or mapping keeps only its first error (`fail_fast`): an error takes hundreds of times the memory of its value.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)  # without init=False type checkers demand it as an argument
    _fields: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Record the fields, so that the check of each value compares sets."""
        super().__pydantic_init_subclass__(**kwargs)
        cls._fields = frozenset(cls.model_fields)
        cls._required = frozenset(name for name, field in cls.model_fields.items() if field.is_required())

    @model_validator(mode="before")
    @classmethod
    def _check_fields_drop_nulls(cls, data: Any) -> Any:
        # For a valid object, two comparisons of sets replace Python code for each field: snapshots have millions
        # of fields. A null in a required field stays, so that pydantic refuses it.
        if not isinstance(data, dict):
            return data
        if not data.keys() <= cls._fields:
            extras = [name for name in data if name not in cls._fields]
            for name in extras:
                if not (isinstance(name, str) and name.startswith("x_")):
                    raise PydanticCustomError("unknown_field", "unknown field {name}", {"name": str(name)})
            _refuse_infinite(extras, data)
        if None in data.values():
            return {k: v for k, v in data.items() if v is not None or k in cls._required or k not in cls._fields}
        return data

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, validated like any other input (pydantic's own copy is not)."""
        if not update:
            return super().model_copy(deep=deep)
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**values, **(self.__pydantic_extra__ or {}), **update})


def cross_check_error(found: str, allowed: str, place: str = "") -> PydanticCustomError:
    """Return the error of a check that JSON Schema cannot express. `place` is below the validated value: `.lags["0_7"]`."""
    return PydanticCustomError(
        "cross_check",
        "{place}found {found}; allowed: {allowed}",
        {"place": place + ": " if place else "", "below": place, "found": found, "allowed": allowed},
    )


def check_task_id(text: str) -> str:
    """Return the text if it is a task id; otherwise raise a `cross_check_error`."""
    try:
        TaskId.parse(text)
    except ValueError:
        raise cross_check_error(quote(text), TASK_ID_ALLOWED) from None
    return text


def quote(text: str) -> str:
    """Return the text in quotes, shortened for one line of an error message."""
    quoted = text if len(text) <= 60 else text[:57] + "..."
    return '"' + quoted + '"'


def _sort_task_ids(ids: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(sorted_ids(ids))
    except ValueError:
        for i, text in enumerate(ids):
            try:
                TaskId.parse(text)
            except ValueError:
                raise cross_check_error(quote(text), TASK_ID_ALLOWED, f"[{i}]") from None
        raise


NotEmpty = Annotated[str, Field(min_length=1)]
Format = Annotated[int, Field(ge=1, le=1, description="version of this format", json_schema_extra={"const": 1})]
Weight = Annotated[float, Field(gt=0, le=MOST_WEIGHT)]
Count = Annotated[int, Field(ge=0, le=INT64_MAX)]
Int32 = Annotated[int, Field(ge=0, le=INT32_MAX)]
_id_schema = Field(description=TASK_ID_ALLOWED, json_schema_extra={"pattern": TASK_ID_PATTERN})
TaskIdText = Annotated[str, AfterValidator(check_task_id), _id_schema]
TaskIds = Annotated[tuple[Annotated[str, _id_schema], ...], Field(strict=False, fail_fast=True)]
"""Task ids that are not checked here: their owner checks all of its ids at once."""
SortedTaskIds = Annotated[TaskIds, AfterValidator(_sort_task_ids)]


def is_empty(value: object) -> bool:
    """Return whether a field is empty; rarely needed fields are then left out (`exclude_if`)."""
    return not value


def is_none(value: object) -> bool:
    """Return whether a field is None; for fields in which 0 has a meaning."""
    return value is None


def parse_time(text: str) -> datetime:
    """Return the time in UTC. ValueError if the text is not a time."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def to_ms(text: str) -> int:
    """Return milliseconds since 1970."""
    return round((parse_time(text) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def format_ms(ms: int) -> str:
    """Return milliseconds since 1970 as text: `2026-11-20T15:20:01.123Z`."""
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=min(ms, _LAST_MS))
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_time(text: str) -> str:
    try:
        parse_time(text)
    except (ValueError, OverflowError):
        raise cross_check_error(quote(text), "a time as in ISO 8601, such as 2026-11-20T15:20:01.123Z") from None
    return text


Time = Annotated[str, AfterValidator(_check_time)]
"""Text in ISO 8601."""
