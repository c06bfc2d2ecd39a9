"""Descriptions of measures next to their definition: the source of JSON fields, columns and labels of tables.

    moved: Annotated[int, About("tasks", "active tasks that moved", "active tasks moved")]

    @property
    @measured("tasks", "tasks moved more than once")
    def moved_more_than_once(self) -> int:
        '''Tasks that moved in more than one rebalance.'''

A field is a measure if its type carries an `About`. A property is a measure if it is decorated with `measured`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

_Function = TypeVar("_Function", bound=Callable[..., object])
_MARK = "__about__"


@dataclass(frozen=True, slots=True)
class About:
    """The description of a measure."""

    unit: str
    """Empty if the value is not a quantity."""
    meaning: str
    label: str = ""
    """The row or column in tables for people; empty if the measure is not shown there."""


def measured(unit: str, label: str = "") -> Callable[[_Function], _Function]:
    """Return a decorator, to be placed below `@property`, that makes a measure; its meaning is the first docstring line."""

    def mark(function: _Function) -> _Function:
        line = (function.__doc__ or "").partition("\n")[0].removesuffix(".")
        setattr(function, _MARK, About(unit, line[:1].lower() + line[1:], label))
        return function

    return mark


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a dataclass."""

    name: str
    type: Any
    """The annotation, such as `int | None`."""
    unit: str
    meaning: str
    label: str


def list_measures(record: type[Any]) -> tuple[Measure, ...]:
    """Return the measures of a dataclass: fields, then properties, each in the order of definition."""
    if record not in _known:
        _known[record] = _find_measures(record)
    return _known[record]


_known: dict[type[Any], tuple[Measure, ...]] = {}


def _find_measures(record: type[Any]) -> tuple[Measure, ...]:
    hints = {field.name: get_type_hints(record, include_extras=True)[field.name] for field in fields(record)}
    for name, member in vars(record).items():
        about = getattr(member.fget, _MARK, None) if isinstance(member, property) else None
        if about is not None:
            returned = get_type_hints(member.fget).get("return")
            hints[name] = Annotated[returned, about]
    found = []
    for name, hint in hints.items():
        about = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, About)), None)
        if about is not None:
            found.append(Measure(name, get_args(hint)[0], about.unit, about.meaning, about.label))
    return tuple(found)


def to_json(record: Any) -> dict[str, Any]:
    """Return name → value of each measure; mappings become dicts."""
    values = {measure.name: getattr(record, measure.name) for measure in list_measures(type(record))}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
