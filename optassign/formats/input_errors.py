"""Errors of input as one line: the place, the value found, and the values allowed."""

import json
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from optassign.errors import OptassignError
from optassign.printable import escape_unprintable

SHOWN_CHARACTERS = 60
"""Characters of a value in an error, which is one line."""
LONGEST_PLACE = 300
"""Characters of a place in an error, which is one line."""


_TOP = "the top level"


class InputError(OptassignError, ValueError):
    """An input is wrong. `str()` is one line; `source` is the file, `place` a path or a line in it, or empty.

    `more`: the number of further faults.
    """

    def __init__(self, source: str, place: str, found: str, allowed: str, more: int = 0) -> None:
        place = shorten(place, LONGEST_PLACE)
        self.source, self.place, self.found, self.allowed, self.more = source, place, found, allowed, more
        where = f"{source}: {place}" if place else source
        also = f" (and {more} more)" if more else ""
        super().__init__(escape_unprintable(f"{where}: found {found}; allowed: {allowed}{also}"))


def from_validation(error: ValidationError, data: Any, model: type[BaseModel], source: str) -> InputError:
    """Return the first of pydantic's errors about `data`, in terms of the file that the data came from."""
    errors = _independent_errors(error)
    first = errors[0]
    place, value, node = _locate(first["loc"], data, model)
    context = first.get("ctx", {})
    allowed = describe_schema(node, model)
    match first["type"]:
        case "cross_check":
            place, found, allowed = place + context["below"], context["found"], context["allowed"]
        case "unknown_field":
            place, name = f"{place}.{context['name']}", context["name"]
            names = list(node.get("properties", {}))
            near = get_close_matches(name, names, 1) if len(name) <= SHOWN_CHARACTERS else []  # slow for long names
            found = "an unknown field" + (f" (did you mean {near[0]}?)" if near else "")
            allowed = f"{', '.join(names)}, and fields that begin with x_"
        case "missing":
            found = "nothing"
        case "invalid_key":
            found, allowed = "a key that is no string", "strings as keys"
        case _:
            found = show_value(value)
    return InputError(source, place.removeprefix(".") or _TOP, found, allowed, len(errors) - 1)


def _independent_errors(error: ValidationError) -> list[ErrorDetails]:
    """Return pydantic's errors, except consequences of other errors: defaults not computed, lists left empty."""
    errors = error.errors(include_url=False, include_input=False)
    inner = {e["loc"][:depth] for e in errors for depth in range(len(e["loc"]))}
    follows = ("default_factory_not_called", "too_short")
    return [e for e in errors if not (e["type"] == follows[0] or (e["type"] == follows[1] and e["loc"] in inner))]


def show_value(value: Any) -> str:
    """Return a JSON value for one line of text, shortened; of a list or an object only its size."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} field{'' if len(value) == 1 else 's'}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"a list of {len(value)}" if value else "an empty list"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # from Python, not from JSON; or an integer of thousands of digits
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return shorten(text)


def shorten(text: str, length: int = SHOWN_CHARACTERS) -> str:
    """Return the text, cut to at most `length` characters."""
    return text if len(text) <= length else text[: length - 3] + "..."


def find_path(data: Any, wanted: Callable[[Any], bool]) -> str | None:
    """Return the JSON path of the first value (or object key) that is `wanted`; None without one. Slow: for error messages
    only.
    """
    for steps, value in _walk(data):
        if wanted(value):
            return _write_path(steps).removeprefix(".") or _TOP
    return None


_Steps = tuple["_Steps | None", int | str]
"""The last step of a path, and the path before it: shared prefixes keep long names once."""


def _walk(value: Any) -> Iterator[tuple[_Steps | None, Any]]:
    stack: list[tuple[_Steps | None, Any]] = [(None, value)]
    while stack:
        steps, value = stack.pop()
        yield steps, value
        if isinstance(value, dict):
            for key, below in reversed(value.items()):
                stack.append(((steps, key), below))
                stack.append((steps, key))
        elif isinstance(value, list):
            stack.extend(((steps, i), below) for i, below in reversed(list(enumerate(value))))


def _write_path(steps: _Steps | None) -> str:
    parts = []
    while steps is not None:
        steps, step = steps
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if step.isidentifier() else f"[{json.dumps(shorten(step, LONGEST_PLACE))}]")
    return "".join(reversed(parts))


def _locate(loc: tuple[int | str, ...], data: Any, model: type[BaseModel]) -> tuple[str, Any, dict[str, Any]]:
    """Return path, value and schema at pydantic's `loc`, whose steps into unions are left out."""
    node: dict[str, Any] = _schema(model)
    place = ""
    for step in loc:
        node = _resolve(node, model)
        if step == "[key]":
            return place, loc[-2], node.get("propertyNames", {"type": "string"})
        if isinstance(step, int) and isinstance(data, list | tuple):
            place, data, node = f"{place}[{step}]", data[step], node.get("items", {})
        elif step in node.get("properties", {}):
            place, node = f"{place}.{step}", node["properties"][step]
            data = data.get(step) if isinstance(data, dict) else getattr(data, str(step), None)
        elif isinstance(data, dict) and step in data:
            below = node.get("additionalProperties", {})
            named = f".{step}" if str(step).startswith("x_") else f"[{json.dumps(step, ensure_ascii=False)}]"
            place, data, node = place + named, data[step], below if isinstance(below, dict) else {}
    return place, data, _resolve(node, model)


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _resolve(node: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema behind references, and X for "X or null"."""
    while True:
        some = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
        if "$ref" in node:
            node = _schema(model)["$defs"][node["$ref"].rpartition("/")[2]]
        elif len(some) == 1:
            node = some[0]
        else:
            return node


def describe_schema(node: dict[str, Any], model: type[BaseModel]) -> str:
    """Return the values that a node of a JSON Schema allows, in words."""
    node = _resolve(node, model)
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return ", ".join(json.dumps(value) for value in node["enum"])
    if "anyOf" in node:
        return " or ".join(describe_schema(option, model) for option in node["anyOf"])
    if "not" in node or "pattern" in node:  # where a schema's keywords do not read well, its description does
        return str(node["description"])
    match node.get("type"):
        case "integer":
            return "an integer" + _describe_range(node)
        case "number":
            return "a number" + _describe_range(node)
        case "string":
            if "maxLength" in node:
                return f"a string of {node.get('minLength', 0)} to {node['maxLength']} characters"
            return "a string that is not empty" if node.get("minLength") else "a string"
        case "boolean":
            return "true or false"
        case "array":
            least = "a list" if not node.get("minItems") else f"a list of at least {node['minItems']}"
            of = describe_schema(node["items"], model) if node.get("items") else ""
            return f"{least}, each {of}" if of else least
        case "object" if "properties" in node:
            return f"an object with the fields {', '.join(node['properties'])}"
        case "object":
            values = node.get("additionalProperties")
            return "an object" + (f", each value {describe_schema(values, model)}" if isinstance(values, dict) else "")
    return "any JSON value without NaN and infinity"


def _describe_range(node: dict[str, Any]) -> str:
    limits = ("minimum", "exclusiveMinimum", "maximum")
    low, above, high = (_format_number(node[limit]) if limit in node else None for limit in limits)
    if low is not None:
        return f" from {low} to {high}" if high is not None else f" of at least {low}"
    if above is not None:
        return f" above {above}" + (f", at most {high}" if high is not None else "")
    return ""


def _format_number(value: int | float) -> str:
    """Return a number without an exponent: 0.000001 and 1000000."""
    return str(value) if isinstance(value, int) else f"{value:f}".rstrip("0").rstrip(".")
