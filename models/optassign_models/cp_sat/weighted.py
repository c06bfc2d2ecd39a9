"""Preset `weighted`: shares are no constraints but a cost, and one sum is minimised
(docs/reference/rules.md, "Preset weighted")."""

from __future__ import annotations

from collections.abc import Callable

from optassign_models.cp_sat.constraints import make_imbalance_objectives
from optassign_models.cp_sat.plan import make_placement_model, minimise, require_nothing
from optassign_models.cp_sat.resolution import EXACT_BITS, express_in_changelogs
from optassign_models.cp_sat.solver import Objective
from optassign_models.cp_sat.variables import Variables, total
from optassign_models.deadline import Deadline
from optassign_models.goals import evaluate
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.moves import ACTIVE_MOVES, STANDBY_MIGRATIONS
from optassign_models.problem import Placement, Problem
from optassign_models.results import NOTHING_FOUND, Found
from optassign_models.shares import Shares, compute_imbalance

WEIGHTED_COST = "weighted_cost"
"""Name of the sum."""
_STICKY = (RESTORE_WORK, ACTIVE_MOVES, STANDBY_MIGRATIONS)
"""The goals that make up stickiness."""


def solve_weighted(
    problem: Problem,
    shares: Shares,
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


def compute_weighted_cost(problem: Problem, shares: Shares, weights: tuple[int, int, int], plan: Placement) -> int:
    """The sum that `solve_weighted` minimises, for a placement."""
    problem, forced = express_in_changelogs(problem)
    away = compute_imbalance(problem, shares, plan)
    sticky = sum(evaluate(problem, forced, plan, _STICKY).values())
    return weights[0] * sum(away[:3]) + weights[1] * sum(away[3:]) + weights[2] * sticky


def is_sum_exact(problem: Problem, weights: tuple[int, int, int]) -> bool:
    """Whether CP-SAT can tell all values of the weighted sum apart."""
    problem, forced = express_in_changelogs(problem)
    T, size = problem.T, problem.standbys + 1
    each = T * (T + 1) // 2  # no count is beyond T, nor the sum of a client's
    cost = int(max(problem.col_cost.max(initial=0), problem.pool_cost.max(initial=0)))
    sticky = forced.forced_work + T * size * (cost + 1)
    most = weights[0] * 3 * problem.C * each + weights[1] * 2 * problem.C * each + weights[2] * sticky
    return most < 1 << EXACT_BITS
