"""The search for the least number that keeps a target, where a greater number mostly keeps it, too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optassign_models.policy.constants import SCANNED

__all__ = ["Search", "find_least"]


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the least number of one kind."""

    of: str
    tried: tuple[int, ...]
    by_bisection: bool
    """Numbers below the least were left out, on the assumption that a greater number never breaks a target that a smaller one
    keeps. False: each smaller number of the range was tried."""
    broken_above: tuple[int, ...] = ()
    """Numbers above the least that break the target: the assumption does not hold, so each smaller number was tried."""


def find_least(of: str, numbers: Sequence[int], keeps: Callable[[int], bool]) -> tuple[int | None, Search]:
    """Find the least of ascending numbers that keeps a target.

    Up to `SCANNED` numbers are tried one by one from the least. Of more, the search bisects between the least and the greatest;
    if the next number after the least found breaks the target, or the greatest does, each number is tried from the least on.
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
