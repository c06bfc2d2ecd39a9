"""Goals (a) `tag_spread` and `rack_traffic` without a solver: copies move and swap for more tag values and less rack traffic.

Each copy makes the best of three changes. A standby *moves*. Two copies of one role and subtopology *swap* their clients. Two
tasks with their actives and standbys on the same two clients *change roles*. Tags come first: losing a zone is worse than
traffic to another rack. For tags a standby may cost restore work, as in the order of the plan's goals; otherwise no change
restores more. All counts stay within shares or unchanged.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.racks import RACK_TRAFFIC, Racks
from optassign_models.goals.tags import list_tag_values
from optassign_models.policy.constants import COMPARED_PAIRS, EARLIER_TAG, WEIGHED_TAGS, WRITTEN_OUT_PAIRS
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies, count_copies

_TAG = 1 << 20
"""Worth of a value of the last tag, in rack crossings."""


def spread_zones(problem: Problem, shares: ShareFamilies, placed: Placement, *, now: bool) -> Placement:
    """Return the placement with copies moved and swapped for more tag values and less rack traffic.

    With `now`, copies change places only between clients of one rank, so that R3 and R5 are kept.
    """
    if not count_pairs_to_compare(problem):
        return placed
    search = _Search(problem, shares, placed, now=now)
    while search.improve_all():
        pass
    active, standby_client = np.split(search.client, [problem.T])
    return make_placement(active, placed.standby_task * problem.C + standby_client, problem.C)


def count_pairs_to_compare(problem: Problem) -> int:
    """Return how many pairs the search may compare; 0 if no goal needs it, or the group is too large."""
    has_goal = bool(list_tag_values(problem)) or problem.data_of(RACK_TRAFFIC.name, Racks) is not None
    copies = problem.T * (problem.standbys + 1)
    return min(COMPARED_PAIRS, copies * problem.C) if has_goal and problem.T * problem.C <= WRITTEN_OUT_PAIRS else 0


class _Search:
    """A local search over copies (n,), the actives of all tasks, then the standbys; `client` (n,) changes in place."""

    def __init__(self, problem: Problem, shares: ShareFamilies, placed: Placement, *, now: bool) -> None:
        self._problem, self._shares, self._now, self._effort = problem, shares, now, COMPARED_PAIRS
        self._values, self._racks = list_tag_values(problem), problem.data_of(RACK_TRAFFIC.name, Racks)
        self._task = np.concatenate([np.arange(problem.T), placed.standby_task])
        self.client = np.concatenate([placed.active, placed.standby_client])
        self._is_active = np.arange(len(self._task)) < problem.T
        self._kind = problem.group[self._task] * 2 + self._is_active
        self._held = np.zeros((problem.T, problem.C), dtype=np.bool_)
        self._held[self._task, self.client] = True
        self._number = []  # per tag (T, V + 1): the task's copies by value; the last column is for clients without the tag
        counted = problem.logged[self._task]
        for value in self._values:
            number = np.zeros((problem.T, int(value.max(initial=-1)) + 2), dtype=np.int64)
            np.add.at(number, (self._task[counted], value[self.client[counted]]), 1)
            self._number.append(number)
        _, _, self._copies, _, self._group_copies = count_copies(problem, placed)

    def improve_all(self) -> bool:
        """Try one change of each copy that can gain. Return whether any was changed and effort is left."""
        wants = np.zeros(len(self._task), dtype=np.bool_)
        for value, number in zip(self._values, self._number, strict=True):
            alone = (value[self.client] >= 0) & (number[self._task, value[self.client]] < 2)
            wants |= ~alone & ~self._is_active
        if self._racks is not None:
            for of_role, table in ((self._is_active, self._racks.active), (~self._is_active, self._racks.standby)):
                reads = table[self._task, self._racks.rack_of[self.client]]
                wants |= of_role & (reads > table.min(axis=1)[self._task])
        changed = False
        for at in np.flatnonzero(wants).tolist():
            changed |= self._effort > 0 and self._improve(at)
        return changed and self._effort > 0

    def _improve(self, at: int) -> bool:
        """Make the best change of a copy. Return whether a change was made."""
        C, task, here = self._problem.C, int(self._task[at]), int(self.client[at])
        everywhere = np.arange(C)
        ats = np.full(C, at)
        gain = self._value(ats, everywhere)
        best, change = 0, []
        if not self._is_active[at]:
            may = (gain > 0) & ~self._held[task] & self._have_room(task, here) & self._may_go(ats, everywhere)
            cost = self._add_cost(ats, everywhere)
            may &= (gain >= _TAG // 2) | (cost <= 0)
            if may.any():
                to = int(np.lexsort((cost, -np.where(may, gain, 0)))[0])
                best, change = int(gain[to]), [(at, to)]
        others = np.flatnonzero((self._kind == self._kind[at]) & (self.client != here))
        self._effort -= C + len(others)
        there, back, mine = self.client[others], np.full(len(others), here), np.full(len(others), at)
        total = gain[there] + self._value(others, back)
        cost = self._add_cost(mine, there) + self._add_cost(others, back)
        may = (total > best) & ~self._held[task, there] & ~self._held[self._task[others], here]
        may &= (cost <= 0) | ((total >= _TAG // 2) & (not self._is_active[at]))
        may &= self._may_go(mine, there) & self._may_go(others, back)
        if may.any():
            other = int(others[np.lexsort((cost, -np.where(may, total, 0)))[0]])
            best, change = int(total.max(where=may, initial=0)), [(at, int(self.client[other])), (other, here)]
        if self._is_active[at] and self._racks is not None and self._change_roles(at, best, others):
            return True
        for one, to in change:
            self._change(one, to)
        return bool(change)

    def _change_roles(self, at: int, best: int, others: IntArray) -> bool:
        """Exchange roles of active `at` and the best of the actives `others`; return False if that gains at most `best`."""
        assert self._racks is not None
        task, here, rack = int(self._task[at]), int(self.client[at]), self._racks.rack_of
        theirs, there = self._task[others], self.client[others]
        may = self._held[task, there] & self._held[theirs, here]
        may &= self._may_go(np.full(len(others), at), there) & self._may_go(others, np.full(len(others), here))
        leads = self._racks.active - self._racks.standby
        gain = leads[task, rack[here]] - leads[task, rack[there]] + leads[theirs, rack[there]] - leads[theirs, rack[here]]
        gain = np.where(may, gain, 0)
        if gain.max(initial=0) <= best:
            return False
        other = int(others[np.argmax(gain)])
        for one, to in ((at, int(self.client[other])), (other, here)):
            standby = np.flatnonzero((self._task == self._task[one]) & (self.client == to))[0]
            self.client[one], self.client[standby] = to, self.client[one]
        return True

    def _value(self, at: IntArray, new: IntArray) -> IntArray:
        """Return (n,) the gain, in rack crossings, of moving the copies `at` (n,) to the clients `new` (n,)."""
        task, old = self._task[at], self.client[at]
        gain = np.zeros(len(at), dtype=np.int64)
        for place, (value, number) in enumerate(zip(self._values, self._number, strict=True)):
            before, after = value[old], value[new]
            won = (after >= 0) & (number[task, after] == 0)
            lost = (before >= 0) & (number[task, before] == 1)
            weight = _TAG * EARLIER_TAG ** min(len(self._values) - 1 - place, WEIGHED_TAGS)
            gain += weight * (self._problem.logged[task] & (before != after)) * (won.astype(np.int64) - lost)
        if self._racks is not None:
            racks = self._racks.rack_of[np.stack([old, new])]
            before, after = np.where(self._is_active[at], self._racks.active[task, racks], self._racks.standby[task, racks])
            gain += before - after
        return gain

    def _add_cost(self, at: IntArray, new: IntArray) -> IntArray:
        """Return (n,) the additional restore work, offsets, of moving the copies `at` to the clients `new`; may be negative."""
        C, cost_of = self._problem.C, self._problem.cost_of
        return cost_of(self._task[at] * C + new) - cost_of(self._task[at] * C + self.client[at])

    def _may_go(self, at: IntArray, new: IntArray) -> BoolArray:
        """Return (n,) whether the copies `at` may move to the clients `new`: with `now`, only between clients of one rank."""
        if not self._now:
            return np.ones(len(at), dtype=np.bool_)
        problem, task = self._problem, self._task[at]
        keys, pool = (task * problem.C + client for client in (new, self.client[at])), problem.pool_rank[task]
        before, after = (problem.look_up(pairs, problem.col_rank_now, pool) for pairs in keys)
        return np.asarray(before == after)

    def _have_room(self, task: int, giver: int) -> BoolArray:
        """Return (C,) whether shares allow a copy of the task on the client instead of on `giver`."""
        total, within, group = self._shares.copies, self._shares.group_copies, int(self._problem.group[task])
        room = (self._copies < total.high) & (self._group_copies[group] < within.high[group])
        return room & (self._copies[giver] > total.low[giver]) & (self._group_copies[group, giver] > within.low[group, giver])

    def _change(self, at: int, to: int) -> None:
        task, here = int(self._task[at]), int(self.client[at])
        self._held[task, here], self._held[task, to] = False, True
        if self._problem.logged[task]:
            for value, number in zip(self._values, self._number, strict=True):
                number[task, value[here]] -= 1
                number[task, value[to]] += 1
            group = int(self._problem.group[task])
            for counts in (self._copies, self._group_copies[group]):
                counts[here] -= 1
                counts[to] += 1
        self.client[at] = to
