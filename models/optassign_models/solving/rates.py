"""The rates at which clients restore, and the evidence for them.

The lags in two snapshots tell how much a client restored between them. A member reports its lags when it joins the rebalance,
up to a heartbeat before the assignment. So the elapsed time is known only within bounds, and the fastest rate within these
bounds counts, because a look that comes too early costs least. A rate is the mean of agreeing measurements over about
`RATE_WINDOW_MS`; a measurement that disagrees counts at least as much as those before it. If a client has nothing left to
restore, its rate is only a lower bound. Times are the snapshots', never the clock's (R9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from optassign_models.policy import constants as policy
from optassign_models.problem import BoolArray, IntArray, Problem
from optassign_models.solving.inputs import RememberedAnswer

_MOST_OFFSETS = (2**63 - 1) // 4_000
"""The greatest `offsets` of a rate: `ClientRates.rates` multiplies them by 1,000 within int64."""


class Evidence(IntEnum):
    """The evidence for a client's rate; the names are part of the format."""

    NONE = 0
    BOUND = 1
    """Only lower bounds were measured, as the client had finished or just begun: the rate is a guess from them."""
    ONCE = 2
    """Measured, but the last measurement differs from the mean before it, or there is one measurement only."""
    STEADY = 3
    """The last measurement agrees with the mean before it."""


@dataclass(frozen=True)
class Rate:
    """The rate of one client: `offsets` restored in `ms` milliseconds; `ms` is 0 if it was not measured."""

    offsets: int
    ms: int
    evidence: Evidence

    def is_slower(self, offsets: int, ms: int) -> bool:
        """Return whether this rate is below `offsets` in `ms`."""
        return offsets * self.ms > self.offsets * ms

    def agrees(self, offsets: int, ms: int) -> bool:
        """Return whether this rate and `offsets` in `ms` differ by at most the factor `AGREES`."""
        mine, other = self.offsets * ms, offsets * self.ms
        return 0 < max(mine, other) <= policy.AGREES * min(mine, other)


@dataclass(frozen=True, eq=False)
class ClientRates:
    """The rates of C clients; not measured if a snapshot has no time."""

    taken_at: str | None
    elapsed_ms: int | None
    """Time since the snapshot of the remembered rates; None without such rates."""
    offsets: IntArray
    """(C,) offsets restored within `ms`."""
    ms: IntArray
    """(C,) milliseconds of measurement; 0 if not measured."""
    evidence: IntArray
    """(C,) `Evidence` of each rate."""
    looks: int
    """Follow-ups in a row that found nothing restored."""
    counted_at: str | None
    counted_ms: int | None
    """Time since the snapshot of the last answer that counted for R11 before this one; None if there is none."""
    interval_ms: int
    """The longest time between follow-ups."""
    by_interval: bool
    """Whether follow-ups come after the interval, regardless of rates."""

    @property
    def counts_idle(self) -> bool:
        """Whether this answer counts for R11 as an answer without progress, for copies whose lag has not fallen."""
        return self.counted_ms is None or not 0 <= self.counted_ms < policy.LEAST_INTERVAL_MS

    @property
    def is_timed(self) -> bool:
        """Whether follow-ups come when copies are expected to be done (soon, if no rate is known), not by the interval."""
        if self.taken_at is None or self.by_interval:
            return False
        return self.rates() is not None or self.first_look_ms <= policy.SOON_MS

    @property
    def first_look_ms(self) -> int:
        """Time until the next look if no rate is known; doubled by each look that found nothing restored."""
        return min(self.interval_ms, policy.FIRST_LOOK_MS << min(self.looks, policy.MOST_DOUBLINGS))

    @property
    def is_trusted(self) -> BoolArray:
        """(C,) whether each client's rate is steady and its mean covers the whole window."""
        return (self.evidence == Evidence.STEADY) & (self.ms >= policy.RATE_WINDOW_MS)

    def rates(self) -> IntArray | None:
        """Return (C,) offsets per second, at least 1; the median for a client without a rate, None if no client has one."""
        known = (self.ms > 0) & (self.offsets > 0)
        if not known.any():
            return None
        rate = self.offsets * 1000 // np.maximum(1, self.ms)
        return np.maximum(1, np.where(known, rate, int(np.median(rate[known]))))


def learn_rates(problem: Problem, memory: RememberedAnswer, before: ClientRates) -> ClientRates:
    """Return the remembered rates, updated by the offsets that clients have restored since.

    A second pass teaches nothing: its lags may be as old as the answer before it.
    """
    elapsed = before.elapsed_ms
    if elapsed is None:
        return replace(before, counted_at=before.taken_at)
    known = zip(before.offsets.tolist(), before.ms.tolist(), before.evidence.tolist(), strict=True)
    rates = [_shorten(offsets, ms, Evidence(evidence if ms else 0)) for offsets, ms, evidence in known]
    # A group at rest has no looks, so the count begins anew after it, with an early first look.
    asked = memory.asked_ms if memory.plan_differs else None
    looks = before.looks if asked is not None else 0
    teaching = policy.LAG_AGE_MS if asked is None else min(policy.LAG_AGE_MS, max(policy.REBALANCE_MS, asked))
    # A member joins a follow-up rebalance when it is due, or later, so its lags are no older than that.
    age = policy.LAG_AGE_MS if asked is None or elapsed < asked else min(policy.LAG_AGE_MS, elapsed - asked)
    progress = memory.progress
    tried = np.isin(progress.keys, memory.assigned) & (progress.lag > problem.acceptable_lag)
    if elapsed >= teaching and tried.any() and not memory.in_transit.any():
        keys, client = progress.keys[tried], progress.keys[tried] % problem.C
        fell = np.maximum(0, progress.lag[tried] - problem.lag_of(keys))
        is_done = np.bincount(client, weights=problem.rank_of(keys) > 0, minlength=problem.C) == 0
        for c in np.unique(client).tolist():
            here = client == c
            starting = policy.START_MS - int(progress.under_way_ms[tried][here].max())
            restored, is_start = sum(fell[here].tolist()), 2 * starting > elapsed
            rates[c] = _update_rate(rates[c], restored, elapsed, age, is_start=is_start, is_done=bool(is_done[c]))
        looks = 0 if fell.any() else looks + 1
    elif asked is not None and elapsed >= policy.REBALANCE_MS and not len(progress.keys):
        looks += 1
    counted_at = before.taken_at if before.counts_idle else before.counted_at
    offsets, ms, evidence = np.array([(r.offsets, r.ms, r.evidence) for r in rates], dtype=np.int64).reshape(-1, 3).T
    return replace(before, offsets=offsets, ms=ms, evidence=evidence, looks=looks, counted_at=counted_at)


def _update_rate(known: Rate, offsets: int, elapsed_ms: int, age_ms: int, *, is_start: bool, is_done: bool) -> Rate:
    """Return the rate of a client after a measurement: it restored `offsets` between two snapshots.

    Args:
        known: the rate before.
        offsets: offsets restored.
        elapsed_ms: time between the snapshots.
        age_ms: the age that the later lags may have.
        is_start: whether most of that time was a start, which is slow and shows at most that the known rate was too low.
        is_done: whether every copy was caught up by then, perhaps long before, so that the rate is a lower bound.
    """
    if is_start and not is_done and not known.is_slower(offsets, elapsed_ms):
        return known
    if not is_start and not is_done:
        ms = max(elapsed_ms - age_ms, elapsed_ms // 2)
        if known.evidence < Evidence.ONCE:
            return _shorten(offsets, ms, Evidence.ONCE)
        is_steady = known.agrees(offsets, ms)
        kept = max(0, min(known.ms, policy.RATE_WINDOW_MS - ms)) if is_steady else min(known.ms // 2, ms)
        evidence = Evidence.STEADY if is_steady else Evidence.ONCE
        return _shorten(known.offsets * kept // max(1, known.ms) + offsets, kept + ms, evidence)
    if known.evidence == Evidence.NONE:
        return _shorten(int(offsets * policy.BELIEVED_FIRST), elapsed_ms, Evidence.BOUND)
    if known.is_slower(offsets, elapsed_ms):
        return _shorten(int(offsets * policy.BELIEVED_MORE), elapsed_ms, min(known.evidence, Evidence.ONCE))
    more = policy.BELIEVED_MORE if known.evidence == Evidence.BOUND else policy.BELIEVED_MEASURED
    return _shorten(int(known.offsets * more), known.ms, known.evidence)


def _shorten(offsets: int, ms: int, evidence: Evidence) -> Rate:
    """Return the rate with `offsets` and `ms` halved until `offsets` fits; factors on lower bounds let it grow without end."""
    while offsets > _MOST_OFFSETS and ms > 1:
        offsets, ms = offsets // 2, ms // 2
    return Rate(min(offsets, _MOST_OFFSETS), ms, evidence)
