"""How cp-sat solves the stages: flows where they are exact, the joint CP-SAT model where they are not.

`CpSatMethod` for goals (b) to (f) in their order, `ConfiguredMethod` for goals (a) and other orders, `WeightedMethod` for the
preset that makes the windows a cost.
"""

from __future__ import annotations

from dataclasses import replace

from optassign.assignors.greedy import GreedyMethod
from optassign.goals.order import ORDERED, GoalOrder
from optassign.models.configured import configured_values
from optassign.models.cp_sat import plan as plan_model
from optassign.models.cp_sat.solver import Deadline
from optassign.models.flows import decomposition
from optassign.models.flows.actives import find_least_excess_actives
from optassign.models.forced import Forced, prepare
from optassign.models.problem import Placement, Problem
from optassign.models.rebalance import rebalance
from optassign.models.results import Found, Rebalanced
from optassign.models.values import plan_values
from optassign.models.windows import Windows, compute_excess, compute_windows

_MOST_COLUMNS = 3_000
"""CP-SAT looks for better later goals where the optimal face of the first ones has at most so many pairs."""
_MOST_PAIRS = 20_000
"""… and for what the flows did not find where all pairs are at most so many."""
_TOO_LARGE = f"more than {_MOST_PAIRS:,} pairs of task and client: the goals of the default order were used"
_TOO_GREAT = "weights × lags too great for an exact sum: the goals of the default order were used"
_WORK = 2.0
"""Deterministic time for CP-SAT, for each stage: about seconds."""


class CpSatMethod:
    """How the stages are solved (see `stages.Method`) for goals (b) to (f) in their order."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        self._order = order
        self._deadline = deadline
        self._greedy = GreedyMethod(order)
        self.limited = False
        """A limit ended some search whose outcome decided something."""

    def prepared(self, problem: Problem) -> tuple[Problem, Forced]:
        """All pairs are columns where they are few."""
        return decomposition.write_out_pairs(problem)

    def target(self, problem: Problem, windows: Windows) -> Windows:
        """The windows."""
        return windows

    def balanced_now(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """Two flows; CP-SAT where they leave it open."""
        found = decomposition.find_balanced_now(problem, forced, windows)
        if found.placement is not None or found.impossible or not self._is_small(problem):
            return found
        result = plan_model.solve_now(problem, forced, windows, ("active_moves",), self._deadline, _WORK)
        self.limited |= result.limited
        return Found(result.placement, result.impossible, found.bounds, found_by="cp-sat", limited=result.limited)

    def plan(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """Two flows; CP-SAT where they do not fit together, and for the later goals that they leave open."""
        found = decomposition.find_balanced_plan(problem, forced, windows, _MOST_COLUMNS)
        if found.impossible:
            return found
        if found.placement is None:
            return self._joint_plan(problem, forced, windows, found)
        values = plan_values(problem, forced, found.placement)
        found = replace(found, bounds=_holding(found.bounds, values))
        if all(found.bounds.get(goal) == values[goal] for goal in ORDERED):
            return found
        if all(found.bounds.get(goal) == values[goal] for goal in ORDERED[:2]):
            # The first goals are proven, so only their optimal face is left to search for the later ones.
            if found.face is None:
                return found
            problem, forced = prepare(problem.with_columns(found.face))
        elif not self._is_small(problem):
            return found
        else:
            found = replace(found, face=None)
        result = plan_model.solve_plan(
            problem, forced, windows, ORDERED, self._deadline, _WORK, found.placement, found.bounds, found.face
        )
        return self._better(problem, forced, found, result)

    def _joint_plan(self, problem: Problem, forced: Forced, windows: Windows, found: Found) -> Found:
        """The flows' bounds hold, but they found no plan: all pairs in one model, or greedy where they are too many."""
        start = self._greedy.plan(problem, forced, windows).placement
        if not self._is_small(problem):
            bounds = found.bounds if start is None else _holding(found.bounds, plan_values(problem, forced, start))
            return replace(found, placement=start, found_by="greedy", bounds=bounds)
        known = {"restore_work": found.bounds["restore_work"]}
        result = plan_model.solve_plan(problem, forced, windows, ORDERED, self._deadline, _WORK, start, known)
        if result.placement is None:
            return replace(found, impossible=result.impossible, limited=not result.impossible)
        return self._better(problem, forced, replace(found, placement=start, found_by="greedy"), result)

    def least_excess(self, problem: Problem, forced: Forced, windows: Windows) -> Placement:
        """CP-SAT, family after family, from the greedy plan."""
        rough = self._greedy.least_excess(problem, forced, windows)
        if not self._is_small(problem):
            return rough
        result = plan_model.least_excess(problem, forced, windows, self._deadline, _WORK, rough)
        self.limited |= result.limited
        if result.placement is None:
            return rough
        return min(rough, result.placement, key=lambda placed: compute_excess(problem, windows, placed))

    def rebalance(self, problem: Problem, windows: Windows, plan: Placement, *, hold: bool) -> Rebalanced:
        """Task by task, then one flow: exact."""
        return rebalance(problem, windows, plan, find_least_excess_actives, hold)

    def goals(self, problem: Problem, forced: Forced, plan: Placement) -> tuple[float, ...]:
        """Values in order."""
        return tuple(plan_values(problem, forced, plan).values())

    def configured_optimum_now(self, problem: Problem, forced: Forced, windows: Windows, now: Placement) -> bool:
        """No goals (a) are configured."""
        return True

    def notes(self, problem: Problem) -> list[str]:
        """What the report should say of the method."""
        return []

    def _better(self, problem: Problem, forced: Forced, found: Found, result: plan_model.Planned) -> Found:
        """What was found before or CP-SAT's plan, whichever is better, with the bounds that hold for it."""
        mine, theirs = found.placement, result.placement
        if theirs is None:
            return replace(found, limited=found.limited or result.limited)
        goals = result.goals
        if mine is not None:
            values, others = self.goals(problem, forced, mine), self.goals(problem, forced, theirs)
            if values <= others:
                theirs = mine
                # A bound holds given the values of the goals before it: of a better plan, up to where it is better.
                equal = next((i for i, (a, b) in enumerate(zip(values, others, strict=True)) if a != b), len(values))
                goals = {goal: row for i, (goal, row) in enumerate(goals.items()) if i <= equal}
        bounds = _holding(found.bounds, plan_values(problem, forced, theirs))
        for goal, (_, bound, _) in goals.items():
            if bound is not None:
                bounds[goal] = max(bound, bounds.get(goal, bound))
        return replace(
            found,
            placement=theirs,
            bounds=bounds,
            proved=frozenset(goal for goal, (_, _, proven) in goals.items() if proven),
            found_by=found.found_by if theirs is mine else "cp-sat",
            limited=found.limited or result.limited,
        )

    def _is_small(self, problem: Problem) -> bool:
        return problem.T * problem.C <= _MOST_PAIRS


class ConfiguredMethod(CpSatMethod):
    """Goals (a), or another order: the joint CP-SAT model over all pairs, where they are few enough; beyond, the plan of the
    default order, and the report says so."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        self._optimum: dict[str, int] | None = None

    def balanced_now(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """Best in goals (a) among the assignments that are balanced now."""
        found = super().balanced_now(problem, forced, windows)
        if not self._order.configured or found.impossible or not self._is_small(problem):
            return found
        problem, forced = prepare(problem.with_all_columns())
        goals = (*self._order.configured, "active_moves")
        result = plan_model.solve_now(problem, forced, windows, goals, self._deadline, _WORK)
        self.limited |= result.limited
        if result.placement is None:
            return found
        return Found(result.placement, bounds=found.bounds, found_by="cp-sat", limited=result.limited)

    def plan(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """All goals in the order that is asked for."""
        found = super().plan(problem, forced, windows)
        if found.placement is None:
            return found
        if not self._is_small(problem):
            # In another order only what bounds a goal by itself is a bound.
            bounds = {goal: found.bounds[goal] for goal in ("restore_work",) if goal in found.bounds}
            return replace(found, bounds=bounds, proved=frozenset())
        problem, forced = prepare(problem.with_all_columns())
        start = found.placement
        result = plan_model.solve_plan(problem, forced, windows, self._order.goals, self._deadline, _WORK, start)
        return self._better(problem, forced, replace(found, bounds={}, proved=frozenset()), result)

    def notes(self, problem: Problem) -> list[str]:
        """That the goals asked for were left out, where they were."""
        return [] if self._is_small(problem) else [_TOO_LARGE]

    def goals(self, problem: Problem, forced: Forced, plan: Placement) -> tuple[float, ...]:
        """Values in the order that is asked for."""
        values = {**configured_values(problem, plan), **plan_values(problem, forced, plan)}
        return tuple(values[goal] for goal in self._order.goals)

    def configured_optimum_now(self, problem: Problem, forced: Forced, windows: Windows, now: Placement) -> bool:
        """Whether goals (a) are as good as the best plan has them."""
        goals = self._order.configured
        if not goals or not self._is_small(problem):
            return True
        if self._optimum is None:
            written, prepared_first = prepare(problem.with_all_columns())
            result = plan_model.solve_plan(written, prepared_first, windows, goals, self._deadline, _WORK, now)
            self.limited |= result.limited
            self._optimum = configured_values(problem, result.placement or now)
        values, best = configured_values(problem, now), self._optimum
        return tuple(values[goal] for goal in goals) <= tuple(best[goal] for goal in goals)


class WeightedMethod(CpSatMethod):
    """Preset `weighted`: excess is a cost beside restore work and moves, so every assignment is inside its windows."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order, deadline)
        weights = order.weights
        self._weights = (
            round(1000 * weights.instance),
            round(1000 * weights.subtopology),
            round(1000 * weights.stickiness),
        )
        self._best: Found | None = None

    def target(self, problem: Problem, windows: Windows) -> Windows:
        """Nothing is demanded."""
        return windows.widen_fully(problem.T * (problem.standbys + 1))

    def balanced_now(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """The plan comes first: what can be had now is measured by its cost."""
        return Found(None)

    def plan(self, problem: Problem, forced: Forced, windows: Windows) -> Found:
        """The least weighted sum; beyond the model's size the plan of preset `ordered`."""
        if self._best is None:
            real = compute_windows(problem)
            start = super().plan(problem, forced, real)
            if start.placement is None:
                start = Found(super().least_excess(problem, forced, real), found_by="greedy")
            self._best = replace(start, bounds={}, proved=frozenset())
            if self._is_small(problem) and plan_model.is_exact(problem, self._weights):
                self._best = self._least_sum(problem, forced, real, self._best)
        return self._best

    def _least_sum(self, problem: Problem, forced: Forced, windows: Windows, start: Found) -> Found:
        written, prepared_first = prepare(problem.with_all_columns())
        result = plan_model.solve_weighted(
            written, prepared_first, windows, self._weights, self._deadline, _WORK, start.placement
        )
        self.limited |= result.limited
        assert start.placement is not None
        (mine,) = self.goals(problem, forced, start.placement)
        value, bound, _ = result.goals.get("weighted_cost", (mine, None, False))
        least = None if bound is None else bound / 1000
        if result.placement is None or mine < value:
            return replace(start, weighted=(mine / 1000, least))
        return Found(result.placement, found_by="cp-sat", limited=result.limited, weighted=(value / 1000, least))

    def notes(self, problem: Problem) -> list[str]:
        """That the sum was not minimised, where it was not."""
        if not self._is_small(problem):
            return [_TOO_LARGE]
        return [] if plan_model.is_exact(problem, self._weights) else [_TOO_GREAT]

    def goals(self, problem: Problem, forced: Forced, plan: Placement) -> tuple[float, ...]:
        """The one sum."""
        return (plan_model.weighted_cost(problem, compute_windows(problem), self._weights, plan),)

    def configured_optimum_now(self, problem: Problem, forced: Forced, windows: Windows, now: Placement) -> bool:
        """Whether nothing costs less."""
        best = self.plan(problem, forced, windows).placement
        assert best is not None
        return self.goals(problem, forced, now) <= self.goals(problem, forced, best)


def _holding(bounds: dict[str, int], values: dict[str, int]) -> dict[str, int]:
    """The flows' bounds that hold for a plan of these values. Each flow's second bound holds where its first is reached, and
    actives have fewer moves again where copies come first and force them to be colder."""
    met = [goal for goal in ORDERED[:3] if bounds.get(goal) == values[goal]]
    hold = {"restore_work", "cold_actives"}
    if "restore_work" in met:
        hold.add("cold_copies")
    if len(met) == 3:
        hold.add("active_moves")
    return {goal: bound for goal, bound in bounds.items() if goal in hold}


def method_for(order: GoalOrder, deadline: Deadline) -> CpSatMethod:
    """The method for an order of goals."""
    if order.preset == "weighted":
        return WeightedMethod(order, deadline)
    return CpSatMethod(order, deadline) if order.is_default else ConfiguredMethod(order, deadline)
