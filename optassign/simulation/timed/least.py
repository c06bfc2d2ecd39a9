"""The search for the least number that keeps a target, for targets that a greater number usually keeps too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Search", "find_least"]

SCANNED = 64
"""Most candidates that a capacity plan tries one by one; it bisects longer ranges. More instances may break a target that fewer
keep, so bisection may miss the fewest. A run takes less than a second."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the least number of one kind."""

    of: str
    tried: tuple[int, ...]
    by_bisection: bool
    """Whether numbers below the least were skipped, on the assumption that a greater number never breaks a target that a
    smaller number keeps. False if each smaller number of the range was tried."""
    broken_above: tuple[int, ...] = ()
    """Numbers above the least that break the target. If there are any, the assumption fails, and each smaller number was
    tried."""


def find_least(of: str, numbers: Sequence[int], keeps: Callable[[int], bool]) -> tuple[int | None, Search]:
    """Return the least of ascending numbers that keeps a target, or None, and the search.

    Up to `SCANNED` numbers are tried one by one from the least. With more numbers, the search bisects between the least and the
    greatest. If the greatest number breaks the target, or the number after the least found does, each number is tried from the
    least on.
    """
    known: dict[int, bool] = {}

    def ask(number: int) -> bool:
        if number not in known:
            known[number] = keeps(number)
        return known[number]

    def search(least: int | None, *, by_bisection: bool) -> tuple[int | None, Search]:
        above = tuple(
            sorted(number for number, is_kept in known.items() if least is not None and number > least and not is_kept)
        )
        return least, Search(of, tuple(sorted(known)), by_bisection, above)

    if len(numbers) > SCANNED and ask(numbers[-1]):
        low, high = -1, len(numbers) - 1  # `high` keeps the target, `low` does not
        while high - low > 1:
            middle = (low + high) // 2 if low >= 0 else low + 1
            low, high = (low, middle) if ask(numbers[middle]) else (middle, high)
        if high == len(numbers) - 1 or ask(numbers[high + 1]):
            return search(numbers[high], by_bisection=high > 0)
    return search(next((number for number in numbers if ask(number)), None), by_bisection=False)
