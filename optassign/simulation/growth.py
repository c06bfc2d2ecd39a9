"""Changelogs that are written while a group converges: how much between two rebalances, and how far behind copies are then."""

import math
import random
from collections.abc import Iterable, Mapping

from optassign.formats.base import INT64_MAX
from optassign.formats.state import ApplicationState

__all__ = ["Growth"]


class Growth:
    """Writes of a group, decided by a seed; each step from a rebalance to the next draws anew, in the order of the calls.

    R, what one copy restores in a step: a step is as long as it takes to restore what was assigned, and a copy that begins with
    nothing restores a whole changelog in it. So R is the mean whole changelog of the first snapshot.

    Each changelog grows by the same number of offsets in every step, drawn once: all whole numbers from 0 to ⌊share × R⌋ are
    equally likely. None grows beyond 2⁶³ − 1.

    Restored standbys and warm-ups follow their changelogs closely, but are seen at any moment. Each lags by a number that is
    drawn in every step, from 0 to what its changelog grew by, at most `acceptable_recovery_lag`, so it counts as caught up.
    """

    def __init__(self, state: ApplicationState, share: float, seed: int) -> None:
        """For the convergence from `state`. ValueError for a share below 0."""
        if not 0 <= share < math.inf:
            raise ValueError(f"growth: found {share}; allowed: 0 or more")
        full = state.full_lags
        most = int(share * (sum(full.values()) / max(1, len(full))))
        self._random = random.Random(seed)
        self._written = {task: self._random.randint(0, most) for task in full}
        self._acceptable = state.configs.acceptable_recovery_lag

    def write(self, full: Mapping[str, int]) -> dict[str, int]:
        """Logged task -> offsets that are written to its changelog in one step. `full`: logged task -> whole changelog."""
        return {task: min(self._written[task], INT64_MAX - end) for task, end in full.items()}

    def draw_lags(self, copies: Iterable[str], written: Mapping[str, int]) -> dict[str, int]:
        """Task -> lag of a client's restored copy of it, a step in which so much was written later."""
        return {task: self._random.randint(0, min(written[task], self._acceptable)) for task in copies}
