"""A dictionary of bounded size, for names from requests."""

from collections import OrderedDict
from typing import TypeVar

__all__ = ["Newest"]

MOST_KNOWN = 256
"""Number of applications remembered, the most recent first. Names come from requests, so memory needs a bound."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class Newest(OrderedDict[_K, _V]):
    """A dictionary of the `most` entries that were most recently set, or moved to the end (`move_to_end`)."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _K, value: _V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)
