"""The one place that runs CP-SAT: reason, limit and bound are three things (as MathOpt has them).

A limit by wall clock makes answers differ from run to run: deterministic time is the limit, the wall clock only a guard.
CP-SAT returns OPTIMAL within a gap limit as well, so reports have bounds, not the status. Below 8 workers its portfolio drops
the worker that solves the full linear program: one worker with `max_lp` has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ortools.sat.python import cp_model

from optassign_models.deadline import Deadline

Reason = Literal["optimal", "feasible", "infeasible", "none"]


@dataclass(frozen=True)
class Outcome:
    """Of one solve. `values` of all variables by index, or None; `bound` of the objective, None where the solver has none."""

    reason: Reason
    limited: bool
    values: list[int] | None
    bound: int | None


def run(model: cp_model.CpModel, deadline: Deadline, work: float, minimize: bool = True) -> Outcome:
    """Solve with one worker.

    Args:
        model: with or without objective and hint.
        deadline: guard by the wall clock.
        work: limit in deterministic time (about seconds on an idle core); the same work gives the same answer.
        minimize: whether the objective's bound is a lower bound.
    """
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.subsolvers.extend(["max_lp"])
    parameters.random_seed = 1
    parameters.max_deterministic_time = work
    parameters.cp_model_probing_level = 0
    if math.isfinite(deadline.at):
        parameters.max_time_in_seconds = max(deadline.left, 1e-3)
    status = solver.solve(model)
    if status == cp_model.MODEL_INVALID:
        raise ValueError(f"CP-SAT refuses the model: {model.validate()[:200]}")
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", False, None, None)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome("none", True, None, None)
    values = list(solver.response_proto.solution)
    bound: int | None = None
    if model.has_objective():
        raw = solver.best_objective_bound
        bound = (math.ceil(raw - 1e-6) if minimize else math.floor(raw + 1e-6)) if math.isfinite(raw) else None
    done = status == cp_model.OPTIMAL
    return Outcome("optimal" if done else "feasible", not done, values, bound)
