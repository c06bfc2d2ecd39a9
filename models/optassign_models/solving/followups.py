"""The time until a follow-up is due (R8), and until the plan is reached.

The rate of a client, shared among the copies that it restores, gives the time at which each copy is caught up. The follow-up is
due when the copies that it is for are caught up, or a part of them if free slots would wait too long for the rest. If the
snapshots carry no times, it is due after the interval.
"""

from __future__ import annotations

import numpy as np

from optassign_models.policy import constants as policy
from optassign_models.problem import FloatArray, IntArray, Placement, Problem, sort_unique
from optassign_models.results import OWNERS_HELD, Reason, Step
from optassign_models.solving.inputs import Requests
from optassign_models.solving.rates import ClientRates
from optassign_models.solving.situation import Situation
from optassign_models.warmups import Progress

_LATEST_MS = int(np.iinfo(np.int64).max)


def time_followup(situation: Situation, step: Step) -> int | None:
    """Return milliseconds until the group's next rebalance is due; None if none is needed."""
    requests, memory, pace = situation.requests, situation.memory, situation.pace
    delay = choose_delay(situation.problem, pace, step) if step.followup else None
    if step.reason is Reason.HELD and requests.hold_ends_ms is not None:
        # Every pending move waits for the end of the pause, and no other event would start a rebalance then.
        delay = min(policy.REBALANCE_MS + requests.hold_ends_ms, delay if delay is not None else _LATEST_MS)
    if step.probing:
        delay = memory.asked_ms if memory.asked_ms is not None else delay
        if delay is not None and pace.elapsed_ms is not None and not pace.by_interval:
            delay = max(policy.LEAST_AFTER_PASS_MS, min(delay, delay - pace.elapsed_ms))
    if delay is None and step.reason is not Reason.HEURISTIC:
        delay = _wait_at_rest(requests, pace)
    if delay is not None and step.reason is Reason.CONFIRMED and not pace.by_interval and memory.new_drains:
        return min(delay, policy.REBALANCE_MS)  # a drain that came between the passes takes effect soon
    return delay


def _wait_at_rest(requests: Requests, pace: ClientRates) -> int | None:
    """Return milliseconds until a group at rest rebalances, not before quiet hours end; None for never.

    It rebalances as soon as all its input rates count (R8), otherwise for possible requests of its operator.
    """
    after_hold = 0 if requests.hold_ends_ms is None else min(_LATEST_MS, policy.REBALANCE_MS + requests.hold_ends_ms)
    has_no_end = requests.is_paused and requests.hold_ends_ms is None
    if requests.wait_for_rates_ms is not None and not has_no_end:
        return max(requests.wait_for_rates_ms, pace.interval_ms if pace.by_interval else 0, after_hold)
    return None if requests.idle_ms is None else max(requests.idle_ms, after_hold)


def choose_delay(problem: Problem, pace: ClientRates, step: Step) -> int:
    """Return milliseconds until the follow-up, at most the interval."""
    interval = pace.interval_ms
    if pace.by_interval or pace.taken_at is None or step.plan is None:
        return interval
    soon = min(interval, policy.REBALANCE_MS << min(pace.looks, policy.MOST_DOUBLINGS))
    away = np.flatnonzero(step.plan.active != step.answer.active)
    if OWNERS_HELD in step.notes and np.any(problem.rank_of(away * problem.C + step.plan.active[away]) == 0):
        return soon  # owners held back from caught-up clients cost one rebalance, not the time that other copies take
    relevant = _find_relevant(problem, step.plan, step)
    if not len(relevant):
        # No copy restores that a follow-up would be for. Tasks in transit arrive in a moment; standbys wait for the interval.
        return interval if len(step.warmups.waiting) else soon
    rates = pace.rates()
    longest = _bound_wait(problem, pace, relevant, step.warmups.progress)
    if pace.looks and not step.warmups.stalled:
        interval = min(interval, policy.NO_PROGRESS_LOOK_MS)
    if rates is None:
        return int(min(interval, max(pace.first_look_ms, longest)))
    restoring = step.answer.copy_keys(problem.C, problem.logged)
    restoring = sort_unique(np.concatenate([restoring[problem.rank_of(restoring) > 0], step.warmups.keys]))
    times = _estimate_times(problem, restoring, rates)
    due = np.sort(times[np.isin(restoring, relevant)])
    wait = float(due[-1])
    actives = np.sort(times[np.isin(restoring, relevant) & (step.plan.active[restoring // problem.C] == restoring % problem.C)])
    half = actives[(len(actives) - 1) // 2] if len(actives) > 1 else wait
    if step.is_over_share and len(actives) > 1 and half < policy.HALF_SOONER * actives[-1]:
        wait = float(half)
    if step.warmups.is_queue_left:
        queue = np.sum(~np.isin(step.warmups.waiting, restoring))
        share = policy.LONG_IDLE_SHARE if queue > 2 * problem.max_warmups else policy.IDLE_SHARE
        wait = _wait_for_some(np.sort(times[np.isin(restoring, step.warmups.keys)]), due, share)
    return int(min(interval, max(soon, min(longest, wait * policy.MARGIN + policy.MOMENT_MS))))


def _bound_wait(problem: Problem, pace: ClientRates, relevant: IntArray, progress: Progress | None) -> float:
    """Return the longest wait in ms: a share of the time for which each client's copies have been under way.

    The waits then grow geometrically, so at any rate at most a share of the time is lost. A steady rate that was measured for
    the whole window sets no limit. A few copies may have lower limits: some rate of a large group is nearly always unsure.
    """
    if progress is None:
        return np.inf
    client = relevant % problem.C
    longest = np.where(pace.is_trusted, np.inf, 0.0)
    np.maximum.at(longest, client, policy.LOOK_AGAIN * progress.find(relevant)[1])
    return max(float(policy.FIRST_LOOK_MS), float(np.sort(longest[client])[int(policy.OUTWAITED * len(client))]))


def estimate_to_balance(problem: Problem, pace: ClientRates, step: Step) -> int | None:
    """Return milliseconds until the target is reached: the time of disks and slots, plus a time for each batch.

    None if the snapshots carry no times, or if no copy is waited for.
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
        return batches * policy.BATCH_MS
    client = step.warmups.waiting % problem.C
    lags = problem.lag_of(step.warmups.waiting)
    # Standbys in their places are not waited for, but share the disks of clients with awaited copies.
    matters = np.isin(client, np.union1d(_find_relevant(problem, step.plan, step), in_line) % problem.C)
    on_disk, in_slots = (
        np.bincount(client[some], weights=lags[some], minlength=problem.C) * 1000.0 / rates
        for some in (matters, np.isin(step.warmups.waiting, in_line))
    )
    by_disks, by_slots = float(on_disk.max()), float(in_slots.sum()) / problem.max_warmups
    return min(_LATEST_MS, int(max(by_disks, by_slots, batches * policy.REBALANCE_MS) + batches * policy.BATCH_MS))


def _find_relevant(problem: Problem, plan: Placement, step: Step) -> IntArray:
    """Return keys of the copies that a follow-up waits for: copies in slots, and planned actives that restore in place.

    A standby in its place restores by itself, and nothing follows when it has, unless a warm-up waits for room.
    """
    logged = np.flatnonzero(problem.logged)
    planned = logged * problem.C + plan.active[logged]
    planned = plan.copy_keys(problem.C, problem.logged) if step.warmups.waits_for_room else planned
    held = np.intersect1d(planned, step.answer.copy_keys(problem.C, problem.logged), assume_unique=True)
    return sort_unique(np.concatenate([step.warmups.keys, held[problem.rank_of(held) > 0]]))


def _estimate_times(problem: Problem, keys: IntArray, rates: IntArray) -> FloatArray:
    """Return (n,) milliseconds until each copy is restored, with all copies of a client at equal shares of its rate."""
    left = problem.lag_of(keys)  # the whole lag: a task that moves is down until the rest is restored
    client, times = keys % problem.C, np.zeros(len(keys))
    order = np.lexsort((left, client))
    for mine in np.split(order, 1 + np.flatnonzero(np.diff(client[order]))):
        more, rate = np.diff(left[mine].astype(object), prepend=0), rates[client[mine]].astype(object)  # unlimited integers
        times[mine] = np.cumsum(more * np.arange(len(mine), 0, -1) * 1000 / rate)
    return times


def _wait_for_some(slots: FloatArray, due: FloatArray, share: float) -> float:
    """Return the last of `due` by which slots, free since `slots`, idle at most `share` of it on average; or `due[0]`."""
    chosen = float(due[0])
    for x in due.tolist():
        idle = float(np.sum(np.maximum(0.0, x - slots)))
        if idle <= len(slots) * max(share * x, policy.REBALANCE_MS):
            chosen = x
    return chosen
