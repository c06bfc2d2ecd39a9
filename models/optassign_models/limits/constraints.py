"""Limits as constraints of a CP-SAT model, and whether they can hold together at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.plan import make_placement_model
from optassign_models.cp_sat.resolution import EXACT_BITS
from optassign_models.cp_sat.solver import run
from optassign_models.cp_sat.variables import Variables, weighted
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.limits.limit import Kind, PlacementLimit, list_broken
from optassign_models.problem import Placement, Problem
from optassign_models.program.solving import ask_in_order, solve
from optassign_models.shares import compute_shares


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


def find_whether_possible(
    problem: Problem, forced: Forced, limits: Sequence[PlacementLimit], deadline: Deadline, work: float
) -> bool | None:
    """Whether some placement keeps R1, R2, R4 and the limits; None where that was not found out.

    work: deterministic time for CP-SAT where the one model, which is a relaxation, does not tell; 0: none.
    """
    everywhere = compute_shares(problem).widen_fully(problem.T * (problem.standbys + 1))

    def judge(placed: Placement) -> tuple[int, ...] | None:
        return None if list_broken(limits, placed) else ()

    answer = solve(ask_in_order(problem, forced, everywhere, (), limits), judge, deadline)
    if answer.placement is not None:
        return True
    if answer.is_impossible:
        return False
    return _search_all_pairs(problem, limits, deadline, work) if work else None


def _search_all_pairs(problem: Problem, limits: Sequence[PlacementLimit], deadline: Deadline, work: float) -> bool | None:
    v = make_placement_model(problem.with_all_columns())
    require_limits(v, limits)
    outcome = run(v.model, deadline, work)
    return False if outcome.reason == "infeasible" else True if outcome.values is not None else None
