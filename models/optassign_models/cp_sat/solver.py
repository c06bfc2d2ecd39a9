"""The one place that runs CP-SAT: reason, limit and bound are three things (as MathOpt has them).

A limit by wall clock makes answers differ from run to run: deterministic time is the limit, the wall clock only a guard.
CP-SAT returns OPTIMAL within a gap limit as well, so reports have bounds, not the status. Below 8 workers its portfolio drops
the worker that solves the full linear program: one worker with `max_lp` has it.

Goals in order are optimised one by one, with the values of those before fixed, all under one deadline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ortools.sat.python import cp_model

from optassign_models.deadline import Deadline
from optassign_models.forced import Forced, prepare
from optassign_models.problem import Problem

Reason = Literal["optimal", "feasible", "infeasible", "none"]


EXACT_BITS = 50
"""CP-SAT reports objectives and bounds as doubles: up to 2^50 they are exact with room to spare."""


@dataclass(frozen=True)
class SolverOutcome:
    """Of one solve. `values` of all variables by index, or None; `bound` of the objective, None where the solver has none."""

    reason: Reason
    limited: bool
    values: list[int] | None
    bound: int | None


def run(model: cp_model.CpModel, deadline: Deadline, work: float, minimize: bool = True) -> SolverOutcome:
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
        return SolverOutcome("infeasible", False, None, None)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return SolverOutcome("none", True, None, None)
    values = list(solver.response_proto.solution)
    bound: int | None = None
    if model.has_objective():
        raw = solver.best_objective_bound
        bound = (math.ceil(raw - 1e-6) if minimize else math.floor(raw + 1e-6)) if math.isfinite(raw) else None
    done = status == cp_model.OPTIMAL
    return SolverOutcome("optimal" if done else "feasible", not done, values, bound)


@dataclass(frozen=True)
class Objective:
    """One goal in a model; all are minimised (one to be maximised enters with the opposite sign)."""

    name: str
    expression: cp_model.LinearExpr | int
    starts_from_hint: bool = True
    """Whether the best solution so far is given to the solver as a hint."""


@dataclass
class OptimisedGoals:
    """Values of all variables by index (None: no solution known); per goal the value, the bound and whether it is proven.

    A bound of a later goal holds given the values of the goals before it.
    """

    values: list[int] | None
    goals: dict[str, tuple[int, int | None, bool]] = field(default_factory=dict)
    limited: bool = False
    infeasible: bool = False


def optimise(
    model: cp_model.CpModel,
    objectives: Sequence[Objective],
    deadline: Deadline,
    work: float,
    start: list[int] | None = None,
    known: Mapping[str, int] | None = None,
) -> OptimisedGoals:
    """Optimise goal after goal.

    Args:
        model: without objective; constraints are added to it.
        start: a complete solution to begin with (checked by the caller), kept wherever the solver has none better.
        known: bounds from elsewhere (a relaxation); a goal whose value meets its bound is not solved again.
        work: deterministic time for all goals together.
    """
    solved = OptimisedGoals(start)
    known = known or {}
    share = work / max(len(objectives), 1)
    for goal in objectives:
        now = _value(goal.expression, solved.values) if solved.values is not None else None
        if now is not None and known.get(goal.name) == now:
            solved.goals[goal.name] = (now, now, True)
            model.add(goal.expression <= now)
            continue
        model.clear_objective()
        model.minimize(goal.expression)
        model.clear_hints()
        if solved.values is not None and goal.starts_from_hint:
            for i, value in enumerate(solved.values):
                model.add_hint(model.get_int_var_from_proto_index(i), value)
        outcome = run(model, deadline, share) if deadline.left > 0 else None
        if outcome is None or outcome.reason in ("none", "infeasible"):
            solved.limited |= outcome is None or outcome.limited
            solved.infeasible = outcome is not None and outcome.reason == "infeasible" and solved.values is None
            if solved.values is None:
                return solved
            bound = known.get(goal.name)
        else:
            assert outcome.values is not None
            bound = outcome.bound if goal.name not in known else max(known[goal.name], outcome.bound or known[goal.name])
            solved.limited |= outcome.limited
            found = _value(goal.expression, outcome.values)
            if now is None or found < now:
                solved.values = outcome.values
        assert solved.values is not None
        value = _value(goal.expression, solved.values)
        solved.goals[goal.name] = (value, bound, bound is not None and bound >= value)
        model.add(goal.expression <= value)
    model.clear_objective()
    return solved


def _value(expression: cp_model.LinearExpr | int, values: list[int]) -> int:
    if isinstance(expression, int):
        return expression
    flat = cp_model.FlatIntExpr(expression)
    return int(flat.offset + sum(c * values[v.index] for v, c in zip(flat.vars, flat.coeffs, strict=True)))


def coarsen_costs(problem: Problem, forced: Forced) -> tuple[Problem, Forced, int]:
    """Restore costs in units so large that their sum stays exact in CP-SAT; the unit, in offsets, mostly 1."""
    most = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    resolution = max(1, most * problem.T * (problem.standbys + 1) >> EXACT_BITS)
    if resolution == 1:
        return problem, forced, 1
    scaled = replace(problem, col_cost=problem.col_cost // resolution, pool_cost=problem.pool_cost // resolution)
    return *prepare(scaled), resolution
