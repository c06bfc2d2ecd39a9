"""A program's choices: the copies that are allowed, by R2, R4 and an operator's limits, and the shares of active tasks.

The scope is the optimal face of the copies' flow or all plans, inside the shares or, where imbalance is a cost, wherever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optassign_models.flows.copies import CopiesFace, Range
from optassign_models.forced import Forced
from optassign_models.limits.limit import Kind, PlacementLimit
from optassign_models.policy.constants import MERGE_FROM
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
    def is_told_apart(self) -> BoolArray:
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


@dataclass(frozen=True, eq=False)
class Allowed:
    """The allowed places of copies."""

    lead: BoolArray
    """(A,) columns on which the task may be active."""
    hold: BoolArray
    """(A,) columns on which the task may have a copy."""
    lead_in: BoolArray
    """(T, Z) zones in whose pool the task may be active."""
    hold_in: BoolArray
    """(T, Z) zones in whose pool the task may have copies."""
    must_hold: BoolArray
    """(A,) columns on which the task must have a copy."""

    @classmethod
    def anywhere(cls, problem: Problem, zones: Zones) -> Allowed:
        """No limits."""
        on_columns = np.ones(len(problem.col_task), dtype=np.bool_)
        in_pools = np.ones((problem.T, zones.number), dtype=np.bool_)
        return cls(on_columns, on_columns, in_pools, in_pools, ~on_columns)

    def narrow_to_now(self, forced: Forced) -> Allowed:
        """Keep only the places that R3 to R5 allow in this rebalance."""
        return Allowed(
            lead=self.lead & forced.leading,
            hold=self.hold & (forced.mandatory | forced.tied),
            lead_in=self.lead_in & forced.pool_leading[:, None],
            hold_in=self.hold_in & forced.pool_tied[:, None],
            must_hold=forced.mandatory,
        )


def make_open_scope(
    problem: Problem,
    forced: Forced,
    shares: Shares,
    zones: Zones,
    allowed: Allowed,
    apart: BoolArray,
    *,
    is_soft: bool,
) -> Scope:
    """The scope of the plans of a problem; `apart` (G × C,): places that are told apart where others are merged."""
    column = np.flatnonzero(problem.logged[problem.col_task])
    task = problem.col_task[column]
    pooled, zone = np.nonzero((zones.size_pools(problem) > 0) & problem.logged[:, None])
    has_ties = _find_tasks_with_ties(problem, forced)
    tied_task = np.flatnonzero(has_ties)
    size = zones.size_pools(problem)[pooled, zone]
    place, room = _find_places(problem, zones, pooled, zone)
    cell = np.flatnonzero(problem.kind[np.arange(problem.G * problem.C) // problem.C] == LOGGED)
    share = shares.group_copies
    most = room if is_soft else np.minimum(room, share.high.ravel()[place])
    copies = CopiesFace(
        problem=problem,
        column=column,
        on_column=Range(allowed.must_hold[column] * 1, allowed.hold[column] * 1),
        column_is_tied=forced.tied[column] & has_ties[task],
        zones=zones,
        pooled=pooled,
        pooled_zone=zone,
        in_pool=_up_to(np.minimum(problem.standbys + 1, size) * allowed.hold_in[pooled, zone]),
        pool_is_tied=forced.pool_tied[pooled] & has_ties[pooled],
        tied_task=tied_task,
        on_tied=Range(np.full(len(tied_task), -problem.standbys - 1), forced.choices[tied_task]),
        place_group=place // problem.C,
        place_client=place % problem.C,
        places=_up_to(most),
        cell=cell,
        in_cell=Range(share.low.ravel()[cell], share.high.ravel()[cell]),
        on_client=Range(shares.copies.low, shares.copies.high),
    )
    is_told_apart = apart if len(apart) > MERGE_FROM else np.ones_like(apart)
    return Scope(copies, shares, is_told_apart, allowed.lead, allowed.lead_in, is_soft)


def _up_to(high: IntArray) -> Range:
    return Range(np.zeros_like(high), high)


def _find_tasks_with_ties(problem: Problem, forced: Forced) -> BoolArray:
    """(T,) tasks that may have more copies on cold tied clients than this answer forces."""
    tied = np.bincount(problem.col_task[forced.tied], minlength=problem.T)
    tied = tied + np.where(forced.pool_tied, problem.pool_size, 0)
    return forced.tie_not_caught_up & (tied > forced.choices)


def _find_places(problem: Problem, zones: Zones, pooled: IntArray, zone: IntArray) -> tuple[IntArray, IntArray]:
    """Cells in which pooled copies of logged tasks may be, and how many tasks have each of them in their pool."""
    G, C, Z = problem.G, problem.C, zones.number
    in_pool = np.zeros((problem.T, Z), dtype=np.bool_)
    in_pool[pooled, zone] = True
    number = np.bincount(problem.group[pooled] * Z + zone, minlength=G * Z)
    counted = in_pool[problem.col_task, zones.of_client[problem.col_client]]
    column_cell = problem.group[problem.col_task] * C + problem.col_client
    pool_of_cell = zones.find_pools(*np.divmod(np.arange(G * C), C))
    room = number[pool_of_cell] - np.bincount(column_cell[counted], minlength=G * C)
    place = np.flatnonzero(room > 0)
    return place, room[place]


def list_labels(limits: Sequence[PlacementLimit]) -> list[IntArray]:
    """(C,) each: the clients that a pin or a forbidden place tells apart from the others."""
    return [limit.clients.astype(np.int64) for limit in limits if limit.kind is not Kind.MOST]


def allow(problem: Problem, zones: Zones, limits: Sequence[PlacementLimit]) -> Allowed:
    """Find the places that limits leave to copies; clients that limits tell apart must be in different zones."""
    allowed = Allowed.anywhere(problem, zones)
    lead, hold = allowed.lead.copy(), allowed.hold.copy()
    lead_in, hold_in = allowed.lead_in.copy(), allowed.hold_in.copy()
    member = np.zeros(zones.number, dtype=np.int64)
    member[zones.of_client] = np.arange(problem.C)
    for limit in limits:
        if limit.kind is Kind.MOST:
            continue
        barred = limit.clients if limit.kind is Kind.FORBID else ~limit.clients
        on_column = limit.tasks[problem.col_task] & barred[problem.col_client]
        in_pool = limit.tasks[:, None] & barred[member][None, :]
        lead &= ~on_column
        lead_in &= ~in_pool
        if limit.kind is Kind.FORBID:
            hold &= ~on_column
            hold_in &= ~in_pool
    return replace(allowed, lead=lead, hold=hold, lead_in=lead_in, hold_in=hold_in)
