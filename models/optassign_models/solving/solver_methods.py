"""The stages by solvers: by the one program of the target, or by load within its tolerance, then the other goals.

Under load one program has all goals if pairs of task and client are few. Otherwise its relaxation and searches in
neighbourhoods improve the plan that is found without a solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optassign_models.flows import find_least_imbalance_actives, find_offload
from optassign_models.forced import prepare
from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.default_order import ACTIVE_MOVES, RESTORE_WORK, STANDBY_MIGRATIONS
from optassign_models.goals.disk import DISK, bound_state, even_out_state
from optassign_models.goals.load import LOAD
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.limits import PlacementLimit, mend
from optassign_models.load.placing import leave_actives_alone
from optassign_models.load.under_load import Neighbourhoods, lower_target, make_question_under_load, relax_under_load
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.constants import CP_SAT_VARIABLES, NEIGHBOURHOOD_CLIENTS, ROUNDING, SECONDS_PER_ARC
from optassign_models.problem import IntArray, Placement, Problem, make_placement
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Deadline, Found, FoundBy, ProvedBy
from optassign_models.shares import allow_any_counts
from optassign_models.solving.heuristic_methods import LoadMethod, finish_under_load, get_load, place_under_load
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import Case, Method, is_within_a_little
from optassign_models.target.question import (
    WEIGHTED_COST,
    Objective,
    Question,
    explain_excess,
    express_in_changelogs,
    list_in_order,
    weigh,
)
from optassign_models.target.search import TargetAnswer, find_best, has_few_pairs
from optassign_models.target.solver import Effort

_NO_TIME = "no time for goals in this order: those of the default order were used"
_NO_TIME_TO_WEIGH = "no time for the weighted sum: the goals of the default order were used"
_NO_SUM = "pairs of task and client are too many for a model that tells copies of unlike weight apart"


class TargetMethod(Method):
    """Every stage asks the one program."""

    def __init__(self, order: RequestedOrder, effort: Effort, start: Placement | None = None) -> None:
        """Make a method for this order. `start`: a plan to begin with. If it is allowed, no worse one is found."""
        super().__init__(order)
        self.effort, self.start = effort, start
        self.goals = find_goals(order.names)

    def prepare_case(self, problem: Problem) -> Case:
        """Return the case whose candidates are the pairs that differ; the program counts other pairs by subtopology.

        Under preset `weighted` nothing is demanded of counts.
        """
        case = super().prepare_case(problem)
        if not self.order.is_weighted:
            return case
        return replace(case, target=allow_any_counts(problem))

    def find_balanced_now(self, case: Case) -> Found:
        """Return the best in goals (a), then in active moves; nothing under preset `weighted`, where the plan decides."""
        if self.order.is_weighted:
            return Found(None)
        goals = (*find_goals(self.order.configured), ACTIVE_MOVES, STANDBY_MIGRATIONS)
        question = replace(self._state_question(case, list_in_order(goals)), is_now=True)
        answer = find_best(question, self.effort)
        found = read_answer(answer, question.objectives)
        if found.placement is None:
            return found
        is_bounded = answer.is_proven and ACTIVE_MOVES.name in found.bounds
        return replace(found, bounds={ACTIVE_MOVES.name: found.bounds[ACTIVE_MOVES.name]} if is_bounded else {})

    def search_plan(self, case: Case) -> Found:
        """Return the best plan in the goals asked for; if the solver has none, a plan of the default order without a solver.

        Goals that are greatest sums begin with the best plan in the other goals, with copies traded for `disk`.
        """
        question = self.make_question(case)
        excess = explain_excess(question.problem, self.order.weights) if self.order.is_weighted else None
        if excess is not None:
            return replace(self._find_greedy_plan(case, Found(None)), default_reason=excess)
        if not question.has_sums:
            return self._find_best(case, question)
        counted = [objective for objective in question.objectives if not objective.has_sums]
        found = self._find_best(case, replace(question, objectives=tuple(counted)))
        if found.impossible or found.placement is None:
            return found
        is_first = self.goals[0].name == DISK.name
        if is_first and case.problem.logged.any():
            traded = even_out_state(case.problem, found.placement)
            best, bounds = traded if case.may_be_plan(traded) else found.placement, {DISK.name: bound_state(case.problem)}
            found = replace(found, placement=best, bounds=bounds, proved_by=ProvedBy.RULES, found_by=FoundBy.GREEDY)
        if not has_few_pairs(case.problem):
            return found
        again = self._find_best(case, replace(question, start=found.placement))
        if is_first and found.bounds.get(DISK.name, 0) > again.bounds.get(DISK.name, 0):
            again = replace(again, bounds=found.bounds, proved_by=found.proved_by)
        return replace(again, limited=again.limited or found.limited)

    def _find_best(self, case: Case, question: Question) -> Found:
        """Return the best plan that was found; one of the default order, where the solver has no answer."""
        found = read_answer(find_best(question, self._leave_time(question.problem)), question.objectives)
        if found.placement is not None or found.impossible:
            return found
        greedy = self._find_greedy_plan(case, found)
        if self.order.is_weighted:
            return greedy if greedy.bounds else replace(greedy, default_reason=_NO_TIME_TO_WEIGH)
        return replace(greedy, default_reason=_NO_TIME if self.order.asked_for else None)

    def make_question(self, case: Case) -> Question:
        """Return the plan that is asked for, as a question to the program: goals in order, or the weighted sum."""
        if not self.order.is_weighted:
            return replace(self._state_question(case, list_in_order(self.goals)), start=self.start)
        (problem, forced), objectives = express_in_changelogs(case.problem), (weigh(self.order.weights),)
        limits = case.limits.placements
        return Question(problem, forced, case.shares, objectives, shares_bind=False, limits=limits, start=self.start)

    def _state_question(self, case: Case, objectives: tuple[Objective, ...]) -> Question:
        return Question(case.problem, case.forced, case.target, objectives, limits=case.limits.placements)

    def _leave_time(self, problem: Problem) -> Effort:
        """Return the effort that leaves time for a plan without a solver."""
        deadline = self.effort.deadline
        return replace(self.effort, deadline=Deadline(deadline.at - expect_seconds_without_solver(problem)))

    def _find_greedy_plan(self, case: Case, found: Found) -> Found:
        """Return greedy's plan of the default order, if it keeps shares and limits, and the bound of the first goal."""
        by_shares = case.shares if self.order.is_weighted else case.target
        placed = mend(case.problem, by_shares, case.limits.placements, find_greedy_plan(case.problem, case.forced, by_shares))
        bounds = dict(list(found.bounds.items())[:1])
        return replace(found, placement=placed if case.may_be_plan(placed) else None, bounds=bounds, found_by=FoundBy.GREEDY)

    def search_least_imbalance(self, case: Case) -> Found:
        """Return a placement without a solver."""
        return Found(find_greedy_plan(case.problem, case.forced, case.target), found_by=FoundBy.GREEDY)

    def find_least_imbalance(self, case: Case) -> Found:
        """Return the least imbalance, family after family, that keeps the limits."""
        answer = find_least_imbalance(case, self._leave_time(case.problem))
        if answer.placement is None:
            return replace(super().find_least_imbalance(case), limited=answer.is_cut_short)
        return read_answer(answer, ())

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Return whether some placement keeps these limits; None where that was not found out."""
        return can_hold_together(case.problem, limits, self.effort)

    def choose_open_actives(self, case: Case) -> ChooseActives:
        """Return the exact choice by one minimum-cost flow."""
        return find_least_imbalance_actives

    def find_offload(
        self, case: Case, options: OffloadOptions, plan: Placement, price: Price
    ) -> tuple[IntArray, int | None] | None:
        """Return actives (T,) and a bound of the goal's value in seconds, by one flow. None if imbalance is a weighted cost."""
        return None if self.order.is_weighted else find_offload(options, case.shares, plan.active, price)

    def _weigh(self, case: Case, plan: Placement) -> int:
        return self.make_question(case).evaluate(plan)[0]

    def bound_weighted(self, case: Case) -> tuple[bool, int | None]:
        """Return whether the plan is one of least weighted sum, and a bound of all plans in the unit of the weights."""
        if not self.order.is_weighted or case.search_plan().default_reason is not None:
            return False, None
        return True, case.search_plan().bounds.get(WEIGHTED_COST)

    def keeps_remembered(self, case: Case, own: Placement, found: Placement) -> bool:
        """Return whether to keep the remembered plan: if it is as good in goals (a), and in the first of the other goals.

        In a default order the rule of R11 decides on the other goals.
        """
        if self.order.is_weighted:
            return is_within_a_little(self._weigh(case, own), self._weigh(case, found))
        if case.search_plan().default_reason is None and self.order.asked_for:
            if not self._is_as_good(case, own, found):
                return False
            first = self.goals[0]
            if self.order.is_given and first.name not in {*self.order.configured, RESTORE_WORK.name}:
                mine, theirs = (evaluate(case.problem, case.forced, plan, (first,))[first.name] for plan in (own, found))
                return is_within_a_little(mine, theirs)
        return super().keeps_remembered(case, own, found)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return bounds of goals (a) where they, or the weighted sum, are as good as in the plan; otherwise None."""
        if self.order.is_weighted:
            best = case.search_plan().placement
            return {} if best is not None and self._weigh(case, now) <= self._weigh(case, best) else None
        values, bounds = self._value_configured(case, now), dict.fromkeys(self.order.configured, 0)
        if TAG_SPREAD.name in bounds:
            bounds[TAG_SPREAD.name] = bound_by_numbers(case.problem)
        if values != bounds:
            found = case.search_plan()
            if found.placement is not None and not self._is_as_good(case, now, found.placement):
                return None
            bounds |= {goal: bound for goal, bound in found.bounds.items() if goal in values}
        return {goal: bound for goal, bound in bounds.items() if values[goal] == bound}

    def _is_as_good(self, case: Case, now: Placement, plan: Placement) -> bool:
        """Return whether goals (a) are no worse than in the plan; `disk` may be 2% above, as its optimum is rarely proven."""
        mine, theirs = (self._value_configured(case, each) for each in (now, plan))
        name = DISK.name
        if name in mine and is_within_a_little(mine[name], theirs[name]):
            mine[name] = min(mine[name], theirs[name])
        return tuple(mine.values()) <= tuple(theirs.values())

    def _value_configured(self, case: Case, placed: Placement) -> dict[str, int]:
        return evaluate(case.problem, case.forced, placed, find_goals(self.order.configured))

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """List the goals that sum unlike weights and are not at their bound, in groups of many pairs."""
        left_out = [goal.name for goal in self.goals if goal.carries is not None and goal.name in self.order.asked_for]
        if self.order.is_weighted or has_few_pairs(case.problem) or not left_out:
            return {}
        values, bounds = evaluate(case.problem, case.forced, placed, self.goals), case.search_plan().bounds
        return {goal: _NO_SUM for goal in left_out if not is_within_a_little(values[goal], bounds.get(goal, 0))}


def read_answer(answer: TargetAnswer, objectives: Sequence[Objective]) -> Found:
    """Return the answer as the result of a search. A bound holds if the goals before it are at their bounds.

    The program rounds loads up, so it bounds neither the load nor what comes after it.
    """
    bounds: dict[str, int] = {}
    values = answer.values or answer.bounds
    for objective, value, bound in zip(objectives, values, answer.bounds, strict=False):
        if objective.name == LOAD.name:
            break
        bounds[objective.name] = bound
        if value != bound or answer.placement is None:
            break
    is_decided = answer.proved_by is ProvedBy.CP_SAT
    return Found(
        answer.placement,
        impossible=answer.is_impossible,
        bounds=bounds,
        proved_by=answer.proved_by,
        found_by=FoundBy.CP_SAT if is_decided else FoundBy.HIGHS,
        limited=answer.is_cut_short,
    )


def find_least_imbalance(case: Case, effort: Effort) -> TargetAnswer:
    """Return the placement of least imbalance, family after family, that keeps the limits."""
    families = tuple(Objective(imbalance=tuple(int(family == at) for at in range(5))) for family in range(5))
    limits = case.limits.placements
    return find_best(Question(case.problem, case.forced, case.target, families, shares_bind=False, limits=limits), effort)


def can_hold_together(problem: Problem, limits: Sequence[PlacementLimit], effort: Effort) -> bool | None:
    """Return whether some placement keeps R1, R2, R4 and the limits; None where that was not found out."""
    problem, forced = prepare(problem)
    answer = find_best(Question(problem, forced, allow_any_counts(problem), (), limits=tuple(limits)), effort)
    if answer.placement is not None:
        return True
    return False if answer.is_impossible else None


def expect_seconds_without_solver(problem: Problem) -> float:
    """Return seconds that a plan without a solver takes at most."""
    return SECONDS_PER_ARC * (problem.T + len(problem.col_task) + problem.G * problem.C)


class SolvedLoadMethod(LoadMethod):
    """Load within its tolerance, then the goals that are asked for; of many pairs goals (b) to (f)."""

    def __init__(self, order: RequestedOrder, tolerance: float, min_gain: float, effort: Effort) -> None:
        """Make a method for this order; the other parameters are those of `LoadMethod`."""
        super().__init__(order, tolerance, min_gain)
        self._effort = effort
        self._goals = tuple(goal for goal in find_goals(order.names) if goal is not LOAD)
        self._configured = tuple(goal for goal in self._goals if goal.name in order.configured)

    def prepare_case(self, problem: Problem) -> Case:
        """Return the case of the problem. In small groups CP-SAT lowers the target where dealing leaves that open."""
        case = super().prepare_case(problem)
        if case.problem.T * case.problem.C > CP_SAT_VARIABLES:
            return case
        return replace(case, load=lower_target(case.problem, get_load(case), self._tolerance, self._effort.deadline))

    def place(self, case: Case) -> Found:
        """The best plan that was found, with loads within the tolerance if possible; its bounds."""
        load, found, is_small = get_load(case), super().place(case), has_few_pairs(case.problem)
        if is_small:
            found = self._solve(case, found.whole, ())  # no worse than what it starts from
        if not self._goals or found.bounds.get(self._goals[0].name) == self._evaluate(case, found.whole)[0]:
            return found
        if self._goals[0] is RESTORE_WORK and _is_within(case, found.whole):
            found = self._relax(case, found)
        if is_small and len(load.loads.open_clients) <= NEIGHBOURHOOD_CLIENTS:
            return found  # a neighbourhood would be the whole group
        deadline = self._effort.deadline
        search = Neighbourhoods(case.problem, case.forced, load.loads, load.most_of_actives, found.whole.active)
        placed = finish_under_load(case, search.improve(deadline))
        return replace(self._choose(case, found, placed), limited=found.limited or not deadline.left)

    def _relax(self, case: Case, start: Found) -> Found:
        """Return the better of the start and the placement that the relaxation leads to, with the bound of restore work."""
        load, active = get_load(case), start.whole.active
        alone, loads = leave_actives_alone(case.problem, case.forced), load.loads.actives_alone
        placed = make_placement(active, active[:0], alone.C)
        question = make_question_under_load(alone, loads, load.most, self._goals[:1], (), placed, has_pools=True)
        # The neighbourhoods need time, too.
        effort = replace(self._effort, deadline=Deadline.after(self._effort.deadline.left / 2))
        relaxed = relax_under_load(question, loads, effort)
        if relaxed is None:
            return replace(start, limited=True)
        bound, proved_by, active = relaxed
        bound += case.forced.forced_work
        found = start
        if bound > start.bounds.get(RESTORE_WORK.name, -1):
            found = replace(start, bounds={RESTORE_WORK.name: bound}, proved_by=proved_by)
        return self._choose(case, found, place_under_load(case, active))

    def _choose(self, case: Case, found: Found, placed: Placement) -> Found:
        is_better = _is_within(case, placed) and self._evaluate(case, placed) < self._evaluate(case, found.whole)
        return replace(found, placement=placed, found_by=FoundBy.GREEDY) if is_better else found

    def _solve(self, case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
        """Return the best plan in the goals with loads within the tolerance and inside these limits.

        The start may be beyond the tolerance or on a draining client. Rows allow such copies only there, so nothing is bounded.
        """
        question = self._state_question(case, start, limits)
        found = read_answer(find_best(question, self._effort), question.objectives)
        return found if _is_within(case, start) else replace(found, bounds={})

    def _state_question(self, case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
        load = get_load(case)
        return make_question_under_load(case.problem, load.loads, load.most, self._goals, limits, start, has_pools=False)

    def make_question(self, case: Case) -> Question | None:
        """The goals after the load, with loads within the tolerance; None for a group of many pairs, which has no one model."""
        if not has_few_pairs(case.problem):
            return None
        return self._state_question(case, case.search_least_imbalance().whole, case.limits.placements)

    def search_limited_plan(self, case: Case, free: Found) -> Found:
        """Return the plan of one program with all goals and the limits as rows, if pairs are few.

        No plan has more than the case's greatest load: otherwise a better one might be found at rest.
        """
        mended = super().search_limited_plan(case, free)
        if not has_few_pairs(case.problem):
            return mended
        within = self._solve(case, mended.placement or free.whole, case.limits.placements)
        if within.placement is not None and case.may_be_plan(within.placement):
            return within
        return replace(mended, impossible=mended.placement is None and within.impossible, limited=within.limited)

    def find_least_imbalance(self, case: Case) -> Found:
        """Return the plan with the load that it has, or any placement that keeps the limits."""
        found = super().find_least_imbalance(case)
        if case.keeps_limits(found.whole) or not has_few_pairs(case.problem):
            return found
        result = find_least_imbalance(case, self._effort)
        return replace(found, placement=result.placement or found.placement, limited=found.limited or result.is_cut_short)

    def can_hold(self, case: Case, limits: Sequence[PlacementLimit], start: Placement) -> bool | None:
        """Return whether some placement keeps the limits: by single moves, otherwise by the program of the target."""
        return super().can_hold(case, limits, start) or can_hold_together(case.problem, limits, self._effort)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return None if the plan is better in the other goals (a); otherwise an empty mapping."""
        if not self._configured or not has_few_pairs(case.problem):
            return {}
        mine, theirs = (self._evaluate(case, each, self._configured) for each in (now, case.search_least_imbalance().whole))
        return {} if mine <= theirs else None

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """Return nothing if pairs are few: one program serves all goals."""
        return {} if has_few_pairs(case.problem) else super().find_unserved(case, placed)

    def _evaluate(self, case: Case, plan: Placement, goals: Sequence[GoalModel] | None = None) -> tuple[int, ...]:
        return tuple(evaluate(case.problem, case.forced, plan, self._goals if goals is None else goals).values())


def _is_within(case: Case, placed: Placement) -> bool:
    """Return whether rows that follow a placement bar no balanced one: it keeps the tolerance, and no thread is idle."""
    load = get_load(case)
    greatest, idle = load.measure(placed)
    return not idle and math.isfinite(load.most) and greatest <= load.most * (1 + ROUNDING)
