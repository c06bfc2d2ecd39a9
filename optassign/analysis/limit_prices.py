"""The price of each limit: the restore work and moves that the target would save without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import name_limits
from optassign.formats.state import ApplicationState
from optassign.judging.explain import explain_answer
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.placement import planned_placement


@dataclass(frozen=True, slots=True)
class LimitPrice:
    """The cost of one limit in a target, with all other limits kept; negative if the target without the limit costs more."""

    limit: str
    restored: int
    """Additional offsets that the target restores."""
    moves: int
    """Additional active tasks that the target moves."""


def price_limits(state: ApplicationState, answer: TaskAssignment, assignor: str, seconds: float) -> tuple[LimitPrice, ...]:
    """Return the price of each limit of the snapshot's options, in order; each limit takes one more call of the assignor.

    Args:
        answer: the answer to the snapshot with all limits.
        assignor: name of the assignor that answers without one limit, each time within `seconds`.
    """
    limits, options = state.options.limits, state.options
    restored, moves = _measure(state, answer)
    prices = []
    for place, name in enumerate(name_limits(limits)):
        fewer = options.model_copy(update={"limits": limits[:place] + limits[place + 1 :]})
        without = state.model_copy(update={"options": fewer})
        restored_without, moves_without = _measure(without, assign(without, assignor, seconds))
        prices.append(LimitPrice(name, restored - restored_without, moves - moves_without))
    return tuple(prices)


def _measure(state: ApplicationState, answer: TaskAssignment) -> tuple[int, int]:
    """Return the offsets that the answer's target restores, and the active tasks that it moves."""
    return explain_answer(state, answer).planned_work, len(find_moved_actives(state, planned_placement(state, answer)))


def prices_to_lines(prices: Iterable[LimitPrice]) -> Iterator[str]:
    """Yield a line for each limit."""
    for price in prices:
        if price.restored or price.moves:
            change = f"{price.restored:+,} offsets, moves {price.moves:+,} active tasks"
            yield f"price of limit {price.limit}: the target restores {change}"
        else:
            yield f"price of limit {price.limit}: nothing"
