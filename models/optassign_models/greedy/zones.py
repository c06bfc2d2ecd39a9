"""Copies traded for more zones and less that is read across racks: goals (a) `tag_spread` and `rack_traffic` without a solver.

*Actives* (`trade_actives`): two tasks of a subtopology trade their clients, so that all counts stay as they are, where that
restores nothing more. If each has a standby at the other's client, both change roles. If tags count, only that is done: copies
stay in their zones.

*Standbys* (`spread_standbys`) are moved one by one, or swapped between two tasks of a subtopology, for copies in more zones,
then for less that is read across racks. Tags come first here: what is lost with a zone is worse than what is read from another
rack. For tags a copy may cost restoring, as in the order of the plan's goals; for racks it may not, and neither leaves a tag's
value. No move is made for either where shares would be left, unless they are left already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.goals.racks import RACK_TRAFFIC, Racks
from optassign_models.goals.tags import TAG_SPREAD, Tags
from optassign_models.policy.constants import COMPARED_PAIRS, EARLIER_TAG, WEIGHED_TAGS, WRITTEN_OUT_PAIRS
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies, count_copies

__all__ = ["spread_standbys", "trade_actives"]


_TAG = 1 << 20
"""The worth of a value of the last tag, in crossings of racks."""


def trade_actives(problem: Problem, placed: Placement, *, now: bool) -> Placement:
    """The placement with actives traded; with `now` only between clients of one rank, so that R3 and R5 are kept."""
    racks = problem.data_of(RACK_TRAFFIC.name, Racks)
    if racks is None or problem.T * problem.C > WRITTEN_OUT_PAIRS:
        return placed
    trades = _Trades.of(problem, racks, placed, now)
    while trades.improve_all():
        pass
    return make_placement(trades.active, np.flatnonzero(trades.is_standby.ravel()), problem.C)


@dataclass(eq=False)
class _Trades:
    """Copies, changed in place."""

    problem: Problem
    racks: Racks
    now: bool
    has_tags: bool
    active: IntArray
    """(T,)"""
    is_standby: BoolArray
    """(T, C)"""
    effort: int = COMPARED_PAIRS

    @classmethod
    def of(cls, problem: Problem, racks: Racks, placed: Placement, now: bool) -> _Trades:
        is_standby = np.zeros((problem.T, problem.C), dtype=np.bool_)
        is_standby[placed.standby_task, placed.standby_client] = True
        return cls(problem, racks, now, problem.data_of(TAG_SPREAD.name, Tags) is not None, placed.active.copy(), is_standby)

    def improve_all(self) -> bool:
        """Trade each active copy once that reads more than it has to; whether any was, and there is effort left."""
        reads = self.racks.active[np.arange(self.problem.T), self.racks.rack_of[self.active]]
        start = np.searchsorted(self.problem.group, np.arange(self.problem.G + 1))
        changed = False
        for task in np.flatnonzero(reads > self.racks.active.min(axis=1)).tolist():
            group = int(self.problem.group[task])
            changed |= self.effort > 0 and self._improve(task, np.arange(start[group], start[group + 1]))
        return changed and self.effort > 0

    def _improve(self, task: int, others: IntArray) -> bool:
        """Trade the task with the one of these others with which least is read then, if it is less; whether it was."""
        here = int(self.active[task])
        others = others[self.active[others] != here]
        there, back = self.active[others], np.full(len(others), here)
        mine = np.full(len(others), task)
        self.effort -= len(others)
        swaps_roles = self.is_standby[mine, there] & self.is_standby[others, back]
        gain = self._gain(mine, back, there, swaps_roles) + self._gain(others, there, back, swaps_roles)
        fits = (gain > 0) & (swaps_roles | self._may_trade(mine, others, here, there))
        if self.now:
            fits &= self._are_alike(mine, back, there) & self._are_alike(others, there, back)
        if not fits.any():
            return False
        best = int(np.argmax(np.where(fits, gain, 0)))
        other, client = int(others[best]), int(there[best])
        if swaps_roles[best]:
            self.is_standby[task, [here, client]] = True, False
            self.is_standby[other, [client, here]] = True, False
        self.active[task], self.active[other] = client, here
        return True

    def _gain(self, task: IntArray, old: IntArray, new: IntArray, swaps_roles: BoolArray) -> IntArray:
        """(n,) what is read less if the active copy goes from one client to another, and its standby back."""
        rack, of_actives, of_standbys = self.racks.rack_of, self.racks.active, self.racks.standby
        gain = of_actives[task, rack[old]] - of_actives[task, rack[new]]
        back: IntArray = of_standbys[task, rack[new]] - of_standbys[task, rack[old]]
        return gain + np.where(swaps_roles, back, 0)

    def _may_trade(self, mine: IntArray, others: IntArray, here: int, there: IntArray) -> BoolArray:
        """(n,) whether both copies may go where nothing of their tasks is, as nothing more is restored."""
        if self.has_tags:
            return np.zeros(len(others), dtype=np.bool_)
        C, cost_of = self.problem.C, self.problem.cost_of
        free = ~self.is_standby[mine, there] & ~self.is_standby[others, here]
        more = cost_of(mine * C + there) + cost_of(others * C + here) - cost_of(mine * C + here) - cost_of(others * C + there)
        return free & (more <= 0)

    def _are_alike(self, task: IntArray, old: IntArray, new: IntArray) -> BoolArray:
        rank_of, C = self.problem.rank_of, self.problem.C
        alike: BoolArray = rank_of(task * C + old) == rank_of(task * C + new)
        return alike


def spread_standbys(problem: Problem, shares: ShareFamilies, placed: Placement, *, now: bool) -> Placement:
    """The placement with standbys moved and swapped; with `now` only between clients of one rank, so that R5 is kept."""
    tags, racks = problem.data_of(TAG_SPREAD.name, Tags), problem.data_of(RACK_TRAFFIC.name, Racks)
    if not len(placed.standby_task) or (tags is None and racks is None) or problem.T * problem.C > WRITTEN_OUT_PAIRS:
        return placed
    search = _Search.of(problem, shares, placed, tags, racks, now)
    while search.improve_all():
        pass
    return make_placement(placed.active, search.task * problem.C + search.client, problem.C)


@dataclass(eq=False)
class _Search:
    """Standbys, changed in place, and what single changes of them are worth."""

    problem: Problem
    shares: ShareFamilies
    now: bool
    values: tuple[IntArray, ...]
    """(C,) of each tag the client's value, −1 for none."""
    racks: Racks | None
    task: IntArray
    """(S,) of each standby, ascending."""
    client: IntArray
    """(S,) of each standby."""
    held: BoolArray
    """(T, C) whether the client has a copy."""
    number: tuple[IntArray, ...]
    """(T, V) of each tag: how many copies of the task are on clients with the value; the last column is for none."""
    copies: IntArray
    """(C,) copies of logged tasks."""
    group_copies: IntArray
    """(G, C) copies of each logged subtopology."""
    start: IntArray
    """(G + 1,) the standbys of subtopology g are start[g] : start[g + 1]."""
    effort: int = COMPARED_PAIRS

    @classmethod
    def of(
        cls, problem: Problem, shares: ShareFamilies, placed: Placement, tags: Tags | None, racks: Racks | None, now: bool
    ) -> _Search:
        values = () if tags is None else tags.values
        keys = placed.copy_keys(problem.C, problem.logged)
        held = np.zeros(problem.T * problem.C, dtype=np.bool_)
        held[keys] = True
        number = []
        for value in values:
            count = np.zeros((problem.T, int(value.max(initial=-1)) + 2), dtype=np.int64)
            np.add.at(count, (keys // problem.C, value[keys % problem.C]), 1)  # −1 is the last column
            number.append(count)
        counts = count_copies(problem, placed)
        return cls(
            problem=problem,
            shares=shares,
            now=now,
            values=values,
            racks=racks,
            task=placed.standby_task.copy(),
            client=placed.standby_client.copy(),
            held=held.reshape(problem.T, problem.C),
            number=tuple(number),
            copies=counts.copies.copy(),
            group_copies=counts.group_copies.copy(),
            start=np.searchsorted(problem.group[placed.standby_task], np.arange(problem.G + 1)),
        )

    def improve_all(self) -> bool:
        """Improve each standby once; whether any was, and there is effort left."""
        wants: BoolArray = np.zeros(len(self.task), dtype=np.bool_)
        for value, number in zip(self.values, self.number, strict=True):
            wants |= (value[self.client] < 0) | (number[self.task, value[self.client]] > 1)
        if self.racks is not None:
            wants |= self.racks.standby[self.task, self.racks.rack_of[self.client]] > 0
        changed = False
        for at in np.flatnonzero(wants).tolist():
            changed |= self.effort > 0 and self._improve(at)
        return changed and self.effort > 0

    def _improve(self, at: int) -> bool:
        """Move the standby, or swap it with one of its subtopology, where that is worth most; whether it was."""
        problem, task, here = self.problem, int(self.task[at]), int(self.client[at])
        most = self._value_changes(np.full(problem.C, task), np.full(problem.C, here), np.arange(problem.C))
        open_ = ~self.held[task] & (most > 0)
        self.effort -= problem.C
        if not open_.any():
            return False
        open_ &= self._may_go(np.full(problem.C, task), np.full(problem.C, here), np.arange(problem.C), most)
        room = open_ & self._have_room(int(problem.group[task]), here)
        best, to = 0, -1
        if room.any():
            cost = problem.cost_of(task * problem.C + np.arange(problem.C))
            to = int(np.lexsort((cost, -np.where(room, most, 0)))[0])
            best = int(most[to])
        g = int(problem.group[task])
        others = np.arange(self.start[g], self.start[g + 1])
        others = others[open_[self.client[others]] & (self.task[others] != task)]
        self.effort -= len(others)
        there, their_task = self.client[others], self.task[others]
        back = np.full(len(others), here)
        gain = most[there] + self._value_changes(their_task, there, back)
        fits = gain > max(best, 0)
        fits &= self._may_go(their_task, there, back, gain)
        fits &= ~self.held[their_task, here]
        if fits.any():
            C = problem.C
            cost = problem.cost_of(task * C + there) + problem.cost_of(their_task * C + here)
            cost -= problem.cost_of(their_task * C + there)
            other = int(others[np.lexsort((cost, -np.where(fits, gain, 0)))[0]])
            to = int(self.client[other])
            self._change(other, here)
            self._change(at, to)
            return True
        if best <= 0:
            return self._improve_by_chain(at, np.where(open_, most, 0))
        self._change(at, to)
        return True

    def _improve_by_chain(self, at: int, gain: IntArray) -> bool:
        """Move the standby to a client without room, or from one that has none to spare: a like client makes up for it.

        gain: (C,) what is won with the standby there, 0 where it may not go.
        """
        task, here = int(self.task[at]), int(self.client[at])
        group = int(self.problem.group[task])
        total, within = self.shares.copies, self.shares.group_copies
        room = (self.copies < total.high) & (self.group_copies[group] < within.high[group])
        filler: tuple[int, int] | None = None
        if self.copies[here] <= total.low[here] or self.group_copies[group, here] <= within.low[group, here]:
            filler = self._find_filler(task, here)
            if filler is None:
                return False
        for to in np.argsort(-gain, kind="stable")[: np.count_nonzero(gain)].tolist():
            link = None if room[to] else self._find_link(task, to)
            if not room[to] and (link is None or (filler is not None and link[0] == filler[0])):
                continue
            for step in (link, (at, to), filler):
                if step is not None:
                    self._change(*step)
            return True
        return False

    def _find_link(self, task: int, client: int) -> tuple[int, int] | None:
        """A standby of another task that may leave the client for a like one, so that it has room for the task."""
        group, within = int(self.problem.group[task]), self.shares.group_copies
        others = np.flatnonzero((self.client == client) & (self.task != task))
        of = self.problem.group[self.task[others]]
        has_room = self.group_copies[group, client] < within.high[group, client]
        others = others[(of == group) | (has_room & (self.group_copies[of, client] > within.low[of, client]))]
        of = self.problem.group[self.task[others]]
        for taker in np.flatnonzero(self._are_like(client) & (self.copies < self.shares.copies.high)).tolist():
            self.effort -= len(others)
            fits = self._fit(others, taker) & (self.group_copies[of, taker] < within.high[of, taker])
            if fits.any():
                return int(others[np.argmax(fits)]), taker
        return None

    def _find_filler(self, task: int, client: int) -> tuple[int, int] | None:
        """A standby of another task that may come to the client from a like one, in place of the task's."""
        group, within = int(self.problem.group[task]), self.shares.group_copies
        givers = self._are_like(client) & (self.copies > self.shares.copies.low)
        others = np.flatnonzero(givers[self.client] & (self.task != task))
        self.effort -= len(self.client)
        of, their = self.problem.group[self.task[others]], self.client[others]
        has_spare = self.group_copies[group, client] > within.low[group, client]
        fits = (of == group) | (has_spare & (self.group_copies[of, client] < within.high[of, client]))
        fits &= (self.group_copies[of, their] > within.low[of, their]) & self._fit(others, client)
        return (int(others[np.argmax(fits)]), client) if fits.any() else None

    def _fit(self, others: IntArray, taker: int) -> BoolArray:
        """(n,) whether these standbys may go to the client at no cost."""
        to = np.full(len(others), taker)
        task, nothing = self.task[others], np.zeros(len(others), dtype=np.int64)
        return ~self.held[task, to] & self._may_go(task, self.client[others], to, nothing)

    def _are_like(self, client: int) -> BoolArray:
        """(C,) the clients with the same value of every tag, and in the same rack."""
        like: BoolArray = np.ones(self.problem.C, dtype=np.bool_)
        for value in self.values:
            like &= value == value[client]
        if self.racks is not None:
            like &= self.racks.rack_of == self.racks.rack_of[client]
        return like

    def _value_changes(self, task: IntArray, old: IntArray, new: IntArray) -> IntArray:
        """(n,) what is won if the task's copy goes from one client to another."""
        change = np.zeros(len(task), dtype=np.int64)
        for place, (value, number) in enumerate(zip(self.values, self.number, strict=True)):
            before, after = value[old], value[new]
            differs = before != after
            won = (after >= 0) & (number[task, after] == 0)
            lost = (before >= 0) & (number[task, before] == 1)
            weight = _TAG * EARLIER_TAG ** min(len(self.values) - 1 - place, WEIGHED_TAGS)
            change += weight * (differs & won) - weight * (differs & lost)
        if self.racks is not None:
            crossings = self.racks.standby
            change += crossings[task, self.racks.rack_of[old]] - crossings[task, self.racks.rack_of[new]]
        return change

    def _may_go(self, task: IntArray, old: IntArray, new: IntArray, gain: IntArray) -> BoolArray:
        """(n,) whether the copy may go there: now among clients of one rank; for racks alone, where it costs no more."""
        C = self.problem.C
        may: BoolArray = np.ones(len(task), dtype=np.bool_)
        if self.now:
            may &= self.problem.rank_of(task * C + old) == self.problem.rank_of(task * C + new)
        cheap = self.problem.cost_of(task * C + new) <= self.problem.cost_of(task * C + old)
        return may & ((gain >= _TAG // 2) | cheap)

    def _have_room(self, group: int, giver: int) -> BoolArray:
        """(C,) whether a copy of the subtopology may go there from the giver."""
        total, within = self.shares.copies, self.shares.group_copies
        room = (self.copies < total.high) & (self.group_copies[group] < within.high[group])
        spare = self.copies[giver] > total.low[giver] and self.group_copies[group, giver] > within.low[group, giver]
        return room if spare else np.zeros_like(room)

    def _change(self, at: int, to: int) -> None:
        """Put the standby on another client."""
        task, here = int(self.task[at]), int(self.client[at])
        self.held[task, here], self.held[task, to] = False, True
        for value, number in zip(self.values, self.number, strict=True):
            number[task, value[here]] -= 1
            number[task, value[to]] += 1
        group = int(self.problem.group[task])
        for counts, cell in ((self.copies, ()), (self.group_copies, (group,))):
            counts[(*cell, here)] -= 1
            counts[(*cell, to)] += 1
        self.client[at] = to
