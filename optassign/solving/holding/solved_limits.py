"""Limits with CP-SAT, where all pairs of task and client fit into one model: what can hold, and the best plan that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from optassign.models.cp_sat.plan import solve_least_excess, solve_plan
from optassign.models.deadline import Deadline
from optassign.models.forced import prepare
from optassign.models.goals import find_goals
from optassign.models.limits.constraints import can_hold, require_limits
from optassign.models.limits.limit import PlacementLimit, list_broken
from optassign.models.problem import Placement
from optassign.models.results import Found, FoundBy
from optassign.models.windows import compute_excess
from optassign.solving.case import Case
from optassign.solving.holding.limited_method import LimitedMethod
from optassign.solving.holding.limits import Limits
from optassign.solving.methods.flow_method import WORK, is_small
from optassign.solving.methods.method import Method


class SolvedLimits(LimitedMethod):
    """Beyond the model's size as without a solver."""

    def __init__(self, inner: Method, limits: Limits, deadline: Deadline) -> None:
        super().__init__(inner, limits)
        self._deadline = deadline

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit]) -> bool:
        """Whether it is not proven that no placement keeps them."""
        if not is_small(case.problem):
            return super().can_hold(case, limits)
        return can_hold(case.problem, limits, self._deadline, WORK) is not False

    def solve_plan(self, case: Case, start: Placement | None) -> Found:
        """What the method minimises itself, else all goals in their order, with the limits as constraints."""
        if not is_small(case.problem):
            return Found(None)
        require = partial(require_limits, limits=self.kept)
        own = self.inner.solve_plan_within(case, start, require)
        if own is not None:
            return own if own.placement is not None and not list_broken(self.kept, own.placement) else Found(None)
        problem, forced = prepare(case.problem.with_all_columns())
        goals = find_goals(self.order.names)
        result = solve_plan(problem, forced, case.target, goals, self._deadline, WORK, start, require=require)
        self.limited |= result.limited
        if result.placement is None or list_broken(self.kept, result.placement):
            return Found(None, impossible=result.impossible)
        return Found(
            result.placement,
            bounds={goal: bound for goal, (_, bound, _) in result.goals.items() if bound is not None},
            proved=frozenset(goal for goal, (_, _, proven) in result.goals.items() if proven),
            found_by=FoundBy.CP_SAT,
            limited=result.limited,
        )

    def find_least_excess(self, case: Case) -> Placement:
        """Family after family, from what single moves lead to."""
        rough = super().find_least_excess(case)
        if not is_small(case.problem):
            return rough
        problem, forced = prepare(case.problem.with_all_columns())
        start = None if list_broken(self.kept, rough) else rough
        require = partial(require_limits, limits=self.kept)
        result = solve_least_excess(problem, forced, case.target, self._deadline, WORK, start, require)
        self.limited |= result.limited
        found = [placed for placed in (rough, result.placement) if placed is not None]
        return min(
            found, key=lambda placed: (len(list_broken(self.kept, placed)), compute_excess(problem, case.target, placed))
        )
