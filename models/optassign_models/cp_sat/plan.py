"""The whole placement problem as a CP-SAT model: a plan, an assignment that is balanced now, or the least weighted sum.

Variables and constraints are in model.py, goals in ../goals/. The model has constraints that no flow has: the coupling of
actives and standbys, loads that differ, imbalance if no balanced assignment exists. Under preset `weighted` shares are no
constraints but a cost, and one sum is minimised (docs/reference/rules.md, "Preset weighted").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from ortools.sat.python import cp_model

from optassign_models.cp_sat.model import (
    Variables,
    make_imbalance_objectives,
    require_actives_on_most_caught_up,
    require_limits,
    require_one_active,
    require_one_copy_per_client,
    require_pools_to_add_up,
    require_shares,
    require_standby_number,
    require_standbys_on_next_most_caught_up,
    total,
)
from optassign_models.cp_sat.solver import EXACT_BITS, Objective, coarsen_costs, optimise, run
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.goals import GoalModel, evaluate
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.moves import ACTIVE_MOVES, STANDBY_MIGRATIONS
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.problem import Placement, Problem
from optassign_models.program.solving import ask_in_order, express_in_changelogs, solve
from optassign_models.results import NOTHING_FOUND, Found, FoundBy
from optassign_models.shares import ShareFamilies, compute_imbalance, compute_shares

WEIGHTED_COST = "weighted_cost"
"""Name of the sum."""
_STICKY = (RESTORE_WORK, ACTIVE_MOVES, STANDBY_MIGRATIONS)
"""The goals that make up stickiness."""


def require_nothing(v: Variables) -> None:
    """No more than the rules."""


def solve_plan(
    problem: Problem,
    forced: Forced,
    shares: ShareFamilies,
    goals: Sequence[GoalModel],
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
    known: Mapping[str, int] | None = None,
    require: Callable[[Variables], None] = require_nothing,
) -> Found:
    """The best plan inside the shares, goal after goal.

    Args:
        problem: logged tasks are placed on their columns only: the optimum is the optimum over these.
        goals: in order.
        start: a placement that keeps the shares; the answer is never worse.
        known: bounds proven elsewhere.
        require: adds further constraints of a plan.
    """
    problem, forced, resolution = coarsen_costs(problem, forced)
    v = make_placement_model(problem)
    require(v)
    require_shares(v, shares)
    if resolution == 1:
        return minimise(v, _objectives(v, forced, goals), deadline, work, start, known)
    bounds = {goal: bound for goal, bound in (known or {}).items() if goal != RESTORE_WORK.name}
    planned = minimise(v, _objectives(v, forced, goals), deadline, work, start, bounds)
    # Rounded costs prove nothing about the offsets, nor about what comes after them.
    return replace(planned, bounds={}, proved=frozenset())


def solve_now(
    problem: Problem, forced: Forced, shares: ShareFamilies, goals: Sequence[GoalModel], deadline: Deadline, work: float
) -> Found:
    """As `solve_plan`, for an assignment that keeps R3 and R5 in this very rebalance."""
    v = make_placement_model(problem)
    require_actives_on_most_caught_up(v, forced)
    require_standbys_on_next_most_caught_up(v, forced)
    require_shares(v, shares)
    return minimise(v, _objectives(v, forced, goals), deadline, work, None, None)


def solve_least_imbalance(
    problem: Problem,
    forced: Forced,
    shares: ShareFamilies,
    deadline: Deadline,
    work: float,
    start: Placement | None = None,
    require: Callable[[Variables], None] = require_nothing,
) -> Found:
    """The least imbalance, family after family in their order, for a problem without a balanced assignment."""
    v = make_placement_model(problem)
    require(v)
    return minimise(v, make_imbalance_objectives(v, shares), deadline, work, start, None)


def make_placement_model(problem: Problem) -> Variables:
    """A model with the variables of all copies under R1, R2 and R4."""
    model = cp_model.CpModel()
    may = np.ones(len(problem.col_task), dtype=np.bool_)
    v = Variables.of(problem, model, may, may)
    require_one_active(v)
    require_one_copy_per_client(v)
    require_standby_number(v)
    require_pools_to_add_up(v)
    return v


def _objectives(v: Variables, forced: Forced, goals: Sequence[GoalModel]) -> tuple[Objective, ...]:
    return tuple(Objective(goal.name, goal.express(v, forced), goal.starts_from_hint) for goal in goals)


def minimise(
    v: Variables,
    objectives: Sequence[Objective],
    deadline: Deadline,
    work: float,
    start: Placement | None,
    known: Mapping[str, int] | None,
) -> Found:
    """Minimise one objective after the other, from `start` on; `known` are bounds proven elsewhere."""
    hint = None
    if start is not None:
        values = v.hint(start)
        hint = _completed(v, values, objectives, deadline) if values is not None else None
    solved = optimise(v.model, objectives, deadline, work, hint, known)
    placed = v.placement_of(solved.values) if solved.values is not None else None
    return Found(
        placed,
        impossible=solved.infeasible,
        bounds={goal: bound for goal, (_, bound, _) in solved.goals.items() if bound is not None},
        proved=frozenset(goal for goal, (_, _, is_proven) in solved.goals.items() if is_proven),
        found_by=FoundBy.CP_SAT,
        limited=solved.limited,
    )


def _completed(v: Variables, values: list[int], objectives: Sequence[Objective], deadline: Deadline) -> list[int] | None:
    """The auxiliary variables (ties, imbalance, greatest load) at their best for fixed copies: what is left is small."""
    if not deadline.left:
        return None
    model = v.model.clone()
    for i, value in enumerate(values):
        model.add(model.get_int_var_from_proto_index(i) == value)
    model.minimize(total(objective.expression for objective in objectives))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if math.isfinite(deadline.at):
        solver.parameters.max_time_in_seconds = max(deadline.left, 1e-3)
    status = solver.solve(model)
    return list(solver.response_proto.solution) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None


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


def solve_weighted(
    problem: Problem,
    shares: ShareFamilies,
    weights: tuple[int, int, int],
    deadline: Deadline,
    work: float,
    known: Found = NOTHING_FOUND,
    require: Callable[[Variables], None] = require_nothing,
) -> Found:
    """Preset `weighted`: one sum, w_instance × imbalance of the families per client + w_subtopology × imbalance of the families
    per subtopology + w_stickiness × (restore work + moves), under R1, R2 and R4.

    Restore work counts in hundredths of the mean changelog, so that weights mean the same for every application.

    Args:
        known: a placement to begin with, which the answer is never worse than, and a bound of the sum.
        require: adds further constraints of the placement.
    """
    problem, forced = express_in_changelogs(problem)
    v = make_placement_model(problem)
    require(v)
    away = make_imbalance_objectives(v, shares)
    instance, subtopology, stickiness = weights
    cost = (
        instance * total(objective.expression for objective in away[:3])
        + subtopology * total(objective.expression for objective in away[3:])
        + stickiness * total(goal.express(v, forced) for goal in _STICKY)
    )
    bounds = {} if isinstance(cost, int) else known.bounds
    for bound in bounds.values():
        v.model.add(cost >= bound)  # otherwise the search goes on where the start is the optimum
    return minimise(v, (Objective(WEIGHTED_COST, cost),), deadline, work, known.placement, bounds)


def compute_weighted_cost(problem: Problem, shares: ShareFamilies, weights: tuple[int, int, int], plan: Placement) -> int:
    """The sum that `solve_weighted` minimises, for a placement."""
    problem, forced = express_in_changelogs(problem)
    away = compute_imbalance(problem, shares, plan)
    sticky = sum(evaluate(problem, forced, plan, _STICKY).values())
    return weights[0] * sum(away[:3]) + weights[1] * sum(away[3:]) + weights[2] * sticky


def is_weighted_sum_exact(problem: Problem, weights: tuple[int, int, int]) -> bool:
    """Whether CP-SAT can tell all values of the weighted sum apart."""
    problem, forced = express_in_changelogs(problem)
    T, size = problem.T, problem.standbys + 1
    each = T * (T + 1) // 2  # no count is beyond T, nor the sum of a client's
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    sticky = forced.forced_work + T * size * (cost + 1)
    most = weights[0] * 3 * problem.C * each + weights[1] * 2 * problem.C * each + weights[2] * sticky
    return most < 1 << EXACT_BITS
