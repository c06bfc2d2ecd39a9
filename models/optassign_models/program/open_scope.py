"""The scope of all plans: every copy that R2 and R4 allow, inside the shares or, where imbalance is a cost, wherever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.flows.face import CopiesFace, Range
from optassign_models.forced import Forced
from optassign_models.policy.program import MERGE_FROM
from optassign_models.problem import LOGGED, BoolArray, IntArray, Problem
from optassign_models.program.scope import Scope
from optassign_models.shares import Shares
from optassign_models.zones import Zones


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
    is_apart = apart if len(apart) > MERGE_FROM else np.ones_like(apart)
    return Scope(copies, shares, is_apart, allowed.lead, allowed.lead_in, is_soft)


def _up_to(high: IntArray) -> Range:
    return Range(np.zeros_like(high), high)


def _find_tasks_with_ties(problem: Problem, forced: Forced) -> BoolArray:
    """(T,) tasks that may have more copies on cold tied clients than this answer forces."""
    tied = np.bincount(problem.col_task[forced.tied], minlength=problem.T)
    tied = tied + np.where(forced.pool_tied, problem.pool_size, 0)
    return forced.tie_cold & (tied > forced.choices)


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
