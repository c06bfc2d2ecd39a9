"""Plans by the flows alone, without the linear program that comes between them."""

from __future__ import annotations

from optassign_models.flows import decomposition
from optassign_models.forced import Forced
from optassign_models.problem import Problem
from optassign_models.results import Found
from optassign_models.shares import Shares


def plan_by_flows(problem: Problem, forced: Forced, shares: Shares) -> Found:
    """Copies first, then actives inside them."""
    copies = decomposition.find_optimal_copies(problem, forced, shares)
    return Found(None, impossible=True) if copies is None else decomposition.find_balanced_plan(copies, shares)
