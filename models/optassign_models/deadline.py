"""The wall clock as a guard: what a solver may still take, whatever its limits in work say."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A point in time by the monotonic clock, in seconds; infinite if there is none."""

    at: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return a deadline `seconds` seconds from now."""
        return cls(math.inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self.at - time.monotonic())

    def less(self, seconds: float) -> Deadline:
        """Return the deadline that is this many seconds earlier."""
        return Deadline(self.at - seconds)
