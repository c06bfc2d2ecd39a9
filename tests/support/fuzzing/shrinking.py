"""The search for a shorter input with the same fault."""

import json
from collections.abc import Callable, Iterator
from typing import Any

_MOST_TRIES = 3_000


def shrink(content: bytes, still: Callable[[bytes], bool]) -> bytes:
    """Return a shorter input for which `still` holds, without JSON fields, elements and bytes that the fault does not need."""
    tries = iter(range(_MOST_TRIES))

    def try_one(shorter: bytes) -> bool:
        return next(tries, None) is not None and still(shorter)

    return _shrink_bytes(_shrink_json(content, try_one), try_one)


def _shrink_json(content: bytes, still: Callable[[bytes], bool]) -> bytes:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return content
    found = True
    while found:
        found = False
        for shorter in _leave_one_out(data):
            text = json.dumps(shorter).encode()
            if len(text) < len(content) and still(text):
                data, content, found = shorter, text, True
                break
    return content


def _leave_one_out(value: Any) -> Iterator[Any]:
    """Yield the value without one of its elements or fields, for each of them."""
    if isinstance(value, list):
        for i, element in enumerate(value):
            yield value[:i] + value[i + 1 :]
            yield from ([*value[:i], less, *value[i + 1 :]] for less in _leave_one_out(element))
    elif isinstance(value, dict):
        for key, element in value.items():
            yield {other: kept for other, kept in value.items() if other != key}
            yield from ({**value, key: less} for less in _leave_one_out(element))


def _shrink_bytes(content: bytes, still: Callable[[bytes], bool]) -> bytes:
    width = len(content) // 2
    while width:
        at = 0
        while at < len(content):
            shorter = content[:at] + content[at + width :]
            if still(shorter):
                content = shorter
            else:
                at += width
        width //= 2
    return content
