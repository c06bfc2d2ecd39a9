"""Which of an operator's limits hold together, and why the others give way: the last named first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optassign.solving.case import Case, LimitsInForce
from optassign.solving.holding.limits import Limits
from optassign.solving.methods.method import Method
from optassign_models.limits.conflicts import choose_compatible, find_conflict
from optassign_models.limits.limit import PlacementLimit


def _explain(others: str, *, is_proven: bool) -> str:
    if is_proven:
        return f"it cannot hold together with {others}" if others else "no placement of all tasks can keep it"
    return "no placement was found that keeps it" + (f" together with {others}" if others else "")


def put_limits_in_force(case: Case, limits: Limits, method: Method) -> Case:
    """The case with the limits that hold together, as the method finds."""
    if not limits.placements or not case.problem.T:
        return replace(case, limits=LimitsInForce(most_moves=limits.most_moves))

    def is_possible(some: Sequence[PlacementLimit]) -> bool:
        return method.can_hold(case, some) is True

    kept = choose_compatible(limits.placements, is_possible)
    words, given_way = limits.words or {}, {}
    for limit in limits.placements:
        if any(limit is one for one in kept):
            continue
        conflict = find_conflict([*kept, limit], is_possible)
        others = " and ".join(words[other.name] for other in conflict if other is not limit)
        given_way[limit.name] = _explain(others, is_proven=method.can_hold(case, conflict) is False)
    return replace(case, limits=LimitsInForce(tuple(kept), limits.most_moves, given_way))
