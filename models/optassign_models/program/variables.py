"""A program's choices, and its variables: copies, and which of them are active (the package has the table).

The scope has the copies that are allowed, by R2, R4 and an operator's limits, and the shares of active tasks. It is the optimal
face of the copies' flow or all plans, inside the shares or, where imbalance is a cost, wherever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optassign_models.flows.copies import CopiesFace, Range
from optassign_models.forced import Forced
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.lp import Program
from optassign_models.policy.constants import MERGE_FROM
from optassign_models.pools import Zones
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.shares import ShareFamilies


@dataclass(frozen=True, eq=False)
class Scope:
    """Bounds on copies, with the shares of copies among them; shares of actives; the places that are told apart."""

    copies: CopiesFace
    shares: ShareFamilies
    """Only the shares of actives among these are read; those of copies are bounds of `copies`."""
    apart: BoolArray
    """(G × C,) places that are told apart, in addition to the necessary ones."""
    may_lead: BoolArray
    """(A,) columns on which the task may be active."""
    may_lead_in: BoolArray
    """(T, Z) zones in whose pool the task may be active."""
    is_soft: bool = False
    """Places are not bounded by the shares: counts beyond a share cost."""

    @classmethod
    def on_face(cls, face: CopiesFace, shares: ShareFamilies, apart: BoolArray | None = None) -> Scope:
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
    shares: ShareFamilies,
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


@dataclass(frozen=True, eq=False)
class MergedPlaces:
    """Places of one kind that the program does not tell apart: pooled copies, or pooled actives of one kind of tasks."""

    cell: IntArray
    """(k,) subtopology × C + client of each."""
    row: IntArray
    """(k,) where the pool of each is in `pool`."""
    pool: IntArray
    """(n,) pools (subtopology × Z + zone) that have such places."""
    of_pool: IntArray
    """(n,) variables: copies of each of these pools."""
    of_client: IntArray
    """(C,) variables: copies on each client."""
    kind: int
    """Of their tasks."""


@dataclass(frozen=True, eq=False)
class ProgramVariables:
    """The place of each variable."""

    scope: Scope
    y: IntArray
    """(n,) of `copies.column`."""
    p: IntArray
    """(k,) of `copies.pooled`, in `copies.pooled_zone`."""
    p_pool: IntArray
    """(k,) which pool that is."""
    q_cell: IntArray
    """(q,) subtopology × C + client of the places for pooled copies that are told apart."""
    q: IntArray
    """(q,)"""
    r: MergedPlaces
    """Of pooled copies."""
    a_column: IntArray
    """(n + N,) columns that may be active: those of the copies, then those of tasks without changelog."""
    a: IntArray
    """(n + N,)"""
    f_task: IntArray
    """(k + K,) tasks whose active may be in their pool: those of the copies, then those without changelog;"""
    f_pool: IntArray
    """(k + K,) which pool."""
    f: IntArray
    """(k + K,)"""
    b_cell: IntArray
    """(b,) subtopology × C + client of the places for pooled actives that are told apart: first those of `q_cell`."""
    b: IntArray
    """(b,)"""
    m: tuple[MergedPlaces, ...]
    """Pooled actives: of logged tasks, in the places of `r`, then of each other kind."""


def declare_variables(program: Program, scope: Scope) -> ProgramVariables:
    """Adds the variables of all copies to a program, with the bounds that the scope has for each."""
    copies, problem, zones = scope.copies, scope.problem, scope.zones
    place, (place_low, place_high) = scope.place_cell, scope.place_bounds
    y = program.add_variables(copies.on_column.low, copies.on_column.high)
    p = program.add_variables(copies.in_pool.low, copies.in_pool.high)
    p_pool = problem.group[copies.pooled] * zones.number + copies.pooled_zone
    q_cell = place[scope.is_told_apart[place]]
    q = program.add_variables(place_low[q_cell], place_high[q_cell])
    r_cell = place[~scope.is_told_apart[place] & (place_high[place] > 0)]
    r = _merge(program, scope, r_cell, place_high, LOGGED)

    free_column = np.flatnonzero(~problem.logged[problem.col_task])
    free_task, free_zone = scope.pools_without_changelog
    free_pool = problem.group[free_task] * zones.number + free_zone
    in_pool = np.bincount(free_pool, minlength=problem.G * zones.number)
    free_cell = np.flatnonzero(in_pool[scope.pool_of_cell])
    free_cell = free_cell[problem.kind[free_cell // problem.C] != LOGGED]
    most = place_high.copy()
    most[free_cell] = in_pool[scope.pool_of_cell[free_cell]]
    if not scope.is_soft:
        most = np.minimum(most, scope.actives_bounds[1])
    a_column = np.concatenate([copies.column, free_column])
    a_high = np.concatenate([copies.on_column.high, np.ones_like(free_column)]) * scope.may_lead[a_column]
    f_high = np.minimum(copies.in_pool.high, 1) * scope.may_lead_in[copies.pooled, copies.pooled_zone]
    b_cell = np.concatenate([q_cell, free_cell[scope.is_told_apart[free_cell]]])
    a = _add_up_to(program, a_high)
    f = _add_up_to(program, np.concatenate([f_high, np.ones_like(free_task)]))
    b = _add_up_to(program, most[b_cell])
    merged = [(LOGGED, r_cell)]
    for kind, is_of_kind in scope.count_kinds(free_cell):
        of_kind = free_cell[is_of_kind]
        merged.append((kind, of_kind[~scope.is_told_apart[of_kind]]))
    return ProgramVariables(
        scope=scope,
        y=y,
        p=p,
        p_pool=p_pool,
        q_cell=q_cell,
        q=q,
        r=r,
        a_column=a_column,
        a=a,
        f_task=np.concatenate([copies.pooled, free_task]),
        f_pool=np.concatenate([p_pool, free_pool]),
        f=f,
        b_cell=b_cell,
        b=b,
        m=tuple(_merge(program, scope, cell, most, kind) for kind, cell in merged),
    )


def _add_up_to(program: Program, high: IntArray) -> IntArray:
    return program.add_variables(np.zeros_like(high), high)


def _merge(program: Program, scope: Scope, cell: IntArray, most: IntArray, kind: int) -> MergedPlaces:
    """Make variables for merged places `cell` (k,), each of at most `most` copies: `most` (G × C,)."""
    C = scope.problem.C
    pool, place = np.unique(scope.pool_of_cell[cell], return_inverse=True)
    by_pool = np.bincount(place, weights=most[cell], minlength=len(pool)).astype(np.int64)
    by_client = np.bincount(cell % C, weights=most[cell], minlength=C).astype(np.int64)
    return MergedPlaces(cell, place.reshape(-1), pool, _add_up_to(program, by_pool), _add_up_to(program, by_client), kind)
