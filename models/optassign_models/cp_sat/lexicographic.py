"""Goals in order: each is optimised with the values of the goals before it fixed, all under one deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from optassign_models.cp_sat.solver import run
from optassign_models.deadline import Deadline


@dataclass(frozen=True)
class Objective:
    """One goal in a model; all are minimised (one to be maximised enters with the opposite sign)."""

    name: str
    expression: cp_model.LinearExpr | int
    starts_from_hint: bool = True
    """Whether the best solution so far is given to the solver as a hint."""


@dataclass
class Solved:
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
) -> Solved:
    """Optimise goal after goal.

    Args:
        model: without objective; constraints are added to it.
        start: a complete solution to begin with (checked by the caller), kept wherever the solver has none better.
        known: bounds from elsewhere (a relaxation); a goal whose value meets its bound is not solved again.
        work: deterministic time for all goals together.
    """
    solved = Solved(start)
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
