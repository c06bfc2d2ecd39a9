"""Limits as constraints of a CP-SAT model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.resolution import EXACT_BITS
from optassign_models.cp_sat.variables import Variables, weighted
from optassign_models.limits.limit import Kind, PlacementLimit


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
