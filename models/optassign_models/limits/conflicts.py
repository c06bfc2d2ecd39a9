"""Which limits contradict each other: a conflicting set from which none can be left out (deletion-based)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def choose_compatible(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """The items that can hold together, each in its turn where those before it leave room: the last named give way first."""
    if is_possible(items):
        return list(items)
    kept: list[Item] = []
    for item in items:
        if is_possible([*kept, item]):
            kept.append(item)
    return kept


def find_conflict(items: Sequence[Item], is_possible: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """Find among items that cannot hold together some that cannot either, though they could without any one of them.

    Each item is left out for good where the others still contradict. As many questions as items.
    """
    left = list(items)
    for item in reversed(items):
        without = [other for other in left if other is not item]
        if not is_possible(without):
            left = without
    return left
