"""Goals (b) to (f) in their default order, `tag_spread` before them where tags are configured: two flows, a linear program on
their face, CP-SAT for what these leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from optassign.goals.order import GoalOrder
from optassign.models.cp_sat.plan import Planned, solve_least_excess, solve_now, solve_plan
from optassign.models.deadline import Deadline
from optassign.models.flows import decomposition
from optassign.models.flows.actives import find_least_excess_actives
from optassign.models.flows.decomposition import CopiesFirst
from optassign.models.flows.face import CopiesFace
from optassign.models.flows.relief import find_relief
from optassign.models.forced import Forced, prepare
from optassign.models.goals import GoalModel, active_moves, cold_actives, tag_spread
from optassign.models.greedy.zones import spread_standbys
from optassign.models.limits.constraints import require_limits
from optassign.models.limits.limit import PlacementLimit, list_broken
from optassign.models.limits.possibility import find_whether_possible
from optassign.models.lp.improve import Improved, improve_plan
from optassign.models.problem import LOGGED, BoolArray, IntArray, Placement, Problem
from optassign.models.program.ordered import ask_in_order, is_sum_exact
from optassign.models.program.solving import solve
from optassign.models.rebalance import rebalance
from optassign.models.relief import Price, ReliefOptions
from optassign.models.results import Found, FoundBy, Rebalanced
from optassign.models.values import FLOW_ORDER, evaluate
from optassign.models.windows import compute_excess
from optassign.solving.case import Case
from optassign.solving.methods.greedy_method import GreedyMethod
from optassign.solving.methods.method import Method

_COLD_ACTIVES = cold_actives.GOAL.name
MOST_PAIRS = 20_000
"""CP-SAT looks for what the flows did not find where all pairs of task and client are at most so many."""
WORK = 2.0
"""Deterministic time for CP-SAT, for each stage: about seconds."""
_SECONDS_PER_PAIR = 3e-5
"""Of the face, for the linear programs; what was measured at most."""
_SECONDS_PER_ARC = 1.5e-5
"""Of the default order's plan, for each task, column and cell."""
_TIMES_WITH_TAGS = 4
"""So much longer they take where tags ride on the flow."""


class FlowMethod(Method):
    """Flows, then CP-SAT."""

    def __init__(self, order: GoalOrder, deadline: Deadline) -> None:
        super().__init__(order)
        self.deadline = deadline
        self._greedy = GreedyMethod(order)
        self.spread = carries_tags(order)
        self.flow_goals = decomposition.list_goals(spread=self.spread)
        """The goals that flows and the linear program solve, in their order."""
        self.goals: Sequence[GoalModel] = self.flow_goals
        """The goals of a plan, in their order."""
        self._on_copies = tuple(goal.name for goal in self.flow_goals[: -len(FLOW_ORDER) + 2])
        """The goals that do not ask which copy is active."""
        self._copies: tuple[Case, CopiesFirst | None] | None = None

    def write_out_pairs(self, problem: Problem) -> tuple[Problem, Forced]:
        """All pairs are columns where they are few."""
        return decomposition.write_out_pairs(problem)

    def find_balanced_now(self, case: Case) -> Found:
        """Two flows; CP-SAT where they leave it open."""
        found = decomposition.find_balanced_now(case.problem, case.forced, case.target, spread=self.spread)
        if found.placement is not None or found.impossible or not is_small(case.problem):
            return found
        goals = (tag_spread.GOAL, active_moves.GOAL) if self.spread else (active_moves.GOAL,)
        result = solve_now(case.problem, case.forced, case.target, goals, self.deadline, WORK)
        self.limited |= result.limited
        return Found(result.placement, result.impossible, found.bounds, found_by=FoundBy.CP_SAT, limited=result.limited)

    def search_plan(self, case: Case) -> Found:
        """A flow of copies and the program on its face; flows, the one model and CP-SAT look for what these leave open."""
        copies = self._find_copies(case)
        if copies is None:
            return Found(None, impossible=True)
        improved = self._improve_copies(case, copies)
        found = self._join(case, Found(None, bounds=copies.bounds), improved)
        if self.is_proven(case, found):
            return found
        flows = decomposition.find_balanced_plan(copies, case.target)
        if flows.impossible:
            return flows
        found = self._join(case, flows, improved)
        if found.placement is not None:
            found = self._swap_for_tags(case, found)
        self.limited |= improved.is_cut_short
        if not improved.is_cut_short:
            found = self._join_better(case, found, self.search_by_program(case, (), self.deadline))
        if self.is_proven(case, found):
            return found
        if is_small(case.problem):
            return self.search_all_pairs(case, (), found)
        if found.placement is None:
            found = replace(found, placement=self._greedy.search_plan(case).placement, found_by=FoundBy.GREEDY)
        return found

    def _join_better(self, case: Case, found: Found, other: Found) -> Found:
        """The better of two plans, with the bounds that hold for it."""
        mine, theirs = found.placement, other.placement
        if theirs is None:
            return found
        is_better = mine is None or self.evaluate_plan(case, theirs) < self.evaluate_plan(case, mine)
        best = other if is_better else found
        assert best.placement is not None
        values = self._evaluate(case, best.placement)
        bounds = {goal: max(found.bounds.get(goal, bound), bound) for goal, bound in {**found.bounds, **other.bounds}.items()}
        return replace(best, bounds=self._keep_valid(bounds, values))

    def find_relief(
        self, case: Case, options: ReliefOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """One flow."""
        return find_relief(options, case.windows, plan.active, price)

    def search_limited_plan(self, case: Case, free: Placement) -> Found:
        """The limits as parts of the one model; what single moves lead to where that has no answer."""
        mended = super().search_limited_plan(case, free)
        deadline = self.deadline.less(keep_back_for_default_plan(case.problem))  # of wider shares, if there is none
        found = self.search_by_program(case, case.limits.placements, deadline)
        if is_small(case.problem) and not (found.placement is not None and self.is_proven(case, found)):
            return self.search_all_pairs(case, case.limits.placements, mended if found.placement is None else found)
        return mended if found.placement is None else found

    def search_by_program(self, case: Case, limits: Sequence[PlacementLimit], deadline: Deadline) -> Found:
        """The goals that are sums over copies as stages of the one model; nothing where it has no answer."""
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
            return Found(None)
        bounds = {}
        for goal, value, bound in zip(goals, solved.values, solved.bounds, strict=False):
            bounds[goal.name] = bound
            if value != bound:  # those of later goals are about other plans
                break
        return Found(solved.placement, bounds=bounds, by_lp=frozenset(bounds), found_by=FoundBy.LP)

    def search_all_pairs(self, case: Case, limits: Sequence[PlacementLimit], found: Found) -> Found:
        """What was found, or what CP-SAT makes of it on all pairs of task and client."""
        problem, forced = prepare(case.problem.with_all_columns())
        result = solve_plan(
            problem,
            forced,
            case.target,
            self.goals,
            self.deadline,
            WORK,
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
        values = self._evaluate(case, found.placement)
        return all(found.bounds.get(goal) == value for goal, value in values.items())

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit]) -> bool | None:
        """What single moves lead to shows that they can; else the one model says, then CP-SAT where all pairs are few."""
        if super().can_hold(case, limits):
            return True
        return find_whether_possible(case.problem, case.forced, limits, self.deadline, WORK if is_small(case.problem) else 0.0)

    def _find_copies(self, case: Case) -> CopiesFirst | None:
        """The optimum of the goals that do not ask which copy is active; None where no copies keep the windows."""
        if self._copies is None or self._copies[0] is not case:
            self._copies = case, decomposition.find_optimal_copies(case.problem, case.forced, case.target, spread=self.spread)
        return self._copies[1]

    def _improve_copies(self, case: Case, copies: CopiesFirst) -> Improved:
        """The best plan of those that are optimal in restore work and cold copies, with bounds of the later goals."""
        face = copies.chosen.face
        if face is None:
            return Improved(None)
        if self.deadline.left < _expect_seconds(face):
            return Improved(None, is_cut_short=True)
        return improve_plan(face, case.target, FLOW_ORDER[2:], self.deadline)

    def _join(self, case: Case, found: Found, improved: Improved) -> Found:
        """What flows found and the plan that is best on the face, whichever is better, with the bounds that hold for it."""
        # Of equals the first: the program has broken the last tie, if the face is small.
        in_order = (improved.placement, found.placement) if improved.ties_broken else (found.placement, improved.placement)
        plans = [plan for plan in in_order if plan is not None and case.reaches_target(plan)]
        if not plans:
            return found
        best = min(plans, key=lambda plan: self.evaluate_plan(case, plan))
        values = self._evaluate(case, best)
        bounds, by_lp = found.bounds, found.by_lp
        if improved.bounds and all(bounds[goal] == values[goal] for goal in self._on_copies):
            # The flow's bound of pauses is about plans with its own number of cold actives, so it goes.
            on_face = {goal: bound for goal, bound in bounds.items() if goal in (*self._on_copies, _COLD_ACTIVES)}
            cold_actives = max(improved.bounds.get(_COLD_ACTIVES, 0), bounds.get(_COLD_ACTIVES, 0))
            bounds = {**on_face, **improved.bounds, _COLD_ACTIVES: cold_actives}
            by_lp = frozenset(improved.bounds)
        return replace(
            found,
            placement=best,
            bounds=bounds,
            by_lp=by_lp,
            found_by=FoundBy.LP if best is improved.placement else found.found_by,
        )

    def search_least_excess(self, case: Case) -> Placement:
        """The greedy plan."""
        return self._greedy.search_least_excess(case)

    def find_least_excess(self, case: Case) -> Placement:
        """CP-SAT, family after family, from the greedy plan."""
        rough = super().find_least_excess(case)
        if not is_small(case.problem):
            return rough
        problem, forced, target, limits = case.problem, case.forced, case.target, case.limits.placements
        if limits:
            problem, forced = prepare(problem.with_all_columns())
        start = rough if case.keeps_limits(rough) else None
        require = partial(require_limits, limits=limits)
        result = solve_least_excess(problem, forced, target, self.deadline, WORK, start, require)
        self.limited |= result.limited
        found = [placed for placed in (rough, result.placement) if placed is not None]
        return min(found, key=lambda placed: (len(list_broken(limits, placed)), compute_excess(problem, target, placed)))

    def find_rebalance(self, case: Case, plan: Placement, *, hold: bool | BoolArray) -> Rebalanced:
        """Task by task, then one flow: exact."""
        return rebalance(case.problem, case.windows, plan, find_least_excess_actives, hold)

    def choose_better(self, case: Case, found: Found, result: Planned) -> Found:
        """What was found before or CP-SAT's plan, whichever is better, with the bounds that hold for it."""
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
        bounds = self._keep_valid(found.bounds, self._evaluate(case, theirs))
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

    def _evaluate(self, case: Case, plan: Placement) -> dict[str, int]:
        return evaluate(case.problem, case.forced, plan, self.goals)

    def evaluate_plan(self, case: Case, plan: Placement) -> tuple[float, ...]:
        """Values of the goals in their order."""
        return tuple(self._evaluate(case, plan).values())

    def _keep_valid(self, bounds: dict[str, int], values: dict[str, int]) -> dict[str, int]:
        """The bounds that hold for a plan of these values: each given that the goals before it are at theirs.

        Cold actives have a bound of their own, since the flow of actives knows nothing of copies.
        """
        valid = {}
        is_met = True
        for goal, value in values.items():
            if goal in bounds and (is_met or goal == _COLD_ACTIVES):
                valid[goal] = bounds[goal]
            is_met = is_met and bounds.get(goal) == value
        return valid

    def _swap_for_tags(self, case: Case, found: Found) -> Found:
        """Standbys swapped for tags that the flows do not carry, or where they could not be dealt as they say."""
        placed = found.placement
        if not self.spread or placed is None or self._count_missing(case, placed) == found.bounds.get(tag_spread.NAME):
            return found
        swapped = spread_standbys(case.problem, case.target, placed, now=False)
        better = case.reaches_target(swapped) and self._count_missing(case, swapped) < self._count_missing(case, placed)
        return replace(found, placement=swapped) if better else found

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """As for the default order, unless one of the plans reaches more values of the tags."""
        if self.spread:
            mine, theirs = self._count_missing(case, own), self._count_missing(case, found)
            if mine != theirs:
                return mine < theirs
        return super().keeps_remembered(case, own, found)

    def is_configured_optimum(self, case: Case, now: Placement) -> bool:
        """Whether as many values of the tags are reached as by the best plan."""
        if not self.spread:
            return True
        missing = self._count_missing(case, now)
        if missing == tag_spread.bound_by_numbers(case.problem):
            return True
        copies = self._find_copies(case)
        if copies is None or missing == copies.chosen.spread_bound:
            return True
        best = self.find_plan(case).placement
        return best is None or missing <= self._count_missing(case, best)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int]:
        """By the numbers of copies and values, or by the flow of copies."""
        if not self.spread:
            return {}
        by_numbers = tag_spread.bound_by_numbers(case.problem)
        if self._count_missing(case, now) == by_numbers:
            return {tag_spread.NAME: by_numbers}
        copies = self._find_copies(case)
        return {} if copies is None or copies.chosen.spread_bound is None else {tag_spread.NAME: copies.chosen.spread_bound}

    def _count_missing(self, case: Case, placed: Placement) -> int:
        """Goal `tag_spread`, the less the better."""
        return evaluate(case.problem, case.forced, placed, (tag_spread.GOAL,))[tag_spread.NAME]


def carries_tags(order: GoalOrder) -> bool:
    """Whether the goals are those that flows solve, in their order, with `tag_spread` among goals (a) before them."""
    default = (*order.configured, *(goal.name for goal in FLOW_ORDER))
    return order.preset == "ordered" and tag_spread.NAME in order.configured and order.names == default


def is_small(problem: Problem) -> bool:
    """Whether one CP-SAT model may have all pairs of task and client."""
    return problem.T * problem.C <= MOST_PAIRS


def keep_back_for_default_plan(problem: Problem) -> float:
    """Seconds that the default order's plan takes: a program before it must leave them, as it may need longer than there is."""
    return _SECONDS_PER_ARC * (problem.T + len(problem.col_task) + problem.G * problem.C)


def _expect_seconds(face: CopiesFace) -> float:
    """What the linear programs take at most, by the size of the face: they cannot be interrupted."""
    problem = face.problem
    free_places = int(np.sum(problem.kind != LOGGED)) * problem.C
    size = len(face.column) + len(face.pooled) + len(face.place_group) + free_places + int(np.sum(~problem.logged))
    return 0.01 + _SECONDS_PER_PAIR * size * (_TIMES_WITH_TAGS if face.layers else 1)
