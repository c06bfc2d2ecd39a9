"""Which copies of the plan to warm up in this rebalance (KIP-441; docs/reference/rules.md, "Warm-ups").

At most `max_warmups` copies of the plan are warmed up, on clients that hold no copy of the task in this answer. The order of
the queue is strict, and a slot serves one copy, so the first copies in the queue are the optimum: no solver is needed. If
limits on state leave little room, only copies that fit get a slot (`admit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optassign_models.limits import PlacementLimit
from optassign_models.policy.constants import PATIENCE, SOON_S, TOGETHER
from optassign_models.problem import BoolArray, FloatArray, IntArray, Placement, Problem, find_sorted
from optassign_models.shares import ShareFamilies, count_copies


@dataclass(frozen=True, eq=False)
class Progress:
    """The copies that the plan waits for, as the last answers saw them; all arrays are sorted by key."""

    keys: IntArray
    """(n,) task × C + client of each copy."""
    lag: IntArray
    """(n,) its lag at the last answer, offsets."""
    idle: IntArray
    """(n,) answers in a row over which its lag has not fallen."""
    under_way_ms: IntArray
    """(n,) milliseconds for which it had been assigned at the last answer."""

    def find_idle_answers(self, keys: IntArray) -> IntArray:
        """Return (n,) `idle` of each key of `keys` (n,); 0 for keys that nothing is known of."""
        return np.append(self.idle, 0)[find_sorted(self.keys, keys)]  # the 0 is at −1, which stands for unknown keys

    def find_under_way(self, keys: IntArray) -> IntArray:
        """Return (n,) `under_way_ms` of each key of `keys` (n,); 0 for copies that are assigned for the first time."""
        return np.append(self.under_way_ms, 0)[find_sorted(self.keys, keys)]


class Queue(NamedTuple):
    """The copies that want a warm-up slot."""

    keys: IntArray
    """(n,) task × C + client, in the order in which copies are served."""
    served: int
    """The number of copies, from the first on, that have a slot in this rebalance."""


@dataclass(frozen=True, eq=False)
class Restoring:
    """The copies that the plan waits for, and the rates at which clients restore, as far as they are known."""

    under_way: IntArray
    """(n,) task × C + client of the warm-ups of the remembered answer, sorted."""
    progress: Progress
    rates: IntArray | None = None
    """(C,) offsets per second that clients restore; None where no rate is known."""
    is_timed: bool = False
    """The next answer comes when copies are expected to be done, or, where no rate is known, soon."""


def queue_warmups(
    problem: Problem,
    shares: ShareFamilies,
    plan: Placement,
    answer: Placement,
    restoring: Restoring,
    room: IntArray | None = None,
) -> Queue:
    """Return the plan's copies that this answer does not hold, in the order in which they get slots.

    The criteria, most important first: not yet caught up; not stuck for `PATIENCE` answers; under way already; of tasks that a
    draining client has a copy of; most state to lose if it is not kept (any, if follow-ups come in time, or all of it is soon
    restored); clients apart, since copies on one disk share its rate; actives before standbys; the client that has most left to
    restore, if that is more than its share, otherwise a copy that ends with the others; an active that offloads the client
    furthest above its share; least lag; least key.

    `room`: (C,) offsets; copies that have no room even alone come last, unless they are under way.
    """
    C, under_way, rates, is_timed = problem.C, restoring.under_way, restoring.rates, restoring.is_timed
    keys = np.setdiff1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    last = keys[:0] if room is None else np.setdiff1d(keys[problem.end[keys // C] > room[keys % C]], under_way)
    keys = np.setdiff1d(keys, last, assume_unique=True) if len(last) else keys
    task, client = keys // C, keys % C
    lag, caught_up = problem.lag_of(keys), problem.rank_of(keys) == 0
    to_lose = np.where(problem.flag_of(keys, problem.col_state), np.maximum(problem.end[task] - lag, 0), 0)
    counts = count_copies(problem, answer)
    over = np.maximum(counts.active - shares.active.high, 0) / problem.threads
    overload = np.where(plan.active[task] == client, over[answer.active[task]], -1.0)
    stuck = restoring.progress.find_idle_answers(keys) >= PATIENCE
    going = np.isin(keys, under_way)
    leaving = _find_leaving(problem, answer)[task]
    seconds = lag / (np.ones(C) if rates is None else rates.astype(np.float64))[client]
    is_soon = is_timed or (rates is not None and bool(seconds[to_lose > 0].sum() <= SOON_S * problem.max_warmups))
    at_risk = (to_lose > 0).astype(np.int64) if is_soon else to_lose
    order = np.lexsort((keys, lag, -overload, overload < 0, -at_risk, ~leaving, ~going, stuck, caught_up))
    served = min(len(keys), problem.max_warmups)
    is_equal = (~going & ~stuck & ~caught_up)[order]
    left = np.bincount(client, weights=seconds, minlength=C).astype(np.float64)
    share = seconds if is_timed else np.ones(len(keys))
    alike = np.column_stack([leaving, np.zeros_like(at_risk) if is_soon else at_risk])[order]
    weight = 2 * (to_lose > 0) + (overload >= 0)
    begins = 1 + np.flatnonzero(np.any(alike[1:] != alike[:-1], axis=1))
    with_slot = order[:served][~is_equal[:served]]
    for first, end in pairwise([0, *begins.tolist(), len(keys)]):
        if first >= served:
            break
        places = first + np.flatnonzero(is_equal[first:end])
        copies = np.concatenate([with_slot, order[places]])
        spread = _spread(client[copies], seconds[copies], share[copies], weight[copies], left, len(with_slot), served)
        order[places] = copies[spread]
        with_slot = np.concatenate([with_slot, order[places[:served]]])
    return Queue(np.concatenate([keys[order], last]), served)


def _find_leaving(problem: Problem, answer: Placement) -> BoolArray:
    """Return (T,) tasks that a draining client has a copy of in this answer, while another client stays."""
    leaving = np.zeros(problem.T, dtype=np.bool_)
    if problem.draining.any() and not problem.draining.all():
        keys = answer.copy_keys(problem.C, problem.logged)
        leaving[keys[problem.draining[keys % problem.C]] // problem.C] = True
    return leaving


def _spread(
    client: IntArray, seconds: FloatArray, share: FloatArray, weight: IntArray, left: FloatArray, with_slot: int, most: int
) -> IntArray:
    """Return the order in which copies get slots, as positions in `client`, without the copies that have a slot.

    First comes the client that is done soonest with its copies in slots, then the copy of most weight. Next is the client with
    most left, if that is more than its share, otherwise the copy that ends with the last of the others, or nearest to that. The
    last criterion is the given order.

    Args:
        client: (n,) of each copy.
        seconds: (n,) that it takes.
        share: (n,) the same, or 1, where slots are to be counted.
        weight: (n,) of each copy.
        left: (C,) seconds that each client has left.
        with_slot: the number of copies, from the first on, that have a slot.
        most: as many need to be in this order; the others follow as they came.
    """
    used = np.bincount(client[:with_slot], weights=share[:with_slot], minlength=len(left)).astype(np.float64)
    ends = seconds[:with_slot].tolist()
    waits = np.arange(len(client)) >= with_slot
    left, most_left = left.copy(), left.sum() / max(1, most)
    taken: list[int] = []
    while len(taken) < most and waits.any():
        near = np.flatnonzero(waits)
        near = near[used[client[near]] == used[client[near]].min()]
        near = near[weight[near] == weight[near].max()]
        top = int(client[near[np.argmax(left[client[near]])]])
        if not ends or left[top] >= most_left:
            near = near[client[near] == top]
        k = int(near[_find_fitting(seconds[near], left[client[near]], ends)])
        waits[k] = False
        taken.append(k)
        ends.append(float(seconds[k]))
        used[client[k]] += share[k]
        left[client[k]] -= seconds[k]
    return np.concatenate([np.array(taken, dtype=np.int64), np.flatnonzero(waits)])


def _find_fitting(seconds: FloatArray, left: FloatArray, ends: list[float]) -> int:
    """Return the index in `seconds` of the copy that takes nearly as long as the longest in `ends`, so that one follow-up does
    for both; 0 if `ends` is empty.

    Nearly is within `TOGETHER` of it, otherwise the nearest; among several the one whose client has most seconds `left`.
    """
    if not ends:
        return 0
    last = max(ends)
    away = np.abs(seconds - last)
    fits = np.flatnonzero(away <= max(float(away.min()), TOGETHER * last))
    return int(fits[np.argmax(left[fits])])


def measure_room(limits: Sequence[PlacementLimit], answer: Placement) -> IntArray:
    """Return (C,) the offsets that the answer leaves free by the strictest of some limits; less than 0 beyond one of them."""
    most = np.iinfo(np.int64).max
    return np.minimum.reduce([np.where(limit.clients, limit.most - limit.weigh(answer), most) for limit in limits])


def admit(
    problem: Problem, queue: Queue, room: IntArray, restoring: Restoring, *, is_restoring: bool
) -> tuple[Queue, IntArray, IntArray]:
    """Return the queue with slots only for copies that there is room for, as many as the queue serves.

    A warm-up under way keeps its slot, as its state is there. If no copy with a slot can get any further, and no other copy
    restores either, room will never come: then the copy goes first that exceeds a limit by least.

    Args:
        room: (C,) offsets.
        is_restoring: copies in their places restore; after that, others may leave.

    Returns:
        The queue, the key of the copy that gets a slot beyond a limit, (0,) or (1,), and (n,) keys of those without room yet.
    """
    keys, served = queue
    size, client = problem.end[keys // problem.C].tolist(), (keys % problem.C).tolist()
    going = np.isin(keys, restoring.under_way).tolist()
    is_stuck, is_caught_up = restoring.progress.find_idle_answers(keys) >= PATIENCE, problem.rank_of(keys) == 0
    left = {c: int(room[c]) for c in set(client)}
    taken: list[int] = []
    for k, c in enumerate(client):
        if len(taken) < served and (going[k] or size[k] <= left[c]):
            taken.append(k)
            left[c] -= size[k]
    beyond: list[int] = []
    if problem.max_warmups and not is_restoring and (is_stuck | is_caught_up)[taken].all():
        others = [k for k in sorted(set(range(len(client))).difference(taken)) if not is_stuck[k]]
        beyond = sorted(others, key=lambda k: (is_caught_up[k], size[k] - left[client[k]]))[:1]
        taken = [*beyond, *taken][: problem.max_warmups]
    rest = sorted(set(range(len(client))).difference(taken))
    kept_back = [k for k in rest if size[k] > left[client[k]]]
    return Queue(keys[[*taken, *rest]], len(taken)), keys[beyond], keys[kept_back]
