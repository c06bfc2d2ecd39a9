"""How fast clients restore, by what the times between answers have taught.

Two snapshots and the lags in them tell how much a client restored between them. Older measurements count half as much each
time. If a client had finished by then, that is only a lower bound, and twice as much is believed.

Times are the snapshots', never the clock's (R9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optassign.formats.assignment import ClientPace, Pace
from optassign.formats.base import to_ms
from optassign.solving.reading import RememberedAnswer, Requests
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

    def report(self, clients: tuple[str, ...]) -> Pace | None:
        """For the answer, which carries it to the next one."""
        if self.taken_at is None:
            return None
        known = np.flatnonzero(self.ms).tolist()
        rows = [
            ClientPace(process_id=clients[c], offsets=int(offsets), ms=int(ms), is_least=bool(least))
            for c, offsets, ms, least in zip(known, self.offsets[known], self.ms[known], self.is_least[known], strict=True)
        ]
        return Pace(taken_at=self.taken_at, clients=tuple(rows), looks=self.looks, counted_at=self.counted_at)

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


def read_pace(
    taken_at: str | None, requests: Requests, memory: RememberedAnswer, problem: Problem, client_at: Mapping[str, int]
) -> ClientRates:
    """Read the pace from the remembered answer and the time since.

    Args:
        taken_at: the time of this snapshot.
        client_at: process id → client.
    """
    nothing, is_least = np.zeros(problem.C, dtype=np.int64), np.zeros(problem.C, dtype=np.bool_)
    interval, by_interval = requests.interval_ms, requests.by_interval
    before = memory.report.pace
    if taken_at is None or before is None:
        return ClientRates(taken_at, None, nothing, nothing, is_least, 0, True, taken_at, interval, by_interval)
    elapsed = to_ms(taken_at) - to_ms(before.taken_at)
    offsets, ms = nothing.copy(), nothing.copy()
    for row in before.clients:
        if row.process_id in client_at:
            c = client_at[row.process_id]
            offsets[c], ms[c] = _shorten(row.offsets, row.ms)
            is_least[c] = row.is_least
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
    counted = None if before.counted_at is None else to_ms(taken_at) - to_ms(before.counted_at)
    counts = counted is None or not 0 <= counted < LEAST_INTERVAL_MS
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
