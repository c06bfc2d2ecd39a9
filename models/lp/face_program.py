"""The plans on the optimal face of the copies' flow as a linear program: copies, and which of them are active.

Places for pooled copies are many (subtopologies × clients) and few of them matter. A place is *told apart* where a least number
of copies or actives is asked for; the others are *merged*: the program says how many pooled copies of a subtopology are on
merged places, and how many such copies a client has, but not which of whom. `places.py` deals them afterwards.

| variables | |
|---|---|
| y(column), p(t) | copies on columns, and in the task's pool |
| q(g, c) | pooled copies of the subtopology on the client, where that is told apart |
| r(g), r(c) | pooled copies on merged places, by subtopology and by client |
| a(column), f(t), b(g, c), m(g), m(c) | the same for active copies; of tasks without changelog they are the only ones |

| rows | |
|---|---|
| Σ y + p = standbys + 1; Σ a + f = 1 | for each task (R1, R4) |
| Σ p = Σ q + r(g); Σ f = Σ b + m(g) | for each subtopology: pools add up |
| Σ r(g) = Σ r(c); Σ m(g) = Σ m(c) | merged places add up: those of copies, and of each kind of actives |
| Σ y + p | copies of a task on each value of a tag: within the bounds of the face |
| a ≤ y; f ≤ p; b ≤ q; m ≤ r | an active copy is a copy |
| tied copies, cells, clients | within the bounds of the face |
| actives per cell, stateful and all actives per client | within their windows |

Where copies are spread over tags, each subtopology has a pool in each zone (`Zones.find_pools`): g stands for both.

Left out are R2 between pooled copies and the upper bounds of merged places, so its optimum is a bound; where the vertex is
whole and places can be dealt, it is a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign.models.flows.face import CopiesFace
from optassign.models.goals import GoalModel
from optassign.models.lp.program import Matrix
from optassign.models.problem import IntArray
from optassign.models.windows import Windows


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


@dataclass(frozen=True, eq=False)
class FaceProgram:
    """The program, and where its variables are."""

    face: CopiesFace
    windows: Windows
    matrix: Matrix
    y: IntArray
    """(n,) of `face.column`."""
    p: IntArray
    """(k,) of `face.pooled`, in `face.pooled_zone`."""
    q_cell: IntArray
    """(q,) subtopology × C + client of the places for pooled copies that are told apart."""
    q: IntArray
    """(q,)"""
    r: MergedPlaces
    """Of pooled copies."""
    a_column: IntArray
    """(n + N,) columns that may be active: the face's, then those of tasks without changelog."""
    a: IntArray
    """(n + N,)"""
    f_task: IntArray
    """(k + K,) tasks whose active may be in their pool: the face's, then those without changelog;"""
    f_pool: IntArray
    """(k + K,) which pool."""
    f: IntArray
    """(k + K,)"""
    b_cell: IntArray
    """(b,) subtopology × C + client of the places for pooled actives that are told apart: first those of `q_cell`."""
    b: IntArray
    """(b,)"""
    m: tuple[MergedPlaces, ...]
    """Of pooled actives: of logged tasks, in the places of `r`, then of each other kind."""

    def price(self, goal: GoalModel) -> IntArray:
        """(variables,) what the goal costs: per active, and per standby (a copy that is not active)."""
        problem = self.face.problem
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        if goal.cost_per_active is not None:
            each = goal.cost_per_active(problem)
            cost[self.a] += each.columns[self.a_column]
            cost[self.f] += each.pools[self.f_task]
        if goal.cost_per_standby is not None:
            each = goal.cost_per_standby(problem)
            cost[self.y] += each.columns[self.face.column]
            cost[self.p] += each.pools[self.face.pooled]
            cost[self.a[: len(self.y)]] -= each.columns[self.face.column]
            cost[self.f[: len(self.p)]] -= each.pools[self.face.pooled]
        return cost

    def price_tie(self) -> IntArray:
        """(variables,) least where clients keep their smallest tasks, as actives first, and give away their greatest."""
        problem, T = self.face.problem, self.face.problem.T
        held = problem.col_owner | problem.col_standby
        cost = np.zeros(len(self.matrix.low), dtype=np.int64)
        task = problem.col_task[self.a_column]
        cost[self.a] = np.where(held[self.a_column], (T + 1) * (task - T), 0)
        task = problem.col_task[self.face.column]
        cost[self.y] = np.where(held[self.face.column], task - T, 0)
        return cost
