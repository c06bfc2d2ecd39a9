"""The text of `Topology#describe()`: which stores each subtopology has."""

from __future__ import annotations

import re

from optassign.formats.input_errors import InputError

__all__ = ["read_stores"]

_LINE = re.compile(r"Sub-topology:\s*(?P<number>\d+)|\(stores:\s*\[(?P<stores>[^\]]*)\]\)")


def read_stores(text: str, source: str) -> dict[int, frozenset[str]]:
    """Number of each subtopology -> the names of its stores. InputError, about `source`, if the text has no subtopology."""
    stores: dict[int, set[str]] = {}
    number: int | None = None
    for found in _LINE.finditer(text):
        if found["number"] is not None:
            number = int(found["number"])
            stores.setdefault(number, set())
        elif number is not None:
            stores[number] |= {name.strip() for name in found["stores"].split(",") if name.strip()}
    if not stores:
        raise InputError(source, "", "no line that begins with Sub-topology:", "what Topology#describe() prints")
    return {number: frozenset(names) for number, names in stores.items()}
