"""Goals in their order, with bounds: flows, the one model, and CP-SAT on all pairs of small groups for what these leave open.

For the default order (goals (b) to (f)) a flow of copies comes first, then the program on its face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from optassign_models.cp_sat.model import require_limits
from optassign_models.cp_sat.plan import find_whether_possible, solve_least_imbalance, solve_now, solve_plan
from optassign_models.deadline import Deadline
from optassign_models.flows import decomposition
from optassign_models.flows.actives import find_least_imbalance_actives, find_offload
from optassign_models.flows.copies import CopiesFace
from optassign_models.flows.decomposition import CopiesFirst
from optassign_models.forced import prepare
from optassign_models.goals import FLOW_ORDER, GoalModel, evaluate
from optassign_models.goals.caught_up import ACTIVES_NOT_CAUGHT_UP
from optassign_models.goals.moves import ACTIVE_MOVES
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.constants import CP_SAT_WORK, LINEAR_SECONDS, SECONDS_PER_ARC, SECONDS_PER_PAIR, SMALL_PAIRS
from optassign_models.problem import LOGGED, IntArray, Placement, Problem
from optassign_models.program.solving import ask_in_order, improve_plan, is_sum_exact, solve
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Found, FoundBy
from optassign_models.shares import compute_imbalance
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.methods.greedy_method import GreedyMethod
from optassign_models.solving.methods.method import Case, Method

_ACTIVES_NOT_CAUGHT_UP = ACTIVES_NOT_CAUGHT_UP.name


class FlowMethod(Method):
    """The default order."""

    is_exact = True
    goals: Sequence[GoalModel] = FLOW_ORDER
    """The goals of a plan, in their order."""

    def __init__(self, order: RequestedOrder, deadline: Deadline) -> None:
        super().__init__(order)
        self.deadline = deadline
        self.greedy = GreedyMethod(order)

    def pose(self, problem: Problem) -> Case:
        """All pairs are columns where they are few."""
        return Case.of(*decomposition.write_out_pairs(problem), self)

    def find_balanced_now(self, case: Case) -> Found:
        """Two flows; CP-SAT where they leave it open."""
        found = decomposition.find_balanced_now(case.problem, case.forced, case.target)
        if found.placement is not None or found.impossible or not is_small(case.problem):
            return found
        result = solve_now(case.problem, case.forced, case.target, (ACTIVE_MOVES,), self.deadline, CP_SAT_WORK)
        return replace(result, bounds=found.bounds)

    def search_plan(self, case: Case) -> Found:
        """A flow of copies and the program on its face; the one model and CP-SAT look for what these leave open."""
        copies = decomposition.find_optimal_copies(case.problem, case.forced, case.target)
        if copies is None:
            return Found(None, impossible=True)
        improved = self._improve_copies(case, copies)
        found = self._read_face(case, copies, improved)
        if self.is_proven(case, found):
            return found
        found = replace(found, limited=improved.limited)
        if not improved.limited:
            found = self._join_better(case, found, self.search_by_program(case, (), self.deadline))
        if self.is_proven(case, found):
            return found
        if found.placement is None:
            found = self._find_by_greedy(case, found)
        return self.search_all_pairs(case, (), found) if is_small(case.problem) else found

    def _find_by_greedy(self, case: Case, found: Found) -> Found:
        """The greedy plan, with the bounds that hold for it."""
        placement = self.greedy.search_plan(case).placement
        bounds = found.bounds if placement is None else self.keep_valid(found.bounds, self.evaluate_goals(case, placement))
        return replace(found, placement=placement, bounds=bounds, found_by=FoundBy.GREEDY)

    def _join_better(self, case: Case, found: Found, other: Found) -> Found:
        """The better of two plans, with the bounds that hold for it."""
        mine, theirs = found.placement, other.placement
        if theirs is None:
            return replace(found, limited=found.limited or other.limited)
        is_better = mine is None or self.evaluate_plan(case, theirs) < self.evaluate_plan(case, mine)
        best = other if is_better else found
        values = self.evaluate_goals(case, best.whole)
        bounds = {goal: max(found.bounds.get(goal, bound), bound) for goal, bound in {**found.bounds, **other.bounds}.items()}
        return replace(best, bounds=self.keep_valid(bounds, values), limited=found.limited or other.limited)

    def _improve_copies(self, case: Case, copies: CopiesFirst) -> Found:
        """The best plan among those optimal in restore work and copies not caught up, with bounds of the later goals."""
        face = copies.chosen.face
        if face is None:
            return Found(None)
        if self.deadline.left < _expect_seconds(face):
            return Found(None, limited=True)
        return improve_plan(face, case.forced, case.target, FLOW_ORDER[2:], self.deadline)

    def _read_face(self, case: Case, copies: CopiesFirst, improved: Found) -> Found:
        """The best plan on the face, with the bounds that hold for it; the bounds of the copies if there is none."""
        plan = improved.placement
        if plan is None or not case.reaches_target(plan):
            return Found(None, bounds=copies.bounds)
        bounds = self.keep_valid(copies.bounds | improved.bounds, self.evaluate_goals(case, plan))
        return Found(plan, bounds=bounds, by_lp=frozenset(improved.bounds), found_by=FoundBy.LP)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """The limits as parts of the one model; what single moves lead to where that has no answer."""
        mended = super().search_limited_plan(case, free)
        deadline = self.deadline.less(expect_seconds_of_flows(case.problem))  # of wider shares, if there is none
        found = self.search_by_program(case, case.limits.placements, deadline)
        is_found = found.placement is not None and self.is_proven(case, found)
        if found.placement is None:
            found = replace(mended, limited=found.limited)
        return found if is_found or not is_small(case.problem) else self.search_all_pairs(case, case.limits.placements, found)

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
            # The bound of the first goal holds whatever the plan is.
            bounds = {goal.name: bound for goal, bound in zip(goals[:1], solved.bounds, strict=False)}
            return Found(None, bounds=bounds, limited=solved.is_cut_short)
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
        if result.placement is not None and list_broken(limits, result.placement):  # weights of state were rounded
            result = replace(result, placement=None)
        if result.placement is None and found.placement is None:
            return Found(None, impossible=result.impossible, limited=found.limited or result.limited)
        return self.choose_better(replace(case, problem=problem, forced=forced), found, result)

    def is_proven(self, case: Case, found: Found) -> bool:
        """Whether it is a plan at the bounds of all goals."""
        if found.placement is None:
            return False
        values = self.evaluate_goals(case, found.placement)
        return all(found.bounds.get(goal) == value for goal, value in values.items())

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Single moves may show that they can; otherwise the one model decides, then CP-SAT if all pairs are few."""
        if super().can_hold(case, limits, start):
            return True
        return find_whether_possible(
            case.problem, case.forced, limits, self.deadline, CP_SAT_WORK if is_small(case.problem) else 0.0
        )

    def search_least_imbalance(self, case: Case) -> Found:
        """The greedy plan."""
        return self.greedy.search_least_imbalance(case)

    def find_least_imbalance(self, case: Case) -> Found:
        """CP-SAT, family after family, from the greedy plan."""
        greedy = super().find_least_imbalance(case)
        if not is_small(case.problem):
            return greedy
        rough = greedy.whole
        problem, forced, target, limits = case.problem, case.forced, case.target, case.limits.placements
        if limits:
            problem, forced = prepare(problem.with_all_columns())
        start = rough if case.keeps_limits(rough) else None
        require = partial(require_limits, limits=limits)
        result = solve_least_imbalance(problem, forced, target, self.deadline, CP_SAT_WORK, start, require)
        found = [placed for placed in (rough, result.placement) if placed is not None]
        best = min(found, key=lambda placed: (len(list_broken(limits, placed)), compute_imbalance(problem, target, placed)))
        return Found(best, found_by=FoundBy.CP_SAT, limited=greedy.limited or result.limited)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """By one flow: exact."""
        return find_least_imbalance_actives

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """Actives (T,) and a bound of the goal's value in seconds, by one flow."""
        return find_offload(options, case.shares, plan.active, price)

    def choose_better(self, case: Case, found: Found, result: Found) -> Found:
        """Choose the better of the plan found before and CP-SAT's, with the bounds that hold for it."""
        mine, theirs = found.placement, result.placement
        if theirs is None:
            return replace(found, limited=found.limited or result.limited)
        bounds, proved = result.bounds, result.proved
        if mine is not None:
            values, others = self.evaluate_plan(case, mine), self.evaluate_plan(case, theirs)
            if values <= others:
                theirs = mine
                # A bound holds given the values of the goals before it: of a better plan, up to where it is better.
                equal = next((i for i, (a, b) in enumerate(zip(values, others, strict=True)) if a != b), len(values))
                valid = {goal.name for goal in self.goals[: equal + 1]}
                bounds, proved = {goal: bound for goal, bound in bounds.items() if goal in valid}, proved & valid
        kept = self.keep_valid(found.bounds, self.evaluate_goals(case, theirs))
        return replace(
            found,
            placement=theirs,
            bounds=kept | {goal: max(bound, kept.get(goal, bound)) for goal, bound in bounds.items()},
            proved=proved,
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


def _expect_seconds(face: CopiesFace) -> float:
    """Seconds that the linear programs take at least, by the size of the face."""
    problem = face.problem
    free_places = int(np.sum(problem.kind != LOGGED)) * problem.C
    size = len(face.column) + len(face.pooled) + len(face.place_group) + free_places + int(np.sum(~problem.logged))
    return LINEAR_SECONDS + SECONDS_PER_PAIR * size
