"""An operator's limits as parts of the one model: where copies may be, and rows for what a client may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optassign_models.limits.limit import Kind, PlacementLimit
from optassign_models.lp.program import Program
from optassign_models.problem import LOGGED, IntArray, Problem
from optassign_models.program.open_scope import Allowed
from optassign_models.program.variables import Variables
from optassign_models.zones import Zones


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


def require_most(program: Program, v: Variables, limit: PlacementLimit) -> None:
    """Rows: what the copies on each client of the limit weigh. Pooled copies count as the lightest task of their subtopology,
    so the rows bar nothing that the limit allows; where tasks weigh the same, they say all of it."""
    problem, zones = v.scope.problem, v.scope.zones
    assert limit.weight is not None
    clients = np.flatnonzero(limit.clients)
    rows = np.full(problem.C, -1, dtype=np.int64)
    rows[clients] = program.add_rows(np.zeros(len(clients), dtype=np.int64), np.full(len(clients), limit.most))
    lightest = np.full(problem.G, np.iinfo(np.int64).max)
    np.minimum.at(lightest, problem.group, limit.weight)

    def add(variables: IntArray, client: IntArray, weight: IntArray) -> None:
        counts = (rows[client] >= 0) & (weight > 0)
        program.add_weighted_entries(rows[client[counts]], variables[counts], weight[counts])

    column = v.scope.copies.column
    add(v.y, problem.col_client[column], limit.weight[problem.col_task[column]])
    add(v.q, v.q_cell % problem.C, lightest[v.q_cell // problem.C])
    is_free = ~problem.logged[problem.col_task[v.a_column]]
    free = v.a_column[is_free]
    add(v.a[is_free], problem.col_client[free], limit.weight[problem.col_task[free]])
    is_free = problem.kind[v.b_cell // problem.C] != LOGGED
    add(v.b[is_free], v.b_cell[is_free] % problem.C, lightest[v.b_cell[is_free] // problem.C])
    for merged in (v.r, *(merged for merged in v.m if merged.kind != LOGGED)):
        if len(merged.pool):
            least = int(lightest[merged.pool // zones.number].min())
            add(merged.of_client, np.arange(problem.C), np.full(problem.C, least))
