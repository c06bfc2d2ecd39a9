"""The data that the stages of one rebalance share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from optassign.solving.situation.requests import RequestedLimits
from optassign_models.forced import Forced, find_forced
from optassign_models.limits import list_broken
from optassign_models.offload import OffloadOptions
from optassign_models.problem import BoolArray, IntArray, Placement, Problem
from optassign_models.shares import Shares, count_copies


@dataclass(frozen=True, eq=False)
class Case:
    """The problem, with as many pairs written out as the method wants, and what belongs to it."""

    problem: Problem
    forced: Forced
    """The copies that R3 to R5 force in this rebalance."""
    shares: Shares
    """The shares of balance, by the rules."""
    target: Shares
    """The shares that this rebalance demands: those of balance, or wider ones if they cannot be kept or are a cost."""
    limits: RequestedLimits = field(default_factory=RequestedLimits, kw_only=True)
    """Those of an operator's limits that hold together. They bind the plan, and the answer that is its own plan. On the way R3
    to R5 decide where copies are."""

    @property
    def bounds(self) -> Mapping[str, float]:
        """Goal → bound in the units of its measure, for this case's demands in addition to shares; it needs no search."""
        return {}

    def reaches_target(self, answer: Placement) -> bool:
        """Whether every count is inside the shares that are demanded."""
        return self.target.hold(count_copies(self.problem, answer))

    def keeps_limits(self, placed: Placement) -> bool:
        """Whether a plan keeps the limits on placements."""
        return not list_broken(self.limits.placements, placed)

    def breaks_no_more_limits(self, placed: Placement, other: Placement) -> bool:
        """Whether a plan breaks no more limits than another one."""
        limits = self.limits.placements
        return len(list_broken(limits, placed)) <= len(list_broken(limits, other))

    def may_be_plan(self, placed: Placement) -> bool:
        """Whether every count is inside the shares that are demanded, and the limits are kept."""
        return self.reaches_target(placed) and self.keeps_limits(placed)

    def is_balanced(self, answer: Placement) -> bool:
        """Whether every count is inside its share."""
        return self.shares.hold(count_copies(self.problem, answer))

    def widen_target_to(self, answer: Placement) -> Case:
        """The same case, which demands no more of any count than the answer has."""
        return replace(self, target=self.target.widen_to(count_copies(self.problem, answer)))

    def as_restored(self, placed: Placement) -> Case:
        """The same case once these copies, and no others, have all their state."""
        problem = self.problem.as_restored(placed)
        return replace(self, problem=problem, forced=find_forced(problem))

    def keeps_r3_to_r5(self, answer: Placement) -> bool:
        """Whether an assignment with the right number of copies keeps R3 and R5."""
        problem, forced = self.problem, self.forced
        at = problem.find(np.arange(problem.T) * problem.C + answer.active)
        pooled = at < 0
        if not forced.pool_leading[pooled].all() or not forced.leading[at[~pooled]].all():
            return False
        keys = answer.copy_keys(problem.C, problem.logged)
        at = problem.find(keys)
        pooled = at < 0
        held = np.zeros(len(problem.col_task), dtype=np.bool_)
        held[at[~pooled]] = True
        allowed = forced.mandatory | forced.tied
        is_allowed = forced.pool_tied[keys[pooled] // problem.C].all() and allowed[at[~pooled]].all()
        return bool(is_allowed and held[forced.mandatory].all())

    def has_few_moves(self, answer: Placement) -> bool:
        """Whether an answer keeps the limit on active moves, or makes no move that R3 does not force."""
        if self.limits.most_moves is None:
            return True
        moved, free = self.find_moves(answer)
        return int(moved.sum()) <= self.limits.most_moves or not free.any()

    def allows_offload(self, options: OffloadOptions, active: IntArray) -> bool:
        """Whether temporary offload to these actives (T,) keeps that limit, or adds nothing to what R3 forces beyond it."""
        most = self.limits.most_moves
        if most is None:
            return True
        forced = int(self._find_moved(options.start).sum())
        return int(self._find_moved(active).sum()) <= max(most, forced)

    def find_moves(self, answer: Placement) -> tuple[BoolArray, BoolArray]:
        """(T,) owned tasks that become active on none of their owners, and of these the ones that an owner may keep."""
        problem, moved = self.problem, self._find_moved(answer.active)
        may = np.bincount(problem.col_task[problem.col_owner & self.forced.leading], minlength=problem.T) > 0
        return moved, moved & may

    def _find_moved(self, active: IntArray) -> BoolArray:
        """(T,) owned tasks that become active (T,) on none of their owners."""
        keys = np.arange(self.problem.T) * self.problem.C + active
        return self.problem.has_owner & ~self.problem.flag_of(keys, self.problem.col_owner)
