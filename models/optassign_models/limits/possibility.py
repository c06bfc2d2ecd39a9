"""Whether limits can hold together at all: as the one model says, or CP-SAT on all pairs of task and client."""

from __future__ import annotations

from collections.abc import Sequence

from optassign_models.cp_sat.plan import make_placement_model
from optassign_models.cp_sat.solver import run
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced
from optassign_models.limits.constraints import require_limits
from optassign_models.limits.limit import PlacementLimit, list_broken
from optassign_models.problem import Placement, Problem
from optassign_models.program.lexicographic import ask_in_order
from optassign_models.program.solving import solve
from optassign_models.shares import compute_shares


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
