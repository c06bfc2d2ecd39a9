"""Plans by the flows alone, without the linear program that comes between them."""

from __future__ import annotations

from optassign.models.flows import decomposition
from optassign.models.forced import Forced
from optassign.models.problem import Problem
from optassign.models.results import Found
from optassign.models.windows import Windows


def plan_by_flows(problem: Problem, forced: Forced, windows: Windows) -> Found:
    """Copies first, then actives inside them."""
    copies = decomposition.find_optimal_copies(problem, forced, windows)
    return Found(None, impossible=True) if copies is None else decomposition.find_balanced_plan(copies, windows)
