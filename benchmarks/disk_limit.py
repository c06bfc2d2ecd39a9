"""What disks and slots allow: how long a list schedule takes that knows every rate and loses no moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(slots=True)
class Copy:
    """A copy to be restored. Offsets, offsets per second."""

    client: str
    lag: float
    growth: float
    needs_slot: bool
    """Else it restores from the start on: R3 to R5 have put it there."""
    is_awaited: bool = True
    """A task moves once it is restored."""
    acceptable: float = 0.0
    """Lag at which it counts as restored."""


def schedule_restoring(copies: Sequence[Copy], rates: Mapping[str, float], slots: int, pass_s: float) -> float:
    """Seconds until all copies that are awaited are restored, if a rebalance begins at once where a slot is free.

    A slot goes to the client with fewest slots, of these to the one with most seconds left, and there to the copy with most left.
    It is a rebalance that gives it, so between two copies it is empty for `pass_s` seconds. The copies that a client restores share its rate; every changelog grows by what is written, whether its copy waits or restores.
    """
    now, under_way = 0.0, [replace(copy) for copy in copies if not copy.needs_slot]
    queue = [replace(copy) for copy in copies if copy.needs_slot]
    used: Counter[str] = Counter()
    free_at = [0.0] * slots
    while any(copy.is_awaited for copy in (*queue, *under_way)):
        while queue and free_at and free_at[0] <= now:
            free_at.pop(0)
            best = _choose_next(queue, used, rates, now)
            queue.remove(best)
            best.lag += best.growth * now
            used[best.client] += 1
            under_way.append(best)
        number = Counter(copy.client for copy in under_way)
        closing = [rates[copy.client] / number[copy.client] - copy.growth for copy in under_way]
        times = [
            max(0.0, copy.lag - copy.acceptable) / speed for copy, speed in zip(under_way, closing, strict=True) if speed > 0
        ]
        if queue and free_at:
            times.append(free_at[0] - now)
        if not times:
            raise ValueError("changelogs grow faster than they are restored")
        step = min(times)
        now += step
        going: list[Copy] = []
        for copy, speed in zip(under_way, closing, strict=True):
            copy.lag -= speed * step
            if copy.lag > copy.acceptable + 1e-6 * rates[copy.client]:
                going.append(copy)
            elif copy.needs_slot:
                used[copy.client] -= 1
                free_at.append(now + pass_s)
        under_way = going
    return now


def _choose_next(queue: Sequence[Copy], used: Mapping[str, int], rates: Mapping[str, float], now: float) -> Copy:
    seconds: Counter[str] = Counter()
    for copy in queue:
        seconds[copy.client] += (copy.lag + copy.growth * now) / rates[copy.client]  # type: ignore[assignment]
    return min(queue, key=lambda copy: (used[copy.client], -seconds[copy.client], -copy.lag))
