"""How fast clients restore.

Two snapshots and the lags in them tell how much a client restored between them. Older measurements count half as much each
time. If a client had finished by then, that is only a lower bound, and twice as much is believed. Times are the snapshots',
never the clock's (R9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.policy.constants import (
    BELIEVED_FIRST,
    BELIEVED_MEASURED,
    BELIEVED_MORE,
    BRIEF_MS,
    FIRST_LOOK_MS,
    LEAST_INTERVAL_MS,
    LEAST_TAUGHT_MS,
    MOMENT_MS,
    MOST_DOUBLINGS,
    REBALANCE_MS,
    SOON_MS,
    STARTS_MS,
    TRUSTED,
)
from optassign_models.problem import BoolArray, IntArray, Problem
from optassign_models.solving.inputs import RememberedAnswer, RememberedPace, Requests

_MOST_OFFSETS = (2**63 - 1) // 4_000
"""That are kept of what was restored: times a thousand, for a rate, and half as much again, they still are an int64."""


@dataclass(frozen=True, eq=False)
class ClientRates:
    """The rates of C clients; none where the snapshot carries no time."""

    taken_at: str | None
    elapsed_ms: int | None
    """Since the snapshot that the remembered pace is from."""
    offsets: IntArray
    """(C,) offsets restored in"""
    ms: IntArray
    """(C,) milliseconds of measurement; 0: not measured."""
    is_least: BoolArray
    """(C,) the client had always finished at each rebalance: the rate is a guess from a lower bound."""
    looks: int
    counts_idle: bool
    """This answer counts for R11 where a copy has made no progress."""
    counted_at: str | None
    interval_ms: int
    by_interval: bool
    """Follow-ups come after the interval, whatever is known."""

    @property
    def is_timed(self) -> bool:
        """Follow-ups come when copies are expected to be done, or, where no rate is known, soon."""
        if self.taken_at is None or self.by_interval:
            return False
        return self.rates() is not None or self.first_look_ms <= SOON_MS

    @property
    def first_look_ms(self) -> int:
        """Until the next look, where no rate is known."""
        return min(self.interval_ms, FIRST_LOOK_MS << min(self.looks, MOST_DOUBLINGS))

    @property
    def is_measured(self) -> bool:
        """Some client was seen at work: otherwise only lower bounds are known, if at all."""
        return bool(np.any((self.ms > 0) & ~self.is_least))

    def find_trusted_ms(self, clients: IntArray) -> float:
        """Milliseconds for which the rates of `clients` (n,) are believed; infinite where none was measured only briefly."""
        brief = self.ms[clients][(self.ms[clients] > 0) & (self.ms[clients] < BRIEF_MS) & ~self.is_least[clients]]
        return max(FIRST_LOOK_MS, TRUSTED * float(brief.min())) if len(brief) else np.inf

    def rates(self) -> IntArray | None:
        """(C,) offsets per second, at least 1; the median for a client without a rate, None if no client has one."""
        known = (self.ms > 0) & (self.offsets > 0)
        if not known.any():
            return None
        rate = self.offsets * 1000 // np.maximum(1, self.ms)
        return np.maximum(1, np.where(known, rate, int(np.median(rate[known]))))


def learn_rates(
    problem: Problem, requests: Requests, memory: RememberedAnswer, before: RememberedPace | None, taken_at: str | None
) -> ClientRates:
    """Bring the remembered rates up to date with what clients restored since.

    Args:
        before: the remembered pace; None where it, or the time of this snapshot, is not known.
        taken_at: the time of this snapshot.
    """
    nothing, is_least = np.zeros(problem.C, dtype=np.int64), np.zeros(problem.C, dtype=np.bool_)
    interval, by_interval = requests.interval_ms, requests.by_interval
    if before is None:
        return ClientRates(taken_at, None, nothing, nothing, is_least, 0, True, taken_at, interval, by_interval)
    offsets, ms, is_least, elapsed = before.offsets.copy(), before.ms.copy(), before.is_least.copy(), before.elapsed_ms
    for c in np.flatnonzero(ms).tolist():
        offsets[c], ms[c] = _shorten(int(offsets[c]), int(ms[c]))
    # A group at rest is not looked at, whatever it waits for: what comes after it begins anew, with a first look that is soon.
    asked = memory.asked_ms if memory.plan_differs else None
    followed = asked is not None
    looks = before.looks if followed else 0
    teaching = LEAST_TAUGHT_MS
    if asked is not None:
        teaching = min(teaching, max(REBALANCE_MS, asked + MOMENT_MS))
    progress = memory.progress
    tried = np.isin(progress.keys, memory.assigned) & (progress.lag > problem.acceptable_lag)
    if elapsed >= teaching and tried.any():
        restored = _learn(problem, progress.keys[tried], progress.lag[tried], elapsed, offsets, ms, is_least)
        looks = 0 if restored else looks + 1
    elif followed and elapsed >= REBALANCE_MS and not len(progress.keys):
        looks += 1
    counts = before.counted_ms is None or not 0 <= before.counted_ms < LEAST_INTERVAL_MS
    counted_at = taken_at if counts else before.counted_at
    return ClientRates(taken_at, elapsed, offsets, ms, is_least, looks, counts, counted_at, interval, by_interval)


def _learn(
    problem: Problem, keys: IntArray, lag: IntArray, elapsed: int, offsets: IntArray, ms: IntArray, is_least: BoolArray
) -> bool:
    """Bring `offsets`, `ms` and `is_least` up to date; whether anything was restored."""
    now = problem.lag_of(keys)
    client = keys % problem.C
    fell = np.maximum(0, lag - now)
    done = np.bincount(client, weights=problem.rank_of(keys) > 0, minlength=problem.C) == 0
    busy = max(elapsed - STARTS_MS, elapsed // 2)
    for c in np.unique(client).tolist():
        here, known, time = sum(fell[client == c].tolist()), int(offsets[c]), int(ms[c])
        if done[c]:
            # Done by now: the rate is at least this, and perhaps more than what was known.
            is_least[c] |= not known
            if not known:
                known, time = int(here * BELIEVED_FIRST), busy
            elif here * time > known * busy:
                known, time = int(here * BELIEVED_MORE), busy
            else:
                known = int(known * (BELIEVED_MORE if is_least[c] else BELIEVED_MEASURED))
        elif is_least[c]:
            known, time, is_least[c] = here, busy, False
        else:
            known, time = known // 2 + here, time // 2 + busy
        offsets[c], ms[c] = _shorten(known, time)
    return bool(fell.any())


def _shorten(offsets: int, ms: int) -> tuple[int, int]:
    """The same rate in numbers that are small enough: what is believed more and more, or restored at once, has no end."""
    while offsets > _MOST_OFFSETS and ms > 1:
        offsets, ms = offsets // 2, ms // 2
    return min(offsets, _MOST_OFFSETS), ms
