"""Trace the Pareto front of a snapshot: the price of balance in restore work.

Its points are the targets that are best at some price of imbalance: the corners of the front's convex hull, by bisection of the
price (Aneja and Nair, Management Science 25, 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from optassign.analysis import FRONT_POINTS
from optassign.analysis.export import ExportError
from optassign.assignors.cp_sat import choose_effort, choose_method
from optassign.formats.state import ApplicationState
from optassign.measuring.load import balances_load
from optassign.translating.snapshot import read_situation
from optassign_models.goals.goal import ACTIVE_MIGRATIONS, RESTORE_WORK
from optassign_models.policy.constants import TIME_LIMIT
from optassign_models.results import Deadline, Effort
from optassign_models.solving.method import make_case
from optassign_models.target.question import Objective, Question, list_in_order
from optassign_models.target.search import find_best


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A target on the front, if `proven`: any target with less restore work has more imbalance."""

    imbalance: int
    """Sum of e (e + 1) / 2 over all counts at distance e from their shares."""
    restore_work: int
    """Offsets."""
    active_migrations: int
    """The fewest active tasks that leave their clients at this imbalance and restore work."""
    proven: bool
    """Whether the target is proven optimal at its price of imbalance."""


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Targets from the least restore work to the least imbalance."""

    points: tuple[ParetoPoint, ...]
    complete: bool
    """Whether every gap was searched with proof. Otherwise more targets, optimal at other prices, may lie between these."""


def trace_pareto_front(state: ApplicationState, points: int = FRONT_POINTS, time_limit: float = TIME_LIMIT) -> ParetoFront:
    """Return the front of restore work and imbalance, bisecting the widest gaps first; empty if no target is found.

    Args:
        points: the most points to find, 2 or more.
        time_limit: seconds for all points together.

    Raises:
        ExportError: for a snapshot whose load is balanced, which has no shares of counts.
    """
    if balances_load(state):
        raise ExportError("state", "tasks of unlike weight, whose load is balanced", "tasks of equal weight")
    situation = read_situation(state)
    effort = choose_effort(situation, Deadline.after(time_limit))
    case = make_case(choose_method(situation, effort), situation.problem, situation.requests.limits)
    question = Question(case.problem, case.shares, (), shares_bind=False, limits=case.limits.placements)
    ends = _find(question, [(1, 0), (0, 1)], effort), _find(question, [(0, 1), (1, 0)], effort)
    found = [point for point in ends if point is not None]
    if len(found) < 2 or found[0].imbalance == found[1].imbalance:
        return ParetoFront(tuple(found[:1]), len(found) == 2 and all(point.proven for point in found))
    gaps, are_proven = [(found[0], found[1])], found[0].proven and found[1].proven
    while gaps and len(found) < points:
        gaps.sort(key=lambda gap: (gap[0].imbalance - gap[1].imbalance, gap[0].imbalance))
        cheap, even = gaps.pop()
        imbalance, work = cheap.imbalance - even.imbalance, even.restore_work - cheap.restore_work
        price = imbalance // gcd(imbalance, work), work // gcd(imbalance, work)
        point = _find(question, [price], effort)
        if point is None:
            return ParetoFront(_sort(found), complete=False)
        are_proven &= point.proven
        if _weigh(point, price) < _weigh(cheap, price):
            found.append(point)
            gaps += [(cheap, point), (point, even)]
    return ParetoFront(_sort(found), are_proven and not gaps)


def _find(question: Question, prices: Sequence[tuple[int, int]], effort: Effort) -> ParetoPoint | None:
    """Return the target that minimises weighted sums of restore work and imbalance in turn, then active migrations.

    None if no target is found in time. `prices`: the weights (restore work, imbalance) of each sum.
    """
    sums = [Objective(goals=((RESTORE_WORK, work),) if work else (), imbalance=(even,) * 5) for work, even in prices]
    answer = find_best(replace(question, objectives=(*sums, *list_in_order((ACTIVE_MIGRATIONS,)))), effort)
    if answer.placement is None:
        return None
    measured = replace(question, objectives=(Objective(imbalance=(1,) * 5), *list_in_order((RESTORE_WORK, ACTIVE_MIGRATIONS))))
    imbalance, restore_work, migrations = measured.evaluate(answer.placement)
    return ParetoPoint(imbalance, restore_work, migrations, answer.is_proven)


def _weigh(point: ParetoPoint, price: tuple[int, int]) -> int:
    return price[0] * point.restore_work + price[1] * point.imbalance


def _sort(points: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    return tuple(sorted(points, key=lambda point: (-point.imbalance, point.restore_work)))
