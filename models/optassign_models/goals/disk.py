"""Goal (a), `disk`: the greatest state on a client, active copies and standbys alike, in thousandths of an even spread.

A copy's state is rounded down to a millionth of an even spread, the greatest sum up to a thousandth.

Before the program of few pairs, the client that keeps most state trades copies with others. Two copies of one role and one
subtopology change places, a large one of the fullest client for a small one of another, so that all counts stay as they are.
Among the trades that bring the fullest client down to an even spread the one that restores least is made, without one the trade
that brings it down most; until no trade of the fullest client helps.
"""

from __future__ import annotations

import numpy as np

from optassign_models.forced import exact_sum
from optassign_models.goals.goal import Carried, GoalModel
from optassign_models.policy.constants import DISK_LEAST_GAIN, DISK_PARTNERS, DISK_SEED, DISK_STEPS, WRITTEN_OUT_PAIRS
from optassign_models.problem import IntArray, Placement, Problem, make_placement

_EVEN_SPREAD = 10**6


def list_sizes(p: Problem) -> IntArray:
    """Return (T,) the state of a copy of each task, in millionths of an even spread over the clients that stay."""
    staying = p.C if p.draining.all() else int(np.sum(~p.draining))
    size = np.where(p.logged, p.end, 0)
    total = max(1, exact_sum(size, np.ones(p.T, dtype=np.int64)) * (p.standbys + 1))
    return np.array([each * 1_000_000 * staying // total for each in size.tolist()], dtype=np.int64)


def _carry(p: Problem) -> Carried:
    size = list_sizes(p)

    def weigh(task: IntArray, client: IntArray) -> IntArray:
        return size[task]

    return Carried(size, weigh, weigh, grain=1000)


DISK = GoalModel("disk", carries=_carry)
GOALS = (DISK,)


def bound_state(problem: Problem) -> int:
    """Return a lower bound of every plan: the greatest of an even spread, the largest state and the least state of two copies
    that have to share a client."""
    sizes = np.sort(np.repeat(list_sizes(problem)[problem.logged], problem.standbys + 1))[::-1]
    if not len(sizes):
        return 0
    least = max(-(-int(sizes.sum()) // problem.C), int(sizes[0]))
    if len(sizes) > problem.C:
        least = max(least, int(sizes[problem.C - 1] + sizes[problem.C]))
    return -(-least // 1000)


def even_out_state(problem: Problem, placed: Placement) -> Placement:
    """Return the placement with copies traded for less state on the fullest client; the same one where no trade helps."""
    if problem.T * problem.C > WRITTEN_OUT_PAIRS or not problem.logged.any():
        return placed
    trades = _Trades(problem, placed)
    for _ in range(DISK_STEPS):
        if not trades.improve():
            break
    return trades.placement


class _Trades:
    """Copies of logged tasks, changed in place: the actives first, then the standbys."""

    def __init__(self, problem: Problem, placed: Placement) -> None:
        self._problem, self._placed = problem, placed
        logged = np.flatnonzero(problem.logged)
        self._actives = len(logged)
        self._task = np.concatenate([logged, placed.standby_task])
        self._client = np.concatenate([placed.active[logged], placed.standby_client])
        # A copy may trade with copies of the same subtopology and role.
        self._kind = problem.group[self._task] * 2 + (np.arange(len(self._task)) < self._actives)
        self._size = list_sizes(problem)[self._task]
        self._kept = np.zeros(problem.C, dtype=np.int64)
        np.add.at(self._kept, self._client, self._size)
        self._held = np.zeros((problem.T, problem.C), dtype=np.bool_)
        self._held[self._task, self._client] = True
        self._random = np.random.default_rng(DISK_SEED)

    @property
    def placement(self) -> Placement:
        """The present placement."""
        active = self._placed.active.copy()
        active[self._task[: self._actives]] = self._client[: self._actives]
        keys = self._task[self._actives :] * self._problem.C + self._client[self._actives :]
        return make_placement(active, keys, self._problem.C)

    def improve(self) -> bool:
        """Make one trade of the fullest client; whether there was one."""
        giver = int(np.argmax(self._kept))
        others = np.flatnonzero((self._kept < self._kept[giver]) & (~self._problem.draining | self._problem.draining[giver]))
        if self._kept[giver] <= _EVEN_SPREAD or not len(others):
            return False
        chosen = others
        if len(others) > 2 * DISK_PARTNERS:
            least = others[np.argsort(self._kept[others], kind="stable")[:DISK_PARTNERS]]
            chosen = np.union1d(least, self._random.choice(others, DISK_PARTNERS, replace=False))
        return self._trade(giver, chosen) or (len(chosen) < len(others) and self._trade(giver, others))

    def _trade(self, giver: int, partners: IntArray) -> bool:
        mine = np.flatnonzero(self._client == giver)
        theirs = np.flatnonzero(np.isin(self._client, partners))
        of_giver, of_others = self._task[mine], self._task[theirs]
        there = self._client[theirs]
        moved = self._size[mine][:, None] - self._size[theirs][None, :]
        fits = (moved > 0) & (self._kind[mine][:, None] == self._kind[theirs][None, :])
        fits &= ~self._held[of_giver[:, None], there[None, :]] & ~self._held[of_others, giver][None, :]
        greater = np.maximum(self._kept[giver] - moved, self._kept[there][None, :] + moved)
        fits &= greater <= self._kept[giver] - DISK_LEAST_GAIN
        row, column = np.nonzero(fits)
        if not len(row):
            return False
        C, cost_of = self._problem.C, self._problem.cost_of
        cost = cost_of(of_giver[row] * C + there[column]) + cost_of(of_others[column] * C + giver)
        cost -= cost_of(of_giver[row] * C + giver) + cost_of(of_others[column] * C + there[column])
        best = int(np.lexsort((cost, np.maximum(greater[row, column], _EVEN_SPREAD)))[0])
        one, other = int(mine[row[best]]), int(theirs[column[best]])
        client = int(self._client[other])
        self._held[self._task[one], [giver, client]] = False, True
        self._held[self._task[other], [client, giver]] = False, True
        self._client[one], self._client[other] = client, giver
        difference = int(moved[row[best], column[best]])
        self._kept[giver] -= difference
        self._kept[client] += difference
        return True
