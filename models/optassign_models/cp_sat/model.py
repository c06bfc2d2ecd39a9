"""The CP-SAT model: variables of copies, and constraints, one function each: R1 to R5, pools, shares, limits.

One pair of booleans for each column. Tasks without changelog have pools: which of them take a place in the pool of their
subtopology, and how many places each client gives; as only one copy of them exists, counting loses nothing, and
`pools.deal_pool` turns counts into pairs. Logged tasks are placed on their columns only (counting their pooled copies would
relax R2; the flows do that), so a caller writes out all pairs that may be used.

The imbalance of a family of shares is an objective instead, where shares do not bind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.solver import EXACT_BITS, Objective
from optassign_models.forced import Forced
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.pools import deal_pool
from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.shares import ShareFamilies

Expression = cp_model.LinearExpr | int


FAMILIES = ("active_imbalance", "stateful_imbalance", "copies_imbalance", "group_active_imbalance", "group_copies_imbalance")
"""Names of the imbalance of each family of shares, in order: three per client, two per client and subtopology."""


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


def require_one_active(v: Variables) -> None:
    """R1: every task is active exactly once."""
    for task in range(v.problem.T):
        terms: list[Expression] = [*v.actives(v.columns_of(task))]
        if task in v.pool_active:
            terms.append(v.pool_active[task])
        v.model.add(total(terms) == 1)


def require_one_copy_per_client(v: Variables) -> None:
    """R2: no client holds two copies of a task."""
    for a, b in zip(v.active, v.standby, strict=True):
        if a is not None and b is not None:
            v.model.add_at_most_one([a, b])


def require_standby_number(v: Variables) -> None:
    """R4: a logged task has exactly `standbys` standbys."""
    if v.problem.standbys:
        for task in np.flatnonzero(v.problem.logged).tolist():
            v.model.add(total(v.standbys(v.columns_of(task))) == v.problem.standbys)


def require_pools_to_add_up(v: Variables) -> None:
    """Tasks' copies in a pool equal clients' copies of it."""
    by_group: dict[int, list[int]] = {}
    for task in v.pool_active:
        by_group.setdefault(int(v.problem.group[task]), []).append(task)
    for group, tasks in by_group.items():
        taken = total(v.pool_active[t] for t in tasks)
        v.model.add(taken == total(v.place_active[group, c] for c in range(v.problem.C)))


def require_shares(v: Variables, shares: ShareFamilies) -> None:
    """Balanced: every count of the five families inside its share."""
    for counts, share in zip(count_families(v), shares.in_order(), strict=True):
        for expression, low, high in zip(counts, share.low.ravel().tolist(), share.high.ravel().tolist(), strict=True):
            if isinstance(expression, int):
                if not low <= expression <= high:
                    v.model.add_bool_or([])  # nothing can be here, though something must
            else:
                v.model.add_linear_constraint(expression, low, high)


def require_actives_on_most_caught_up(v: Variables, forced: Forced) -> None:
    """R3."""
    for variable, leads in zip(v.active, forced.leading.tolist(), strict=True):
        if variable is not None and not leads:
            v.model.add(variable == 0)


def require_standbys_on_next_most_caught_up(v: Variables, forced: Forced) -> None:
    """R5: mandatory columns hold a copy, and besides them only tied ones."""
    logged = v.problem.logged[v.problem.col_task]
    for i in np.flatnonzero(logged).tolist():
        if forced.mandatory[i]:
            v.model.add(total(v.copies([i])) == 1)
        elif not forced.tied[i]:
            v.model.add(total(v.copies([i])) == 0)


def make_imbalance_objectives(v: Variables, shares: ShareFamilies) -> tuple[Objective, ...]:
    """Imbalance of each family: e (e + 1) / 2 at distance e, as the upper envelope of its tangents."""
    objectives = []
    p = v.problem
    sizes = np.bincount(p.group, minlength=p.G)
    per_cell = np.repeat(sizes, p.C).tolist()
    sums = [p.T, int(sizes[p.kind != STATELESS].sum()), int(sizes[p.kind == LOGGED].sum())]
    at_most = [*([number] * p.C for number in sums), per_cell, per_cell]
    for name, counts, share, most in zip(FAMILIES, count_families(v), shares.in_order(), at_most, strict=True):
        costs: list[Expression] = []
        for expression, low, high, number in zip(
            counts, share.low.ravel().tolist(), share.high.ravel().tolist(), most, strict=True
        ):
            if isinstance(expression, int):
                away = max(low - expression, expression - high, 0)
                costs.append(away * (away + 1) // 2)
                continue
            costs.append(_imbalance(v, expression, low, high, number))
        objectives.append(Objective(name, total(costs)))
    return tuple(objectives)


def _imbalance(v: Variables, expression: Expression, low: int, high: int, number: int) -> Expression:
    """`number`: no count is greater."""
    reach = most = max(low, number - high, 0)
    away = v.model.new_int_var(0, most, "")
    v.model.add(away >= expression - high)
    v.model.add(away >= low - expression)
    cost = v.model.new_int_var(0, most * (most + 1) // 2, "")
    for k in range(1, reach + 1):
        v.model.add(cost >= k * away - k * (k - 1) // 2)
    return cost


def require_limits(v: Variables, limits: Sequence[PlacementLimit]) -> None:
    """The limits, for a model in which all pairs that may be used are columns."""
    problem = v.problem
    task, client = problem.col_task, problem.col_client
    for limit in limits:
        if limit.kind is Kind.PIN:
            for i in np.flatnonzero(limit.tasks[task] & ~limit.clients[client]).tolist():
                _forbid(v, v.actives([i]))
        elif limit.kind is Kind.FORBID:
            for i in np.flatnonzero(limit.tasks[task] & limit.clients[client]).tolist():
                _forbid(v, v.copies([i]))
        else:
            _require_most(v, limit)


def _forbid(v: Variables, variables: Sequence[cp_model.IntVar]) -> None:
    for variable in variables:
        v.model.add(variable == 0)


def _require_most(v: Variables, limit: PlacementLimit) -> None:
    problem = v.problem
    assert limit.weight is not None
    sums = int(np.max(limit.weight, initial=0)) * problem.T
    resolution = max(1, sums >> EXACT_BITS)
    weight = -(-limit.weight // resolution)
    for client in np.flatnonzero(limit.clients).tolist():
        columns = np.flatnonzero(problem.col_client == client).tolist()
        terms = [(variable, int(weight[problem.col_task[i]])) for i in columns for variable in v.copies([i])]
        if terms:
            each = np.array([one for _, one in terms], dtype=np.int64)
            v.model.add(weighted([variable for variable, _ in terms], each) <= limit.most // resolution)
