"""java.util.PriorityQueue: a binary heap in an array; equal histories give equal layouts.

Python's heapq sifts otherwise, so items of equal keys come out in another order.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any


class JavaHeap:
    """Items are indices into `keys`, each at most once. Keys may be changed; as in Java the heap does not notice."""

    def __init__(self, keys: Sequence[Any], items: Iterable[int]) -> None:
        self._keys = keys
        self._items: list[int] = []
        for item in items:
            self.add(item)

    def __contains__(self, item: int) -> bool:
        return item in self._items

    def add(self, item: int) -> None:
        """Put in an item that is not there."""
        self._items.append(item)
        self._rise(len(self._items) - 1)

    def pop_until(self, wanted: Container[int]) -> list[int]:
        """Take out items in the heap's order, up to and with the first wanted one; all of them if none is."""
        items, popped = self._items, []
        while items:
            popped.append(items[0])
            moved = items.pop()
            if items:
                self._sink(0, moved)
            if popped[-1] in wanted:
                break
        return popped

    def remove(self, item: int) -> None:
        """Take out an item. ValueError if it is not there."""
        at = self._items.index(item)
        moved = self._items.pop()
        if at < len(self._items):
            self._sink(at, moved)
            if self._items[at] == moved:
                self._rise(at)

    def is_in_order(self) -> bool:
        """Whether no item is less than the one above it."""
        keys = [self._keys[item] for item in self._items]
        return all(keys[(at - 1) // 2] <= keys[at] for at in range(1, len(keys)))

    def _rise(self, at: int) -> None:
        """Moves an item up until it is not less than the one above it (PriorityQueue.siftUp)."""
        items, keys = self._items, self._keys
        item = items[at]
        key = keys[item]
        while at and key < keys[items[(at - 1) // 2]]:
            items[at] = items[(at - 1) // 2]
            at = (at - 1) // 2
        items[at] = item

    def _sink(self, at: int, item: int) -> None:
        """Puts an item in at a place and moves it down until none below is less (PriorityQueue.siftDown)."""
        items, keys = self._items, self._keys
        key, end = keys[item], len(items)
        below = 2 * at + 1
        while below < end:
            lesser = keys[items[below]]
            if below + 1 < end and (right := keys[items[below + 1]]) < lesser:
                below, lesser = below + 1, right
            if key <= lesser:
                break
            items[at] = items[below]
            at = below
            below = 2 * at + 1
        items[at] = item
