"""A plan of the problem that it solves: the values that several goals read, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optassign_models.forced import Forced
from optassign_models.problem import BoolArray, IntArray, Placement, Problem


@dataclass(frozen=True, eq=False)
class Placed:
    """A plan, its problem and what R3 to R5 force in it. K is the number of active and standby copies of logged tasks."""

    problem: Problem
    forced: Forced
    plan: Placement

    @cached_property
    def copy_keys(self) -> IntArray:
        """(K,) task × C + client of each copy of a logged task, ascending."""
        return self.plan.copy_keys(self.problem.C, self.problem.logged)

    @cached_property
    def active_keys(self) -> IntArray:
        """(T,) task × C + client of each active copy."""
        return np.arange(self.problem.T) * self.problem.C + self.plan.active

    @cached_property
    def standby_keys(self) -> IntArray:
        """(S,) task × C + client of each standby, ascending."""
        return self.plan.standby_keys(self.problem.C)

    @cached_property
    def is_paid_beyond_forced(self) -> BoolArray:
        """(K,) the copy costs what its rank says: it is not mandatory, nor one of the tied ones that `beyond_ties` counts."""
        return ~self._is_mandatory & ~self._is_cold_tie & (self.problem.rank_of(self.copy_keys) > 0)

    @cached_property
    def beyond_ties(self) -> IntArray:
        """(T,) copies on cold tied clients beyond the `choices` that R3 to R5 force anyway."""
        task = self.copy_keys // self.problem.C
        return np.maximum(np.bincount(task[self._is_cold_tie], minlength=self.problem.T) - self.forced.choices, 0)

    @cached_property
    def _column(self) -> IntArray:
        return self.problem.find(self.copy_keys)

    @cached_property
    def _is_mandatory(self) -> BoolArray:
        forced, column = self.forced, self._column
        return (column >= 0) & (forced.mandatory[np.maximum(column, 0)] if len(forced.mandatory) else False)

    @cached_property
    def _is_cold_tie(self) -> BoolArray:
        forced, column, task = self.forced, self._column, self.copy_keys // self.problem.C
        in_column = forced.tied[np.maximum(column, 0)] if len(forced.tied) else False
        return np.where(column >= 0, in_column, forced.pool_tied[task]) & forced.tie_cold[task]
