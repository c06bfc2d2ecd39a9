"""Coming events in the order of time: a heap of (time, sequence, event), so that a run repeats to the byte."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

Action = Callable[[], None]


class Agenda:
    """Actions by the time at which they are due; of one time, the one that was planned first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Action]] = []
        self._planned = 0
        self._cancelled: set[int] = set()

    def plan(self, at: float, action: Action) -> int:
        """A number, by which the action can be cancelled."""
        self._planned += 1
        heapq.heappush(self._heap, (max(at, self.now), self._planned, action))
        return self._planned

    def plan_in(self, seconds: float, action: Action) -> int:
        """As `plan`, from now."""
        return self.plan(self.now + seconds, action)

    def cancel(self, number: int) -> None:
        """The action does not happen. Only for one that has not happened yet."""
        self._cancelled.add(number)

    @property
    def next_at(self) -> float:
        """When the next action is due; infinite if there is none."""
        while self._heap and self._heap[0][1] in self._cancelled:
            self._cancelled.discard(heapq.heappop(self._heap)[1])
        return self._heap[0][0] if self._heap else math.inf

    def take(self) -> Action:
        """The next action, out of the heap; it is now the time at which it is due."""
        self.now, _, action = heapq.heappop(self._heap)
        return action
