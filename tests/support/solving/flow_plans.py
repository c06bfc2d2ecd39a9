"""Plans of the default order, without CP-SAT and what follows it."""

from __future__ import annotations

from optassign_models.deadline import Deadline
from optassign_models.flows import decomposition
from optassign_models.forced import Forced
from optassign_models.goals import FLOW_ORDER
from optassign_models.problem import Problem
from optassign_models.program.solving import improve_plan
from optassign_models.results import Found
from optassign_models.shares import ShareFamilies


def plan_by_flows(problem: Problem, forced: Forced, shares: ShareFamilies) -> Found:
    """Copies by a flow, then the best plan on its face."""
    copies = decomposition.find_optimal_copies(problem, forced, shares)
    if copies is None:
        return Found(None, impossible=True)
    if copies.chosen.face is None:
        return Found(None, bounds=copies.bounds)
    improved = improve_plan(copies.chosen.face, copies.forced, shares, FLOW_ORDER[2:], Deadline.after(None))
    return Found(improved.placement, bounds=copies.bounds | improved.bounds)
