"""The decision variables that the CP-SAT models share: who is active where, who is standby where.

One pair of booleans for each column. Tasks without changelog have pools: which of them take a place in the pool of their
subtopology, and how many places each client gives; as only one copy of them exists, counting loses nothing, and
`pooling.deal` turns counts into pairs. Logged tasks are placed on their columns only (counting their pooled copies would
relax R2; the flows do that, see copies.py), so a caller writes out all pairs that may be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.pooling import deal_pool
from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem, make_placement

Expression = cp_model.LinearExpr | int


def total(terms: Iterable[Expression]) -> Expression:
    """Σ terms; 0 for none."""
    terms = list(terms)
    return cp_model.LinearExpr.sum(terms) if terms else 0


def weighted(terms: list[cp_model.IntVar], weights: IntArray) -> Expression:
    """Σ weight × term over `terms` (n,) and `weights` (n,), without weights of 0; 0 for none."""
    used = np.flatnonzero(weights)
    if not len(used):
        return 0
    return cp_model.LinearExpr.weighted_sum([terms[i] for i in used], [int(weights[i]) for i in used])


@dataclass(frozen=True, eq=False)
class Variables:
    """Variables of copies. A column without a variable (None) cannot take that role."""

    problem: Problem
    model: cp_model.CpModel
    active: list[cp_model.IntVar | None]
    """(A,)"""
    standby: list[cp_model.IntVar | None]
    """(A,)"""
    pool_active: dict[int, cp_model.IntVar]
    """By task without changelog: its active copy is in the pool."""
    place_active: dict[tuple[int, int], cp_model.IntVar]
    """By (subtopology, client): places given to pooled actives."""

    @classmethod
    def of(cls, problem: Problem, model: cp_model.CpModel, may_lead: BoolArray, may_hold: BoolArray) -> Variables:
        """Variables for a problem; (A,) masks say which columns may be active, and which may be standbys."""
        logged = problem.logged[problem.col_task]
        active = [model.new_bool_var("") if may else None for may in may_lead.tolist()]
        standby = [model.new_bool_var("") if may and problem.standbys else None for may in (may_hold & logged).tolist()]
        pooled = np.flatnonzero(~problem.logged & (problem.pool_size > 0))
        number = np.bincount(problem.group[pooled], minlength=problem.G)
        cells = [(g, c, int(number[g])) for g in np.flatnonzero(number).tolist() for c in range(problem.C)]
        pool_active = {t: model.new_bool_var("") for t in pooled.tolist()}
        place_active = {(g, c): model.new_int_var(0, n, "") for g, c, n in cells}
        return cls(problem, model, active, standby, pool_active, place_active)

    @staticmethod
    def total(terms: Iterable[Expression]) -> Expression:
        """Σ terms; 0 for none."""
        return total(terms)

    @staticmethod
    def weighted(terms: list[cp_model.IntVar], weights: IntArray) -> Expression:
        """Σ weight × term over `terms` (n,) and `weights` (n,), without weights of 0; 0 for none."""
        return weighted(terms, weights)

    def columns_of(self, task: int) -> range:
        """Columns of a task."""
        return range(int(self.problem.col_start[task]), int(self.problem.col_start[task + 1]))

    def actives(self, columns: Iterable[int]) -> list[cp_model.IntVar]:
        """The active variables of the columns that have one."""
        return [v for i in columns if (v := self.active[i]) is not None]

    def standbys(self, columns: Iterable[int]) -> list[cp_model.IntVar]:
        """The standby variables of the columns that have one."""
        return [v for i in columns if (v := self.standby[i]) is not None]

    def copies(self, columns: Iterable[int]) -> list[cp_model.IntVar]:
        """Both roles."""
        columns = list(columns)
        return self.actives(columns) + self.standbys(columns)

    def count_cells(self) -> tuple[dict[tuple[int, int], Expression], dict[tuple[int, int], Expression]]:
        """Per (subtopology, client) the number of actives, and of copies."""
        p = self.problem
        group, client = p.group[p.col_task].tolist(), p.col_client.tolist()
        actives: dict[tuple[int, int], list[Expression]] = {}
        copies: dict[tuple[int, int], list[Expression]] = {}
        for i, cell in enumerate(zip(group, client, strict=True)):
            for variable, role_active in ((self.active[i], True), (self.standby[i], False)):
                if variable is not None:
                    copies.setdefault(cell, []).append(variable)
                    if role_active:
                        actives.setdefault(cell, []).append(variable)
        for cell, place in self.place_active.items():
            actives.setdefault(cell, []).append(place)
        return ({k: total(v) for k, v in actives.items()}, {k: total(v) for k, v in copies.items()})

    def hint(self, start: Placement) -> list[int] | None:
        """Values of the copies' variables for a placement; None where a copy has no variable. Variables that are made later
        (imbalance, ties) are not among them."""
        p = self.problem
        # These variables are the model's first: what goals have added since comes after them.
        own = sum(variable is not None for variable in (*self.active, *self.standby))
        values = [0] * (own + len(self.pool_active) + len(self.place_active))
        for role, keys in ((self.active, np.arange(p.T) * p.C + start.active), (self.standby, start.standby_keys(p.C))):
            for key, column in zip(keys.tolist(), p.find(keys).tolist(), strict=True):
                task, client = divmod(key, p.C)
                variable = role[column] if column >= 0 else self.pool_active.get(task)
                if variable is None:
                    return None
                values[variable.index] = 1
                if column < 0:
                    values[self.place_active[int(p.group[task]), client].index] += 1
        return values

    def placement_of(self, values: list[int]) -> Placement:
        """The placement of a solution."""
        p = self.problem
        active = np.full(p.T, -1, dtype=np.int64)
        standby: list[int] = []
        for i, (a, b) in enumerate(zip(self.active, self.standby, strict=True)):
            if a is not None and values[a.index]:
                active[p.col_task[i]] = p.col_client[i]
            if b is not None and values[b.index]:
                standby.append(int(p.col_keys[i]))
        waiting = np.flatnonzero(active < 0)
        for group in np.unique(p.group[waiting]).tolist():
            tasks = waiting[p.group[waiting] == group]
            places = np.array([values[self.place_active[group, c].index] for c in range(p.C)])
            keys = deal_pool(tasks, np.ones(len(tasks), dtype=np.int64), places, {}, p.C)
            assert keys is not None  # nothing is forbidden
            for key in keys:
                active[key // p.C] = key % p.C
        return make_placement(active, np.array(standby, dtype=np.int64), p.C)


def count_families(v: Variables) -> list[list[Expression]]:
    """The counts of the five families of shares, in order; families per client as (C,), per subtopology as (G × C,)."""
    G, C, kind = v.problem.G, v.problem.C, v.problem.kind
    actives, copies = v.count_cells()

    def per_client(cells: dict[tuple[int, int], Expression], groups: list[int]) -> list[Expression]:
        return [total(cells[g, c] for g in groups if (g, c) in cells) for c in range(C)]

    every, stateful = list(range(G)), np.flatnonzero(kind != STATELESS).tolist()
    logged = set(np.flatnonzero(kind == LOGGED).tolist())
    return [
        per_client(actives, every),
        per_client(actives, stateful),
        per_client(copies, sorted(logged)),
        [actives.get((g, c), 0) for g in every for c in range(C)],
        [copies.get((g, c), 0) if g in logged else 0 for g in every for c in range(C)],
    ]
