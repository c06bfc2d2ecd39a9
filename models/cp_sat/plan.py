"""The whole placement problem as a CP-SAT model: a plan, or an assignment that is balanced now.

Variables: variables.py. Constraints: R1, R2, R4, the windows, and for "now" R3 and R5. Goals: (a) where configured, then (b) to
(f) of docs/rules.md, "The plan", one function each. Here live the rules that are no flow: the coupling of actives and standbys,
loads that differ, excess where no balanced assignment exists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from ortools.sat.python import cp_model

from optassign.models.cp_sat.goals import GOALS
from optassign.models.cp_sat.lexicographic import Goal, optimise
from optassign.models.cp_sat.solver import Deadline
from optassign.models.cp_sat.variables import (
    Expression,
    Variables,
    family_counts,
    one_active,
    one_copy_per_client,
    pools_add_up,
    standby_number,
    total,
)
from optassign.models.forced import Forced, prepare
from optassign.models.problem import LOGGED, STATELESS, IntArray, Placement, Problem
from optassign.models.values import plan_values
from optassign.models.windows import Windows, excess

_EXACT_BITS = 50
"""CP-SAT reports objectives and bounds as doubles: up to 2^50 they are exact with room to spare."""
_MOST_COST = 2.0**62
"""A scaled cost that is more than this is beyond any exact sum (`is_exact`), so it may as well be this."""
FAMILIES = ("active_excess", "stateful_excess", "copies_excess", "group_active_excess", "group_copies_excess")


@dataclass(frozen=True, eq=False)
class Planned:
    """`placement` None: none found; `impossible`: proven that there is none. `goals`: value, bound, proven, in order."""

    placement: Placement | None
    impossible: bool = False
    limited: bool = False
    goals: dict[str, tuple[int, int | None, bool]] = field(default_factory=dict)


def solve_plan(
    problem: Problem,
    forced: Forced,
    windows: Windows,
    goals: Sequence[str],
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
    known: Mapping[str, int] | None = None,
    face: IntArray | None = None,
) -> Planned:
    """The best plan inside the windows, goal after goal.

    Args:
        problem: logged tasks are placed on their columns only: the optimum is the optimum over these.
        goals: names of `GOALS`, in order.
        start: a placement that keeps the windows; the answer is never worse.
        known: bounds proven elsewhere.
        face: keys of logged tasks' pairs to choose from; all columns if None.
    """
    problem, forced, resolution = at_resolution(problem, forced)
    v = _placement_model(problem, face)
    inside_windows(v, windows)
    if resolution == 1:
        return _optimise(v, forced, goals, deadline, work, start, known)
    bounds = {goal: bound for goal, bound in (known or {}).items() if goal != "restore_work"}
    planned = _optimise(v, forced, goals, deadline, work, start, bounds)
    # Rounded costs prove nothing about the offsets, nor about what comes after them.
    return replace(planned, goals={})


def solve_now(
    problem: Problem, forced: Forced, windows: Windows, goals: Sequence[str], deadline: Deadline, work: float
) -> Planned:
    """As `solve_plan`, for an assignment that keeps R3 and R5 in this very rebalance."""
    v = _placement_model(problem)
    actives_on_most_caught_up(v, forced)
    standbys_on_next_most_caught_up(v, forced)
    inside_windows(v, windows)
    return _optimise(v, forced, goals, deadline, work, None, None)


def least_excess(
    problem: Problem, forced: Forced, windows: Windows, deadline: Deadline, work: float, start: Placement | None = None
) -> Planned:
    """Where no balanced assignment exists: the least excess, family after family in their order."""
    v = _placement_model(problem)
    goals = excess_goals(v, windows)
    return _optimise(v, forced, tuple(goals), deadline, work, start, None, goals)


def solve_weighted(
    problem: Problem,
    forced: Forced,
    windows: Windows,
    weights: tuple[int, int, int],
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
) -> Planned:
    """Preset `weighted`: one sum, w_instance × excess of the families per client + w_subtopology × excess of the families per
    subtopology + w_stickiness × (restore work + moves), under R1, R2 and R4.

    Restore work counts in hundredths of the mean changelog, so that weights mean the same for every application.
    """
    problem, forced = in_changelogs(problem)
    v = _placement_model(problem)
    away = excess_goals(v, windows)
    instance, subtopology, stickiness = weights
    sticky = [GOALS[name](v, forced) for name in ("restore_work", "active_moves", "standby_moves")]
    cost = (
        instance * total(away[name].expression for name in FAMILIES[:3])
        + subtopology * total(away[name].expression for name in FAMILIES[3:])
        + stickiness * total(sticky)
    )
    return _optimise(v, forced, ("weighted_cost",), deadline, work, start, None, {"weighted_cost": Goal("weighted_cost", cost)})


def at_resolution(problem: Problem, forced: Forced) -> tuple[Problem, Forced, int]:
    """Restore costs in units so large that their sum stays exact in CP-SAT; the unit, in offsets, mostly 1."""
    most = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    resolution = max(1, most * problem.T * (problem.standbys + 1) >> _EXACT_BITS)
    if resolution == 1:
        return problem, forced, 1
    scaled = replace(problem, col_cost=problem.col_cost // resolution, pool_cost=problem.pool_cost // resolution)
    return *prepare(scaled), resolution


def in_changelogs(problem: Problem) -> tuple[Problem, Forced]:
    """Restore costs in hundredths of the mean whole changelog of the logged tasks."""
    mean = max(1.0, float(problem.end[problem.logged].mean())) if problem.logged.any() else 1.0

    def scaled(cost: IntArray) -> IntArray:
        return np.minimum(np.ceil(100.0 * cost / mean), _MOST_COST).astype(np.int64)

    scaled_problem = replace(problem, col_cost=scaled(problem.col_cost), pool_cost=scaled(problem.pool_cost))
    return prepare(scaled_problem)


def weighted_cost(problem: Problem, windows: Windows, weights: tuple[int, int, int], plan: Placement) -> int:
    """The sum that `solve_weighted` minimises, for a placement."""
    problem, forced = in_changelogs(problem)
    away = excess(problem, windows, plan)
    values = plan_values(problem, forced, plan)
    sticky = values["restore_work"] + values["active_moves"] + values["standby_moves"]
    return weights[0] * sum(away[:3]) + weights[1] * sum(away[3:]) + weights[2] * sticky


def is_exact(problem: Problem, weights: tuple[int, int, int]) -> bool:
    """Whether CP-SAT can tell all values of the weighted sum apart."""
    problem, forced = in_changelogs(problem)
    T, size = problem.T, problem.standbys + 1
    each = T * (T + 1) // 2  # no count is beyond T, nor the sum of a client's
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    sticky = forced.forced_work + T * size * (cost + 1)
    most = weights[0] * 3 * problem.C * each + weights[1] * 2 * problem.C * each + weights[2] * sticky
    return most < 1 << _EXACT_BITS


def _placement_model(problem: Problem, face: IntArray | None = None) -> Variables:
    model = cp_model.CpModel()
    may = np.ones(len(problem.col_task), dtype=np.bool_)
    if face is not None:
        may = ~problem.logged[problem.col_task] | np.isin(problem.col_keys, face)
    v = Variables.of(problem, model, may, may)
    one_active(v)
    one_copy_per_client(v)
    standby_number(v)
    pools_add_up(v)
    return v


def _optimise(
    v: Variables,
    forced: Forced,
    names: Sequence[str],
    deadline: Deadline,
    work: float,
    start: Placement | None,
    known: Mapping[str, int] | None,
    expressions: Mapping[str, Goal] | None = None,
) -> Planned:
    goals = [(expressions or {}).get(name) or Goal(name, GOALS[name](v, forced)) for name in names]
    hint = None
    if start is not None:
        values = v.hint(start)
        hint = _completed(v, values, goals, deadline) if values is not None else None
    solved = optimise(v.model, goals, deadline, work, hint, known)
    placed = v.placement_of(solved.values) if solved.values is not None else None
    return Planned(placed, solved.infeasible, solved.limited, solved.goals)


def _completed(v: Variables, values: list[int], goals: Sequence[Goal], deadline: Deadline) -> list[int] | None:
    """The auxiliary variables (ties, excess, greatest load) at their best for fixed copies: what is left is small."""
    if not deadline.left:
        return None
    model = v.model.clone()
    for i, value in enumerate(values):
        model.add(model.get_int_var_from_proto_index(i) == value)
    model.minimize(total(goal.expression for goal in goals))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if math.isfinite(deadline.at):
        solver.parameters.max_time_in_seconds = max(deadline.left, 1e-3)
    status = solver.solve(model)
    return list(solver.response_proto.solution) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None


def inside_windows(v: Variables, windows: Windows) -> None:
    """Balanced: every count of the five families inside its window."""
    for counts, window in zip(family_counts(v), windows.in_order(), strict=True):
        for expression, low, high in zip(counts, window.low.ravel().tolist(), window.high.ravel().tolist(), strict=True):
            if isinstance(expression, int):
                if not low <= expression <= high:
                    v.model.add_bool_or([])  # nothing can be here, though something must
            else:
                v.model.add_linear_constraint(expression, low, high)


def actives_on_most_caught_up(v: Variables, forced: Forced) -> None:
    """R3."""
    for variable, leads in zip(v.active, forced.leading.tolist(), strict=True):
        if variable is not None and not leads:
            v.model.add(variable == 0)


def standbys_on_next_most_caught_up(v: Variables, forced: Forced) -> None:
    """R5: mandatory columns hold a copy, and besides them only tied ones."""
    logged = v.problem.logged[v.problem.col_task]
    for i in np.flatnonzero(logged).tolist():
        if forced.mandatory[i]:
            v.model.add(total(v.copies([i])) == 1)
        elif not forced.tied[i]:
            v.model.add(total(v.copies([i])) == 0)


def excess_goals(v: Variables, windows: Windows) -> dict[str, Goal]:
    """Excess of each family: e (e + 1) / 2 at distance e, as the upper envelope of its tangents."""
    goals = {}
    p = v.problem
    sizes = np.bincount(p.group, minlength=p.G)
    per_cell = np.repeat(sizes, p.C).tolist()
    sums = [p.T, int(sizes[p.kind != STATELESS].sum()), int(sizes[p.kind == LOGGED].sum())]
    at_most = [*([number] * p.C for number in sums), per_cell, per_cell]
    for name, counts, window, most in zip(FAMILIES, family_counts(v), windows.in_order(), at_most, strict=True):
        costs: list[Expression] = []
        for expression, low, high, number in zip(
            counts, window.low.ravel().tolist(), window.high.ravel().tolist(), most, strict=True
        ):
            if isinstance(expression, int):
                away = max(low - expression, expression - high, 0)
                costs.append(away * (away + 1) // 2)
                continue
            costs.append(_excess(v, expression, low, high, number))
        goals[name] = Goal(name, total(costs))
    return goals


def _excess(v: Variables, expression: Expression, low: int, high: int, number: int) -> Expression:
    """`number`: no count is greater."""
    reach = most = max(low, number - high, 0)
    away = v.model.new_int_var(0, most, "")
    v.model.add(away >= expression - high)
    v.model.add(away >= low - expression)
    cost = v.model.new_int_var(0, most * (most + 1) // 2, "")
    for k in range(1, reach + 1):
        v.model.add(cost >= k * away - k * (k - 1) // 2)
    return cost
