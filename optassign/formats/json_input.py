"""Read JSON from a file, standard input or bytes; every fault is an `InputError` of one line."""

import gc
import gzip
import io
import json
import logging
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from optassign.formats.assignment import TaskAssignment
from optassign.formats.input_errors import InputError, find_path, from_validation, shorten, show_value
from optassign.formats.state import ApplicationState

MOST_DIGITS = 1_000
"""The most digits of a number: conversion takes quadratic time (tests/formats/test_hostile_input.py)."""
MOST_FILE_BYTES = 1_073_741_824
"""The largest file, packed and unpacked: a small file can hold any number of zeros (tests/formats/test_hostile_input.py)."""


Source = str | os.PathLike[str] | bytes
"""A path, `-` for standard input, or the JSON itself as bytes; each may be compressed by gzip."""

_FILE = "a file with JSON in UTF-8, also compressed by gzip, or - for standard input"
_GZIP = b"\x1f\x8b"
_JSON = "JSON in UTF-8"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DIGITS = re.compile(r"\d+")
_log = logging.getLogger(__name__)
_Model = TypeVar("_Model", bound=BaseModel)


def read_state(source: Source, *, unknown: Literal["refuse", "ignore"] = "refuse") -> ApplicationState:
    """Read a snapshot. InputError for every fault.

    With `unknown="ignore"`, unknown fields are logged and left out (plug-in and service may differ in age).
    """
    return _read(source, ApplicationState, unknown)


def read_assignment(source: Source, *, unknown: Literal["refuse", "ignore"] = "refuse") -> TaskAssignment:
    """Read an answer. InputError for every fault of its form; `validate` checks the rules."""
    return _read(source, TaskAssignment, unknown)


def read_value(content: bytes, name: str = "input") -> Any:
    """Return the JSON value in `content`, without a check of its fields. InputError, about source `name`, if it is not JSON."""
    with _no_garbage_collection():
        return _parse(content, name)


def to_model(
    data: Any, model: type[_Model], name: str = "input", *, unknown: Literal["refuse", "ignore"] = "refuse"
) -> tuple[_Model, tuple[str, ...]]:
    """Return `data` as one of the formats, and the ignored unknown fields, sorted, such as `tasks[].colour`.

    With `unknown="ignore"`, these are deleted from `data`. InputError for every other fault.
    """
    if isinstance(data, dict) and ("format" not in data or type(data["format"]) is not int or data["format"] != 1):
        # Checked first: another version of the format may differ in every other field.
        found = show_value(data["format"]) if "format" in data else "nothing"
        raise InputError(name, "format", found, "1, the only version of the format")
    with _no_garbage_collection():
        try:
            return model.model_validate(data), ()
        except ValidationError as error:
            kinds = {each["type"] for each in error.errors(include_url=False, include_input=False)}
            if unknown == "refuse" or "unknown_field" not in kinds:
                raise from_validation(error, data, model, name) from None
        ignored = _drop_unknown_fields(data, model)
        try:
            return model.model_validate(data), tuple(sorted(ignored))
        except ValidationError as error:
            raise from_validation(error, data, model, name) from None


def _read(source: Source, model: type[_Model], unknown: Literal["refuse", "ignore"]) -> _Model:
    name, data = read_json(source)
    result, ignored = to_model(data, model, name, unknown=unknown)
    if ignored:
        _log.warning("%s: unknown fields ignored: %s", name, ", ".join(ignored))
    return result


def read_json(source: Source) -> tuple[str, Any]:
    """Return the source's name in errors, and its JSON value, without a check of its fields. InputError if it is not JSON."""
    name, content = _read_bytes(source)
    if content.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = file.read(MOST_FILE_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise InputError(name, "", "truncated or damaged gzip", _FILE) from None
    if len(content) > MOST_FILE_BYTES:
        raise InputError(name, "", f"more than {MOST_FILE_BYTES >> 30} GiB", _FILE)
    return name, read_value(content, name)


def _read_bytes(source: Source) -> tuple[str, bytes]:
    if isinstance(source, bytes):
        return "input", source
    path = os.fspath(source)
    name = "standard input" if path == "-" else path
    try:
        if path == "-":
            return name, sys.stdin.buffer.read(MOST_FILE_BYTES + 1)
        with open(path, "rb") as file:
            return name, file.read(MOST_FILE_BYTES + 1)
    except FileNotFoundError:
        found = "no such file"
    except IsADirectoryError:
        found = "a folder"
    except PermissionError:
        found = "a file that may not be read (no permission)"
    except OSError as error:
        found = f"that it cannot be read ({error.strerror or error})"
    except (ValueError, AttributeError) as error:  # a NUL in the path; standard input closed
        found = f"that it cannot be read ({error})"
    raise InputError(name, "", found, _FILE)


class _RepeatedName(dict[str, Any]):
    """A JSON object with a repeated name."""

    name: str
    """The first name that is repeated."""


def _parse(content: bytes, source: str) -> Any:
    """Return the JSON value in `content`. Unlike Python's parser, refuse repeated names and unpaired surrogates."""
    try:
        text = content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError as error:
        found = f"byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise InputError(source, f"byte {error.start}", found, _JSON) from None
    if not text.strip():
        raise InputError(source, "", "an empty text", _JSON)
    repeats: list[_RepeatedName] = []

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) == len(pairs):
            return result
        marked = _RepeatedName(result)
        marked.name = _first_repeat(name for name, _ in pairs)
        repeats.append(marked)
        return marked

    try:
        data = json.loads(text, object_pairs_hook=to_object)
    except json.JSONDecodeError as error:
        raise _syntax_error(error, source) from None
    except RecursionError:
        raise InputError(source, "", "lists or objects nested too deeply", _JSON) from None
    except ValueError:  # an integer of thousands of digits, which Python refuses to convert
        # Linear: a pattern with a least length would begin anew at each digit.
        digits = next((run for run in _DIGITS.finditer(text) if run.end() - run.start() >= MOST_DIGITS), None)
        at = f"line {text.count(chr(10), 0, digits.start()) + 1}" if digits else ""
        raise InputError(source, at, "an integer of thousands of digits", "integers within 64 bits") from None
    if repeats:
        place = find_path(data, lambda value: value is repeats[0]) or ""
        raise InputError(source, place, f"field {show_value(repeats[0].name)} twice", "each name once in an object")
    if "\\u" in text and _ESCAPED_SURROGATE.search(text):
        # json.loads has joined pairs, so most texts with such escapes are valid.
        half = find_path(data, lambda value: isinstance(value, str) and _SURROGATE.search(value) is not None)
        if half is not None:
            raise InputError(source, half, "half of a surrogate pair", "whole characters")
    return data


def _first_repeat(names: Iterable[str]) -> str:
    """Return the first repeated name. ValueError if no name is repeated."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("found each name once; allowed: a name twice")


def _syntax_error(error: json.JSONDecodeError, source: str) -> InputError:
    rest = error.doc[error.pos :]
    place = f"line {error.lineno}, column {error.colno}"
    if not rest.strip():
        return InputError(source, place, "the end of a truncated text", _JSON)
    if error.msg.startswith("Unterminated string"):
        return InputError(source, place, "an unterminated string", _JSON)
    expected = "one value and nothing after it" if error.msg == "Extra data" else error.msg.removesuffix(" at")
    expected = expected.replace("Expecting", "expected").replace("Invalid", "no invalid")
    return InputError(source, place, show_value(shorten(rest, 30)), f"{_JSON} ({expected})")


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: reading makes millions of objects and no garbage, and collecting would take longer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _drop_unknown_fields(data: Any, model: type[BaseModel]) -> set[str]:
    """Delete all fields unknown to the model from `data`, at any depth, and return them, such as `tasks[].colour`."""
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
    """Return (name, model, whether it is a list) of each field of `model` that holds objects of the format."""
    found = []
    for name, field in model.model_fields.items():
        below, is_list = _find_model(field.annotation)
        if below is not None:
            found.append((name, below, is_list))
    return tuple(found)


def _find_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the model in an annotation, or None, and whether it is in a tuple; looks through "or None" and Annotated."""
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


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def read_members(text: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each member of the object at the beginning of `text`, decoded on demand.

    It ends without an error where the text ends or is not JSON: `read_json` reads whole objects and reports errors.
    """
    at = _skip_space(text, 0)
    separator = "{"
    try:
        while text.startswith(separator, at):
            name, at = _DECODER.raw_decode(text, _skip_space(text, at + 1))
            at = _skip_space(text, at)
            if not isinstance(name, str) or not text.startswith(":", at):
                return
            value, at = _DECODER.raw_decode(text, _skip_space(text, at + 1))
            yield name, value
            at = _skip_space(text, at)
            separator = ","
    except (ValueError, RecursionError):
        return


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
