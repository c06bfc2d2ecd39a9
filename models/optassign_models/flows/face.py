"""The optimal face of the copies' flow: all copies that reach its optimum of restore work and copies not caught up, and no
others.

An arc whose reduced cost is not zero carries the same flow in every optimum (complementary slackness), so bounds on the arcs
say it all. The parts that the flow leaves out (R2 between pooled copies, the shares of the actives) can only make it smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

from optassign_models.problem import BoolArray, IntArray, Problem
from optassign_models.zones import Zones


@dataclass(frozen=True, eq=False)
class Range:
    """Least and greatest number, (n,) each."""

    low: IntArray
    """(n,) least number of copies."""
    high: IntArray
    """(n,) greatest number of copies."""


@dataclass(frozen=True, eq=False)
class CopiesFace:
    """Bounds on the copies of logged tasks. `problem` is the one that the flow was solved for: it may have more columns."""

    problem: Problem
    column: IntArray
    """(n,) columns of logged tasks."""
    on_column: Range
    """(n,) copies on each of them, 0 or 1."""
    column_is_tied: BoolArray
    """(n,) the copy counts among those of the task's tied clients."""
    zones: Zones
    pooled: IntArray
    """(k,) tasks that may use their pool,"""
    pooled_zone: IntArray
    """(k,) in this zone."""
    in_pool: Range
    """(k,) copies of the task in its pool."""
    pool_is_tied: BoolArray
    """(k,) the pool's clients are tied clients of the task."""
    tied_task: IntArray
    """(j,) tasks with tied clients."""
    on_tied: Range
    """(j,) copies of the task on its tied clients."""
    place_group: IntArray
    """(q,) subtopology and"""
    place_client: IntArray
    """(q,) client of the places for pooled copies."""
    places: Range
    """(q,) pooled copies of the subtopology on the client."""
    cell: IntArray
    """(m,) subtopology × C + client, of the logged subtopologies."""
    in_cell: Range
    """(m,) copies of the subtopology on the client."""
    on_client: Range
    """(C,) copies on the client."""
