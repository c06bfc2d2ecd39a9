"""Which copies of the plan to warm up in this rebalance (KIP-441; docs/rules.md, "Warm-ups").

At most `max_warmups` copies of the plan are warmed up, on clients that hold no copy of the task in this answer. The order of
the queue is strict, and a slot serves one copy, so the first copies in the queue are the optimum: no solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from optassign.models.problem import BoolArray, IntArray, Placement, Problem
from optassign.models.windows import Windows, count_copies

FloatArray = npt.NDArray[np.float64]

PATIENCE = 3
"""Answers over which a lag may stay as it is before the copy goes to the end of the queue."""
_SOON_S = 300.0
"""Kafka keeps state without a role for ten minutes by default: what is restored within half of that is not lost."""
_TOGETHER = 0.1
"""Copies end together if they do so within this share of the time."""


@dataclass(frozen=True, eq=False)
class Progress:
    """The copies that the plan waits for, as the last answers saw them; all arrays are sorted by key."""

    keys: IntArray
    """(n,) task × C + client of each copy."""
    lag: IntArray
    """(n,) its lag at the last answer, offsets."""
    idle: IntArray
    """(n,) answers in a row over which its lag has not fallen."""

    def idle_of(self, keys: IntArray) -> IntArray:
        """`idle` of each key; 0 for keys that nothing is known of."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.idle[at], 0)


@dataclass(frozen=True, eq=False)
class Queue:
    """The copies that want a warm-up slot."""

    keys: IntArray
    """(n,) task × C + client, in the order in which they are served."""
    served: int
    """How many of them, from the first on, have a slot in this rebalance."""


def queue_warmups(
    problem: Problem,
    windows: Windows,
    plan: Placement,
    answer: Placement,
    under_way: IntArray,
    progress: Progress,
    rates: IntArray | None = None,
) -> Queue:
    """The plan's copies that this answer does not hold, in the order in which they get slots.

    The criteria, most important first: not yet caught up; not stuck for `PATIENCE` answers; under way already; of tasks that a
    draining client has a copy of; most state to lose if it is not kept (any, where all of it is soon restored); actives before
    standbys; clients apart, since copies on one disk share its rate; the client that has most left to restore, if that is more
    than its share, or else a copy that ends with the others; an active that relieves the client furthest above its window;
    least lag; least key.

    Args:
        under_way: keys of the warm-ups of the remembered answer, sorted.
        progress: of the copies waited for.
        rates: (C,) offsets per second that clients restore, where they are known.
    """
    C = problem.C
    keys = np.setdiff1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    task, client = keys // C, keys % C
    lag, caught_up = problem.lag_of(keys), problem.rank_of(keys) == 0
    to_lose = np.where(problem.flag_of(keys, problem.col_state), np.maximum(problem.end[task] - lag, 0), 0)
    counts = count_copies(problem, answer)
    over = np.maximum(counts.active - windows.active.high, 0) / problem.threads
    relief = np.where(plan.active[task] == client, over[answer.active[task]], -1.0)
    stuck = progress.idle_of(keys) >= PATIENCE
    going = np.isin(keys, under_way)
    leaving = _find_leaving(problem, answer)[task]
    seconds = lag / (np.ones(C) if rates is None else rates.astype(np.float64))[client]
    is_soon = rates is not None and seconds[to_lose > 0].sum() <= _SOON_S * problem.max_warmups
    at_risk = (to_lose > 0).astype(np.int64) if is_soon else to_lose
    order = np.lexsort((keys, lag, -relief, relief < 0, -at_risk, ~leaving, ~going, stuck, caught_up))
    served = min(len(keys), problem.max_warmups)
    is_equal = (~going & ~stuck & ~caught_up)[order]
    left = np.bincount(client, weights=seconds, minlength=C).astype(np.float64)
    used = np.bincount(client[order[:served]][~is_equal[:served]], minlength=C)
    ends = [float(seconds[k]) for k in order[:served][~is_equal[:served]].tolist()]
    alike = np.column_stack([leaving, np.zeros_like(at_risk) if is_soon else at_risk])[order]
    weight = 2 * (to_lose > 0) + (relief >= 0)
    begins = 1 + np.flatnonzero(np.any(alike[1:] != alike[:-1], axis=1))
    for first, end in pairwise([0, *begins.tolist(), len(keys)]):
        if first >= served:
            break
        places = first + np.flatnonzero(is_equal[first:end])
        order[places] = order[places][
            _spread(*(client[order[places]], seconds[order[places]], weight[order[places]]), left, used, ends, served)
        ]
    return Queue(keys[order], served)


def _find_leaving(problem: Problem, answer: Placement) -> BoolArray:
    """(T,) tasks of which a draining client has a copy in this answer, while another client stays."""
    leaving = np.zeros(problem.T, dtype=np.bool_)
    if problem.draining.any() and not problem.draining.all():
        keys = answer.copy_keys(problem.C, problem.logged)
        leaving[keys[problem.draining[keys % problem.C]] // problem.C] = True
    return leaving


def _spread(
    client: IntArray, seconds: FloatArray, weight: IntArray, left: FloatArray, used: IntArray, ends: list[float], most: int
) -> IntArray:
    """The order in which copies are taken: on clients with fewest slots first; of these those of most weight; of these on the
    client with most left, if that is more than its share, or else the copy that ends with the last of the others, or nearest to
    that, and of those that do as given.

    Args:
        client: (n,) of each copy.
        seconds: (n,) that it takes.
        weight: (n,) of each copy.
        left: (C,) seconds that each client has left.
        used: (C,) slots that each client has; those that are given here are added.
        ends: seconds that each copy with a slot takes; those of the copies that are given one here are added.
        most: as many need to be in this order; the others follow as they came.
    """
    waits = np.ones(len(client), dtype=np.bool_)
    left, most_left = left.copy(), left.sum() / max(1, most)
    taken: list[int] = []
    while len(taken) < min(most, len(client)):
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
        used[client[k]] += 1
        left[client[k]] -= seconds[k]
    return np.concatenate([np.array(taken, dtype=np.int64), np.flatnonzero(waits)])


def _find_fitting(seconds: FloatArray, left: FloatArray, ends: list[float]) -> int:
    """The copy that takes as long as the last of those under way, or nearly: then one follow-up does for both."""
    if not ends:
        return 0
    last = max(ends)
    away = np.abs(seconds - last)
    fits = np.flatnonzero(away <= max(float(away.min()), _TOGETHER * last))
    return int(fits[np.argmax(left[fits])])
