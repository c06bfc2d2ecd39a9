"""Active copies traded for less that is read across racks: goal (a) `rack_traffic` without a solver.

Two tasks of a subtopology trade their clients, so that all counts stay as they are, where that restores nothing more. If each
has a standby at the other's client, both change roles. If tags count, only that is done: copies stay in their zones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.goals.racks import RACK_TRAFFIC, Racks
from optassign_models.goals.tags import TAG_SPREAD, Tags
from optassign_models.policy.constants import COMPARED_PAIRS, WRITTEN_OUT_PAIRS
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement


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
