"""Fields that a snapshot or answer of another age has: found and left out in one walk over the objects of the format."""

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

__all__ = ["drop_unknown_fields", "is_unknown_field"]


def is_unknown_field(error: ValidationError) -> bool:
    """Whether a field that is not known is among what is wrong."""
    return any(each["type"] == "unknown_field" for each in error.errors(include_url=False, include_input=False))


def drop_unknown_fields(data: Any, model: type[BaseModel]) -> set[str]:
    """Delete all fields that the model does not know from `data`, however deep, and say which, such as `tasks[].colour`."""
    found: set[str] = set()
    stack: list[tuple[Any, type[BaseModel], str]] = [(data, model, "")]
    while stack:
        value, kind, place = stack.pop()
        if not isinstance(value, dict):
            continue
        if not value.keys() <= kind.model_fields.keys():
            unknown = [name for name in value if name not in kind.model_fields and not name.startswith("x_")]
            found.update(place + name for name in unknown)
            for name in unknown:
                del value[name]
        for name, below, is_list in _list_objects(kind):
            inner = value.get(name)
            if not is_list:
                stack.append((inner, below, f"{place}{name}."))
            elif isinstance(inner, list):
                stack.extend((each, below, f"{place}{name}[].") for each in inner)
    return found


@cache
def _list_objects(model: type[BaseModel]) -> tuple[tuple[str, type[BaseModel], bool], ...]:
    """(name, model, whether it is a list) of each field of `model` that has objects of the format."""
    found = []
    for name, field in model.model_fields.items():
        below, is_list = _find_model(field.annotation)
        if below is not None:
            found.append((name, below, is_list))
    return tuple(found)


def _find_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model in an annotation, also behind "or None" and in a tuple, and whether it is in a tuple; None without one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _find_model(arguments[0])
    if origin is tuple:
        return _find_model(arguments[0])[0], True
    if origin in (Union, UnionType):
        return next((found for each in arguments if (found := _find_model(each))[0] is not None), (None, False))
    return None, False
