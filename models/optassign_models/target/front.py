"""The Pareto front of restore work and imbalance: the targets that are best at some price of imbalance.

These are the corners of the front's convex hull, by bisection of the price (Aneja and Nair, Management Science 25, 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optassign_models.goals.default_order import ACTIVE_MIGRATIONS, RESTORE_WORK
from optassign_models.problem import Placement
from optassign_models.target.question import Objective, Question, list_in_order
from optassign_models.target.search import find_best
from optassign_models.target.solver import Effort


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """A target that no other one beats in both respects."""

    imbalance: int
    """The imbalance of all families together."""
    restore_work: int
    """Offsets."""
    migrations: int
    """Active tasks that leave their clients, the fewest for these two."""
    is_proven: bool
    placement: Placement


def trace_front(question: Question, effort: Effort, most_points: int) -> tuple[tuple[FrontPoint, ...], bool]:
    """Trace the corners of the front, from the least restore work to the least imbalance; and tell whether these are all.

    There are at most `most_points`, 2 or more; the widest gaps are bisected first. The question's own objectives do not count,
    and its shares do not bind.
    """
    ends = _find(question, [(1, 0), (0, 1)], effort), _find(question, [(0, 1), (1, 0)], effort)
    found = [point for point in ends if point is not None]
    if len(found) < 2 or found[0].imbalance == found[1].imbalance:
        return tuple(found[:1]), len(found) == 2
    gaps = [(found[0], found[1])]
    while gaps and len(found) < most_points:
        gaps.sort(key=lambda gap: (gap[0].imbalance - gap[1].imbalance, gap[0].imbalance))
        cheap, even = gaps.pop()
        price = cheap.imbalance - even.imbalance, even.restore_work - cheap.restore_work
        point = _find(question, [price], effort)
        if point is None:
            return _sort(found), False
        if _weigh(point, price) < _weigh(cheap, price):
            found.append(point)
            gaps += [(cheap, point), (point, even)]
    return _sort(found), not gaps


def _find(question: Question, prices: Sequence[tuple[int, int]], effort: Effort) -> FrontPoint | None:
    """Find the best target in weighted sums of restore work and imbalance, in their order; then by the fewest migrations.

    None if none was found in time.
    """
    sums = [Objective(goals=((RESTORE_WORK, work),) if work else (), imbalance=(even,) * 5) for work, even in prices]
    question = replace(question, objectives=(*sums, *list_in_order((ACTIVE_MIGRATIONS,))), shares_bind=False)
    answer = find_best(question, effort)
    if answer.placement is None:
        return None
    measured = replace(question, objectives=(Objective(imbalance=(1,) * 5), *list_in_order((RESTORE_WORK, ACTIVE_MIGRATIONS))))
    imbalance, restore_work, migrations = measured.evaluate(answer.placement)
    return FrontPoint(imbalance, restore_work, migrations, answer.is_proven, answer.placement)


def _weigh(point: FrontPoint, price: tuple[int, int]) -> int:
    return price[0] * point.restore_work + price[1] * point.imbalance


def _sort(points: Sequence[FrontPoint]) -> tuple[FrontPoint, ...]:
    return tuple(sorted(points, key=lambda point: (-point.imbalance, point.restore_work)))
