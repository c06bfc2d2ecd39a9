"""How fast clients restore, when a follow-up is due (R8), and how long the way to the plan takes.

1. Two snapshots and the lags in them tell how much a client restored between them. Older measurements count half as much each
   time. If a client had finished by then, that is only a lower bound, and twice as much is believed.
2. By the rates of clients, with a client's disk shared among what it restores, each copy has a time at which it is caught up.
3. The follow-up is due when the copies that it is for are, or some of them, where the others would keep free slots waiting.

Times are the snapshots', never the clock's (R9). If they carry none, the follow-up is due after the interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optassign.formats.assignment import ClientPace, Pace
from optassign.formats.base import INT64_MAX, to_ms
from optassign.solving.reading import RememberedAnswer, Requests
from optassign.solving.step import Note, Step
from optassign_models.policy.constants import (
    BELIEVED_FIRST,
    BELIEVED_MEASURED,
    BELIEVED_MORE,
    BRIEF_MS,
    FIRST_LOOK_MS,
    HALF_SOONER,
    IDLE_SHARE,
    LEAST_INTERVAL_MS,
    LEAST_TAUGHT_MS,
    LONG_IDLE_SHARE,
    MARGIN,
    MOMENT_MS,
    MOST_DOUBLINGS,
    REBALANCE_MS,
    SOON_MS,
    STARTS_MS,
    TRUSTED,
)
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, sort_unique

_MOST_OFFSETS = (2**63 - 1) // 4_000
"""That are kept of what was restored: times a thousand, for a rate, and half as much again, they still are an int64."""


FloatArray = npt.NDArray[np.float64]


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


def choose_delay(problem: Problem, pace: ClientRates, step: Step) -> int:
    """Milliseconds until the follow-up, at most the interval."""
    interval = pace.interval_ms
    if pace.by_interval or pace.taken_at is None or step.plan is None:
        return interval
    soon = min(interval, REBALANCE_MS << min(pace.looks, MOST_DOUBLINGS))
    if Note.HELD in step.notes and _is_any_ready(problem, step.plan, step.answer):
        return soon  # to hold owners back costs one rebalance, and not the time that copies take elsewhere
    relevant = _find_relevant(problem, step.plan, step)
    if not len(relevant):
        # Nothing restores that a follow-up would be for. Tasks on their way are there in a moment; a standby takes its time.
        return interval if len(step.warmups.waiting) else soon
    rates = pace.rates()
    if rates is None:
        return pace.first_look_ms
    restoring = step.answer.copy_keys(problem.C, problem.logged)
    restoring = sort_unique(np.concatenate([restoring[problem.rank_of(restoring) > 0], step.warmups.keys]))
    times = _estimate_times(problem, restoring, rates)
    due = np.sort(times[np.isin(restoring, relevant)])
    wait = float(due[-1])
    actives = np.sort(times[np.isin(restoring, relevant) & (step.plan.active[restoring // problem.C] == restoring % problem.C)])
    half = actives[(len(actives) - 1) // 2] if len(actives) > 1 else wait
    if step.is_over_share and len(actives) > 1 and half < HALF_SOONER * actives[-1]:
        wait = float(half)
    if step.warmups.is_queue_left:
        queue = np.sum(~np.isin(step.warmups.waiting, restoring))
        share = LONG_IDLE_SHARE if queue > 2 * problem.max_warmups else IDLE_SHARE
        wait = _wait_for_some(np.sort(times[np.isin(restoring, step.warmups.keys)]), due, share)
    if not pace.is_measured:
        # A client that had always finished perhaps finished at once: a lower bound may make its wait far too long.
        wait = min(wait, max(FIRST_LOOK_MS, float(pace.ms.max())))
    else:
        wait = min(wait, pace.find_trusted_ms(relevant % problem.C))
    return int(min(interval, max(soon, wait * MARGIN + MOMENT_MS)))


def _is_any_ready(problem: Problem, plan: Placement, answer: Placement) -> bool:
    """Whether a task is active elsewhere though the target's client is caught up."""
    away = np.flatnonzero(plan.active != answer.active)
    return bool(np.any(problem.rank_of(away * problem.C + plan.active[away]) == 0))


def estimate_to_balance(problem: Problem, pace: ClientRates, step: Step) -> int | None:
    """Milliseconds until the target is reached: what disks and slots take, and a rebalance for each batch of copies.

    None where the snapshots carry no times, or nothing is waited for.
    """
    if pace.taken_at is None or step.plan is None or not len(step.warmups.waiting):
        return None
    held = np.isin(step.warmups.waiting, step.answer.copy_keys(problem.C, problem.logged))
    in_line = step.warmups.waiting[~held & (problem.rank_of(step.warmups.waiting) > 0)]
    batches = max(1, -(-len(in_line) // problem.max_warmups))
    rates = pace.rates()
    if pace.by_interval:
        return batches * pace.interval_ms
    if rates is None:
        return batches * (FIRST_LOOK_MS + REBALANCE_MS)
    client = step.warmups.waiting % problem.C
    lags = problem.lag_of(step.warmups.waiting)
    # Standbys in their places are not waited for, but share the disks of clients with copies that are.
    matters = np.isin(client, np.union1d(_find_relevant(problem, step.plan, step), in_line) % problem.C)
    on_disk, in_slots = (
        np.bincount(client[some], weights=lags[some], minlength=problem.C) * 1000.0 / rates
        for some in (matters, np.isin(step.warmups.waiting, in_line))
    )
    by_disks, by_slots = float(on_disk.max()), float(np.cumsum(in_slots)[-1]) / problem.max_warmups
    return min(INT64_MAX, int(max(by_disks, by_slots, batches * REBALANCE_MS) + batches * REBALANCE_MS))


def _find_relevant(problem: Problem, plan: Placement, step: Step) -> IntArray:
    """Keys of the copies that a follow-up is for: those in slots, and cold planned actives that the answer holds already.

    A standby in its place restores by itself, and nothing follows when it has, unless a warm-up waits for room.
    """
    logged = np.flatnonzero(problem.logged)
    planned = logged * problem.C + plan.active[logged]
    planned = plan.copy_keys(problem.C, problem.logged) if step.warmups.waits_for_room else planned
    held = np.intersect1d(planned, step.answer.copy_keys(problem.C, problem.logged), assume_unique=True)
    return sort_unique(np.concatenate([step.warmups.keys, held[problem.rank_of(held) > 0]]))


def _estimate_times(problem: Problem, keys: IntArray, rates: IntArray) -> FloatArray:
    """(n,) milliseconds until each copy is restored, with all copies of a client at equal shares of its rate."""
    left = problem.lag_of(keys)  # all of it: what is left when a task moves, it is down for
    client = keys % problem.C
    order = np.lexsort((left, client))
    times = np.zeros(len(keys))
    passed, done, place = 0.0, 0, 0
    number = np.bincount(client, minlength=problem.C)
    last = -1
    for k in order.tolist():
        c, offsets = int(client[k]), int(left[k])
        if c != last:
            passed, done, place, last = 0.0, 0, 0, c
        passed += (offsets - done) * (int(number[c]) - place) * 1000 / int(rates[c])
        done, place = offsets, place + 1
        times[k] = passed
    return times


def _wait_for_some(slots: FloatArray, due: FloatArray, share: float) -> float:
    """The last of the times at which it is worth to look: free slots have not waited for too long by then."""
    chosen = float(due[0])
    for x in due.tolist():
        idle = float(np.sum(np.maximum(0.0, x - slots)))
        if idle <= len(slots) * max(share * x, REBALANCE_MS):
            chosen = x
    return chosen
