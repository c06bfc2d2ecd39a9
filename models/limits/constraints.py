"""Limits in CP-SAT: as constraints of a model, and whether some can hold together at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from optassign.models.cp_sat.solver import run
from optassign.models.cp_sat.variables import Variables, weighted
from optassign.models.deadline import Deadline
from optassign.models.limits.limit import Kind, PlacementLimit
from optassign.models.problem import Problem

_EXACT_BITS = 50
"""Of a sum of weights; beyond, weights are rounded up to a resolution, so that what the model allows is allowed."""


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
    resolution = max(1, sums >> _EXACT_BITS)
    weight = -(-limit.weight // resolution)
    for client in np.flatnonzero(limit.clients).tolist():
        columns = np.flatnonzero(problem.col_client == client).tolist()
        terms = [(variable, int(weight[problem.col_task[i]])) for i in columns for variable in v.copies([i])]
        if terms:
            each = np.array([one for _, one in terms], dtype=np.int64)
            v.model.add(weighted([variable for variable, _ in terms], each) <= limit.most // resolution)


def can_hold(problem: Problem, limits: Sequence[PlacementLimit], deadline: Deadline, work: float) -> bool | None:
    """Whether some placement keeps R1, R2, R4 and the limits; None where that was not found out."""
    from optassign.models.cp_sat.plan import make_placement_model

    v = make_placement_model(problem.with_all_columns())
    require_limits(v, limits)
    outcome = run(v.model, deadline, work)
    return False if outcome.reason == "infeasible" else True if outcome.values is not None else None
