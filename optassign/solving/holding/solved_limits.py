"""Limits with CP-SAT, where all pairs of task and client fit into one model: what can hold, and the best plan that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from optassign.models.cp_sat.plan import solve_least_excess, solve_plan
from optassign.models.cp_sat.weighted import WEIGHTED_COST
from optassign.models.deadline import Deadline
from optassign.models.forced import prepare
from optassign.models.goals import find_goals
from optassign.models.limits.constraints import can_hold, require_limits
from optassign.models.limits.limit import PlacementLimit, list_broken
from optassign.models.problem import Placement
from optassign.models.program.solving import solve
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
            return self._solve_by_program(case)
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

    def _solve_by_program(self, case: Case) -> Found:
        """What the other method asks of the one model, with the limits as parts of it; nothing where that has no answer."""
        question = self.inner.ask_model(case)
        if question is None:
            return Found(None)

        def judge(placed: Placement) -> tuple[float, ...] | None:
            is_allowed = case.reaches_target(placed) and not list_broken(self.kept, placed)
            return self.inner.evaluate_plan(case, placed) if is_allowed else None

        solved = solve(replace(question, limits=tuple(self.kept)), judge, self._deadline)
        self.limited |= solved.is_cut_short
        if solved.placement is None:
            return Found(None)
        names, is_met, bounds = [stage.name for stage in question.stages], True, {}
        for name, value, bound in zip(names, solved.values, solved.bounds, strict=False):
            if is_met:
                bounds[name] = bound
            is_met = is_met and value == bound
        found = Found(solved.placement, by_lp=frozenset(bounds), found_by=FoundBy.LP)
        if WEIGHTED_COST not in names:
            return replace(found, bounds=bounds)
        return replace(found, weighted=(solved.values[0] / 1000, solved.bounds[0] / 1000))

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
