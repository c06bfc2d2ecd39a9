"""A queue of actions in simulated time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

Action = Callable[[], None]


class Agenda:
    """A queue of actions by due time; actions of the same time run in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Action]] = []
        self._planned = 0
        self._cancelled: set[int] = set()

    def plan(self, at: float, action: Action) -> int:
        """Add an action at a time, and return a number for `cancel`."""
        self._planned += 1
        heapq.heappush(self._heap, (max(at, self.now), self._planned, action))
        return self._planned

    def plan_in(self, seconds: float, action: Action) -> int:
        """Add an action `seconds` from now, and return a number for `cancel`."""
        return self.plan(self.now + seconds, action)

    def cancel(self, number: int) -> None:
        """Cancel an action that has not been taken yet."""
        self._cancelled.add(number)

    @property
    def next_at(self) -> float:
        """Return the time of the next action; infinite if there is none."""
        while self._heap and self._heap[0][1] in self._cancelled:
            self._cancelled.discard(heapq.heappop(self._heap)[1])
        return self._heap[0][0] if self._heap else math.inf

    def take(self) -> Action:
        """Remove and return the next action, and advance `now` to its time."""
        self.now, _, action = heapq.heappop(self._heap)
        return action
