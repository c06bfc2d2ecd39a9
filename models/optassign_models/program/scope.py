"""A program's choices: the copies that are allowed, and the shares of active tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optassign_models.flows.face import CopiesFace
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import Shares
from optassign_models.zones import Zones


@dataclass(frozen=True, eq=False)
class Scope:
    """Bounds on copies, with the shares of copies among them; shares of actives; the places that are told apart."""

    copies: CopiesFace
    shares: Shares
    """Only the shares of actives among these are read; those of copies are bounds of `copies`."""
    apart: BoolArray
    """(G × C,) places that are told apart, in addition to the necessary ones."""
    may_lead: BoolArray
    """(A,) columns on which the task may be active."""
    may_lead_in: BoolArray
    """(T, Z) zones in whose pool the task may be active."""
    is_soft: bool = False
    """Places are not bounded by the shares: counts beyond a share cost (`imbalance.py`)."""

    @classmethod
    def on_face(cls, face: CopiesFace, shares: Shares, apart: BoolArray | None = None) -> Scope:
        """The plans on the optimal face of the copies' flow, inside the shares of actives. `apart`: (G × C,), none if None."""
        problem = face.problem
        return cls(
            copies=face,
            shares=shares,
            apart=np.zeros(problem.G * problem.C, dtype=np.bool_) if apart is None else apart,
            may_lead=np.ones(len(problem.col_task), dtype=np.bool_),
            may_lead_in=np.ones((problem.T, face.zones.number), dtype=np.bool_),
        )

    @property
    def problem(self) -> Problem:
        """The problem that the copies are of."""
        return self.copies.problem

    @property
    def zones(self) -> Zones:
        """Z zones."""
        return self.copies.zones

    @cached_property
    def column_cell(self) -> IntArray:
        """(A,) subtopology × C + client of each column."""
        problem = self.problem
        return problem.group[problem.col_task] * problem.C + problem.col_client

    @cached_property
    def pool_of_cell(self) -> IntArray:
        """(G × C,) pool (subtopology × Z + zone) of each place."""
        problem = self.problem
        return self.zones.find_pools(*np.divmod(np.arange(problem.G * problem.C), problem.C))

    @cached_property
    def place_cell(self) -> IntArray:
        """(q,) subtopology × C + client of the places for pooled copies."""
        return self.copies.place_group * self.problem.C + self.copies.place_client

    @cached_property
    def place_bounds(self) -> tuple[IntArray, IntArray]:
        """Pooled copies on each place at least and at most, (G × C,) each."""
        places = self.copies.places
        return self._spread(self.place_cell, places.low, places.high)

    @cached_property
    def copies_bounds(self) -> tuple[IntArray, IntArray]:
        """Copies of each subtopology on each client at least and at most, (G × C,) each."""
        in_cell = self.copies.in_cell
        return self._spread(self.copies.cell, in_cell.low, in_cell.high)

    @cached_property
    def actives_bounds(self) -> tuple[IntArray, IntArray]:
        """Actives of each subtopology on each client at least and at most, (G × C,) each."""
        share = self.shares.group_active
        return share.low.ravel(), np.minimum(share.high.ravel(), self.problem.T)

    @cached_property
    def is_apart(self) -> BoolArray:
        """(G × C,) the place is told apart."""
        lows = self.copies_bounds[0], self.place_bounds[0], self.actives_bounds[0]
        return self.apart | np.any(np.stack(lows) > 0, axis=0)

    @cached_property
    def pools_without_changelog(self) -> tuple[IntArray, IntArray]:
        """(K,) tasks without changelog that may use their pool, and (K,) the zone of that pool."""
        usable = (self.zones.size_pools(self.problem) > 0) & ~self.problem.logged[:, None]
        task, zone = np.nonzero(usable & self.may_lead_in)
        return task, zone

    def count_kinds(self, cell: IntArray) -> list[tuple[int, BoolArray]]:
        """Each kind of tasks without changelog among some places, and which of the places (k,) are of that kind."""
        kinds = self.problem.kind[cell // self.problem.C]
        return [(kind, kinds == kind) for kind in np.unique(kinds).tolist() if kind != LOGGED]

    def _spread(self, cell: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Bounds of all places, zero where none are given."""
        cells = self.problem.G * self.problem.C
        lows, highs = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
        lows[cell], highs[cell] = low, high
        return lows, highs
