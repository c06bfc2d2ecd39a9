"""Trace the Pareto front of a snapshot: the price of balance in restore work."""

from __future__ import annotations

from dataclasses import dataclass

from optassign.analysis.export import ExportError
from optassign.assignors.cp_sat import choose_effort, choose_method
from optassign.formats.state import ApplicationState
from optassign.measuring.load import balances_load
from optassign.translating.snapshot import read_situation
from optassign_models.deadline import Deadline
from optassign_models.policy.constants import FRONT_POINTS, TIME_LIMIT
from optassign_models.target.front import trace_front
from optassign_models.target.question import Question


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A target: no other target with less restore work has as little imbalance."""

    imbalance: int
    """Sum of e (e + 1) / 2 over all counts at distance e from their shares."""
    restore_work: int
    """Offsets."""
    active_migrations: int
    proven: bool
    """Whether it is proven optimal at its price of imbalance."""


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Targets from the least restore work to the least imbalance."""

    points: tuple[ParetoPoint, ...]
    complete: bool
    """Whether these are all targets that are optimal at some price of imbalance; otherwise there are more between them."""


def trace_pareto_front(state: ApplicationState, points: int = FRONT_POINTS, time_limit: float = TIME_LIMIT) -> ParetoFront:
    """Trace the front of restore work and imbalance.

    Args:
        points: at most this many, 2 or more.
        time_limit: seconds for all of them.

    Raises:
        ExportError: for a snapshot whose load is balanced, which has no shares of counts.
    """
    if balances_load(state):
        raise ExportError("state", "tasks of unlike weight, whose load is balanced", "tasks of equal weight")
    situation = read_situation(state)
    effort = choose_effort(situation, Deadline.after(time_limit))
    method = choose_method(situation, effort)
    case = method.make_case(situation.problem, situation.requests.limits)
    question = Question(case.problem, case.forced, case.shares, (), limits=case.limits.placements)
    found, complete = trace_front(question, effort, points)
    return ParetoFront(
        tuple(ParetoPoint(each.imbalance, each.restore_work, each.migrations, each.is_proven) for each in found), complete
    )
