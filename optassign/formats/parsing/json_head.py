"""The first members of a JSON object, without decoding the rest of it."""

import json
import re
from collections.abc import Iterator
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def read_members(text: str) -> Iterator[tuple[str, Any]]:
    """(name, value) of each member of the object that `text` begins with, in their order, each decoded when it is asked for.

    Ends without an error where the text ends or is no JSON: a whole object is read by `reading.py`, with its errors.
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
