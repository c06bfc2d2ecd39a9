"""The shared part of methods with a solver: the one model, CP-SAT on all pairs of small groups, and this rebalance as a
flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from optassign.goals.order import GoalOrder
from optassign.solving.case import Case
from optassign.solving.methods.greedy_method import GreedyMethod
from optassign.solving.methods.method import Method
from optassign_models.cp_sat.plan import Planned, solve_least_imbalance, solve_plan
from optassign_models.deadline import Deadline
from optassign_models.flows.actives import find_least_imbalance_actives
from optassign_models.flows.offload import find_offload
from optassign_models.forced import prepare
from optassign_models.goals import GoalModel, actives_not_caught_up
from optassign_models.limits.constraints import find_whether_possible, require_limits
from optassign_models.limits.limit import PlacementLimit, list_broken
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.program import CP_SAT_WORK, SECONDS_PER_ARC, SMALL_PAIRS
from optassign_models.problem import BoolArray, IntArray, Placement, Problem
from optassign_models.program.questions import ask_in_order, is_sum_exact
from optassign_models.program.solving import solve
from optassign_models.rebalance import rebalance
from optassign_models.results import Found, FoundBy, Rebalanced
from optassign_models.shares import compute_imbalance
from optassign_models.values import evaluate

_ACTIVES_NOT_CAUGHT_UP = actives_not_caught_up.GOAL.name


class SolverMethod(Method):
    """Goals in their order, with bounds."""

    def __init__(self, order: GoalOrder, deadline: Deadline, goals: Sequence[GoalModel]) -> None:
        super().__init__(order)
        self.deadline = deadline
        self.goals = goals
        """The goals of a plan, in their order."""
        self.greedy = GreedyMethod(order)

    def search_limited_plan(self, case: Case, free: Placement) -> Found:
        """The limits as parts of the one model; what single moves lead to where that has no answer."""
        mended = super().search_limited_plan(case, free)
        deadline = self.deadline.less(expect_seconds_of_flows(case.problem))  # of wider shares, if there is none
        found = self.search_by_program(case, case.limits.placements, deadline)
        if is_small(case.problem) and not (found.placement is not None and self.is_proven(case, found)):
            return self.search_all_pairs(case, case.limits.placements, mended if found.placement is None else found)
        return mended if found.placement is None else found

    def search_by_program(self, case: Case, limits: Sequence[PlacementLimit], deadline: Deadline) -> Found:
        """The goals that are sums over copies as stages of the one model; at most a bound where it has no answer."""
        if not is_sum_exact(case.problem):
            return Found(None)
        question = ask_in_order(case.problem, case.forced, case.target, self.goals, limits)
        goals = [goal for goal in self.goals if goal.is_linear]

        def judge(placed: Placement) -> tuple[int, ...] | None:
            is_allowed = case.reaches_target(placed) and not list_broken(limits, placed)
            return tuple(evaluate(case.problem, case.forced, placed, goals).values()) if is_allowed else None

        solved = solve(question, judge, deadline)
        if solved.placement is None:
            self.limited |= solved.is_cut_short
            # The bound of the first goal holds whatever the plan is.
            return Found(None, bounds={goal.name: bound for goal, bound in zip(goals[:1], solved.bounds, strict=False)})
        bounds = {}
        for goal, value, bound in zip(goals, solved.values, solved.bounds, strict=False):
            bounds[goal.name] = bound
            if value != bound:  # those of later goals are about other plans
                break
        return Found(solved.placement, bounds=bounds, by_lp=frozenset(bounds), found_by=FoundBy.LP)

    def search_all_pairs(self, case: Case, limits: Sequence[PlacementLimit], found: Found) -> Found:
        """Improve the found plan by CP-SAT on all pairs of task and client."""
        problem, forced = prepare(case.problem.with_all_columns())
        result = solve_plan(
            problem,
            forced,
            case.target,
            self.goals,
            self.deadline,
            CP_SAT_WORK,
            found.placement,
            found.bounds,
            require=partial(require_limits, limits=limits),
        )
        self.limited |= result.limited
        if result.placement is not None and list_broken(limits, result.placement):  # weights of state were rounded
            result = replace(result, placement=None)
        if result.placement is None and found.placement is None:
            return Found(None, impossible=result.impossible)
        return self.choose_better(replace(case, problem=problem, forced=forced), found, result)

    def is_proven(self, case: Case, found: Found) -> bool:
        """Whether it is a plan at the bounds of all goals."""
        if found.placement is None:
            return False
        values = self.evaluate_goals(case, found.placement)
        return all(found.bounds.get(goal) == value for goal, value in values.items())

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit]) -> bool | None:
        """Single moves may show that they can; otherwise the one model decides, then CP-SAT if all pairs are few."""
        if super().can_hold(case, limits):
            return True
        return find_whether_possible(
            case.problem, case.forced, limits, self.deadline, CP_SAT_WORK if is_small(case.problem) else 0.0
        )

    def search_least_imbalance(self, case: Case) -> Placement:
        """The greedy plan."""
        return self.greedy.search_least_imbalance(case)

    def find_least_imbalance(self, case: Case) -> Placement:
        """CP-SAT, family after family, from the greedy plan."""
        rough = super().find_least_imbalance(case)
        if not is_small(case.problem):
            return rough
        problem, forced, target, limits = case.problem, case.forced, case.target, case.limits.placements
        if limits:
            problem, forced = prepare(problem.with_all_columns())
        start = rough if case.keeps_limits(rough) else None
        require = partial(require_limits, limits=limits)
        result = solve_least_imbalance(problem, forced, target, self.deadline, CP_SAT_WORK, start, require)
        self.limited |= result.limited
        found = [placed for placed in (rough, result.placement) if placed is not None]
        return min(found, key=lambda placed: (len(list_broken(limits, placed)), compute_imbalance(problem, target, placed)))

    def find_rebalance(self, case: Case, plan: Placement, *, hold: bool | BoolArray) -> Rebalanced:
        """Task by task, then one flow: exact. `hold`: owners that may keep their tasks do, of all or these (T,)."""
        return rebalance(case.problem, case.shares, plan, find_least_imbalance_actives, hold)

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """Actives (T,) and a bound of the goal's value in seconds, by one flow."""
        return find_offload(options, case.shares, plan.active, price)

    def choose_better(self, case: Case, found: Found, result: Planned) -> Found:
        """Choose the better of the plan found before and CP-SAT's, with the bounds that hold for it."""
        mine, theirs = found.placement, result.placement
        if theirs is None:
            return replace(found, limited=found.limited or result.limited)
        goals = result.goals
        if mine is not None:
            values, others = self.evaluate_plan(case, mine), self.evaluate_plan(case, theirs)
            if values <= others:
                theirs = mine
                # A bound holds given the values of the goals before it: of a better plan, up to where it is better.
                equal = next((i for i, (a, b) in enumerate(zip(values, others, strict=True)) if a != b), len(values))
                goals = {goal: row for i, (goal, row) in enumerate(goals.items()) if i <= equal}
        bounds = self.keep_valid(found.bounds, self.evaluate_goals(case, theirs))
        for goal, (_, bound, _) in goals.items():
            if bound is not None:
                bounds[goal] = max(bound, bounds.get(goal, bound))
        return replace(
            found,
            placement=theirs,
            bounds=bounds,
            proved=frozenset(goal for goal, (_, _, proven) in goals.items() if proven),
            found_by=found.found_by if theirs is mine else FoundBy.CP_SAT,
            limited=found.limited or result.limited,
        )

    def evaluate_goals(self, case: Case, plan: Placement) -> dict[str, int]:
        """Goal → its value."""
        return evaluate(case.problem, case.forced, plan, self.goals)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values of the goals in their order."""
        return tuple(self.evaluate_goals(case, plan).values())

    def keep_valid(self, bounds: dict[str, int], values: dict[str, int]) -> dict[str, int]:
        """Keep the bounds that hold for a plan of these values: each holds if the goals before it are at their bounds.

        Actives not caught up have a bound of their own, since the flow of actives knows nothing of copies.
        """
        valid = {}
        is_met = True
        for goal, value in values.items():
            if goal in bounds and (is_met or goal == _ACTIVES_NOT_CAUGHT_UP):
                valid[goal] = bounds[goal]
            is_met = is_met and bounds.get(goal) == value
        return valid


def is_small(problem: Problem) -> bool:
    """Whether one CP-SAT model may have all pairs of task and client."""
    return problem.T * problem.C <= SMALL_PAIRS


def expect_seconds_of_flows(problem: Problem) -> float:
    """Seconds that the flows of copies take at most: less is of no use to the default order.

    A program before the default order's plan must leave them, as it may need longer than there is.
    """
    return SECONDS_PER_ARC * (problem.T + len(problem.col_task) + problem.G * problem.C)
