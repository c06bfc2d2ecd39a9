"""Which copies of the plan to warm up in this rebalance (KIP-441; docs/reference/rules.md, "Warm-ups").

At most `max_warmups` copies of the plan are warmed up, on clients that hold no copy of the task in this answer. The order of
the queue is strict, and a slot serves one copy, so the first copies in the queue are the optimum: no solver is needed. If
limits on state leave little room, only copies that fit get a slot (`admit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from optassign_models.limits import PlacementLimit
from optassign_models.policy.constants import PATIENCE, TOGETHER
from optassign_models.problem import FloatArray, IntArray, Placement, Problem, find_sorted
from optassign_models.shares import ShareFamilies


@dataclass(frozen=True, eq=False)
class Progress:
    """The copies that the plan waits for, as the last answers saw them; all arrays are sorted by key."""

    keys: IntArray
    """(n,) task × C + client of each copy."""
    lag: IntArray
    """(n,) lag of the copy at the last answer, offsets."""
    idle: IntArray
    """(n,) answers in a row over which the lag has not fallen."""
    under_way_ms: IntArray
    """(n,) milliseconds for which the copy had been assigned at the last answer."""

    def find(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return `idle` and `under_way_ms` of each key of `keys` (n,), (n,) each; 0 for unknown keys."""
        at = find_sorted(self.keys, keys)
        return np.append(self.idle, 0)[at], np.append(self.under_way_ms, 0)[at]  # the 0 is at position −1, for unknown keys


@dataclass(frozen=True, eq=False)
class Restoring:
    """The copies that the plan waits for, and the rates at which clients restore if known."""

    under_way: IntArray
    """(n,) task × C + client of the warm-ups of the remembered answer, sorted."""
    progress: Progress
    rates: IntArray | None = None
    """(C,) offsets per second that clients restore; None if no rate is known."""
    is_timed: bool = False
    """Whether the next answer comes when copies are expected to be done (soon, if no rate is known), not by the interval."""


def queue_warmups(
    problem: Problem,
    shares: ShareFamilies,
    plan: Placement,
    answer: Placement,
    restoring: Restoring,
    room: IntArray | None = None,
) -> tuple[IntArray, int]:
    """Return the keys (n,) of the plan's copies that this answer does not hold, in the order in which they get slots.

    The second value is the number of copies, from the first on, that have a slot in this rebalance.

    The criteria, most important first: not caught up, or under way; not idle for `PATIENCE` answers; under way already; a copy
    of the task on a draining client; most state to lose (all alike, if follow-ups are timed or such copies are soon restored);
    clients apart, since copies on one disk share its rate; actives before standbys; the client with most left to restore, if
    that exceeds its share, otherwise a copy that ends with the others; most offload; least lag; least key.

    `room`: (C,) offsets free under limits. Copies larger than the room come last, unless they are under way.
    """
    C, under_way, rates, is_timed = problem.C, restoring.under_way, restoring.rates, restoring.is_timed
    held = answer.copy_keys(C, problem.logged)
    keys = np.setdiff1d(plan.copy_keys(C, problem.logged), held, assume_unique=True)
    last = keys[:0] if room is None else np.setdiff1d(keys[problem.end[keys // C] > room[keys % C]], under_way)
    keys = np.setdiff1d(keys, last, assume_unique=True) if len(last) else keys
    task, client = keys // C, keys % C
    lag, caught_up = problem.lag_of(keys), problem.rank_of(keys) == 0
    to_lose = np.where(problem.flag_of(keys, problem.col_state), np.maximum(problem.end[task] - lag, 0), 0)
    over = np.maximum(np.bincount(answer.active, minlength=C) - shares.active.high, 0) / problem.threads
    overload = np.where(plan.active[task] == client, over[answer.active[task]], -1.0)
    stuck = restoring.progress.find(keys)[0] >= PATIENCE
    going = np.isin(keys, under_way)
    leaving = np.isin(task, held[~problem.staying[held % C]] // C)  # a client that is about to leave has a copy
    seconds = lag / (np.ones(C) if rates is None else rates.astype(np.float64))[client]
    is_risk_equal = is_timed or rates is not None
    at_risk = (to_lose > 0).astype(np.int64) if is_risk_equal else to_lose
    order = np.lexsort((keys, lag, -overload, overload < 0, -at_risk, ~leaving, ~going, stuck, caught_up & ~going))
    served = min(len(keys), problem.max_warmups)
    if served == len(keys) and room is None:  # each copy has a slot, so their order decides nothing
        return keys[order], served
    is_equal = (~going & ~stuck & ~caught_up)[order]
    left = np.bincount(client, weights=seconds, minlength=C).astype(np.float64)
    share = seconds if is_timed else np.ones(len(keys))
    alike = np.column_stack([leaving, np.zeros_like(at_risk) if is_risk_equal else at_risk])[order]
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
    return np.concatenate([keys[order], last]), served


def _spread(
    client: IntArray, seconds: FloatArray, share: FloatArray, weight: IntArray, left: FloatArray, with_slot: int, most: int
) -> IntArray:
    """Return the order in which copies get slots, as positions in `client`, without the copies that have a slot.

    First comes the client that is done soonest with its copies in slots, then the copy of most weight. Next is the client with
    most left, if that exceeds its share, otherwise the copy whose end is nearest to the last end so far, so that one follow-up
    serves both. The last criterion is the given order.

    Args:
        client: (n,) client of each copy.
        seconds: (n,) restore time of each copy.
        share: (n,) time in the slot of each copy: its seconds, or 1 to count slots.
        weight: (n,) priority of each copy.
        left: (C,) seconds that each client has left to restore.
        with_slot: the number of leading copies that have a slot.
        most: the number of copies to order; the others follow in the given order.
    """
    used = np.bincount(client[:with_slot], weights=share[:with_slot], minlength=len(left)).astype(np.float64)
    last = float(seconds[:with_slot].max(initial=-1.0))  # the latest end so far; negative without one
    waits = np.arange(len(client)) >= with_slot
    left, most_left = left.copy(), left.sum() / max(1, most)
    taken: list[int] = []
    while len(taken) < most and waits.any():
        near = np.flatnonzero(waits)
        near = near[used[client[near]] == used[client[near]].min()]
        near = near[weight[near] == weight[near].max()]
        top = int(client[near[np.argmax(left[client[near]])]])
        if last < 0 or left[top] >= most_left:
            near = near[client[near] == top]
        if last >= 0:  # a copy that ends nearly with the last is near enough, so that the client with most left goes first
            away = np.abs(seconds[near] - last)
            near = near[away <= max(float(away.min()), TOGETHER * last)]
            near = near[[np.argmax(left[client[near]])]]
        k = int(near[0])
        waits[k] = False
        taken.append(k)
        last = max(last, float(seconds[k]))
        used[client[k]] += share[k]
        left[client[k]] -= seconds[k]
    return np.concatenate([np.array(taken, dtype=np.int64), np.flatnonzero(waits)])


def measure_room(limits: Sequence[PlacementLimit], answer: Placement) -> IntArray:
    """Return (C,) the offsets that the answer leaves free under the strictest of `limits`; negative if one is exceeded."""
    most = np.iinfo(np.int64).max
    return np.minimum.reduce([np.where(limit.clients, limit.most - limit.weigh(answer), most) for limit in limits])


def admit(
    problem: Problem, keys: IntArray, served: int, room: IntArray, restoring: Restoring, *, is_restoring: bool
) -> tuple[IntArray, int, IntArray, IntArray]:
    """Return the queue of `queue_warmups` with slots only for copies that have room, at most `served` of them.

    A warm-up under way keeps its slot, as its state is there. If neither a copy with a slot nor another copy makes progress,
    room would never come: the copy that exceeds a limit by least then gets the first slot.

    Args:
        room: (C,) offsets free under limits.
        is_restoring: whether copies of this answer restore; after that, others may leave.

    Returns:
        The queue and its number of slots, the key of the copy that gets a slot beyond a limit, (0,) or (1,), and (n,) keys of
        copies without room yet.
    """
    size, client = problem.end[keys // problem.C].tolist(), (keys % problem.C).tolist()
    going = np.isin(keys, restoring.under_way).tolist()
    is_stuck, is_caught_up = restoring.progress.find(keys)[0] >= PATIENCE, problem.rank_of(keys) == 0
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
    return keys[[*taken, *rest]], len(taken), keys[beyond], keys[kept_back]
