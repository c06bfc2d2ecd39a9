"""The variables of the one model: copies, and which of them are active (the package has the table)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.lp.program import Program
from optassign_models.problem import LOGGED, IntArray
from optassign_models.program.scope import Scope


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
