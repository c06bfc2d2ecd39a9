"""All stages by the one program of the target: goals in any order, one weighted sum, or least imbalance, with bounds."""

from __future__ import annotations

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
from optassign_models.offload import OffloadOptions, Price
from optassign_models.policy.constants import SECONDS_PER_ARC
from optassign_models.problem import IntArray, Placement, Problem
from optassign_models.rebalance import ChooseActives
from optassign_models.results import Deadline, Found, FoundBy, ProvedBy
from optassign_models.shares import allow_any_counts
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import Case, Method, is_within_a_little
from optassign_models.target.question import (
    WEIGHTED_COST,
    Objective,
    Question,
    explain_excess,
    express_in_changelogs,
    list_families,
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

    is_exact = True

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
        if found.impossible:
            return found
        found = self._trade_for_disks(case, found)
        if found.placement is None or not has_few_pairs(case.problem):
            return found
        best = self._find_best(case, replace(question, start=found.placement))
        if self.goals[0].name == DISK.name and found.bounds.get(DISK.name, 0) > best.bounds.get(DISK.name, 0):
            best = replace(best, bounds=found.bounds, proved_by=found.proved_by)
        return replace(best, limited=best.limited or found.limited)

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
        problem, forced = express_in_changelogs(case.problem)
        question = replace(self._state_question(case, (weigh(self.order.weights),)), problem=problem, forced=forced)
        return replace(question, shares=case.shares, shares_bind=False, start=self.start)

    def _state_question(self, case: Case, objectives: tuple[Objective, ...]) -> Question:
        return Question(case.problem, case.forced, case.target, objectives, limits=case.limits.placements)

    def _trade_for_disks(self, case: Case, found: Found) -> Found:
        """Return the plan whose copies have traded places, if `disk` comes first: what it proves is a bound by numbers."""
        problem, is_first = case.problem, self.goals[0].name == DISK.name
        if found.placement is None or not is_first or not problem.logged.any():
            return found
        traded = even_out_state(problem, found.placement)
        best = traded if case.may_be_plan(traded) else found.placement
        bounds = {DISK.name: bound_state(problem)}
        return replace(found, placement=best, bounds=bounds, proved_by=ProvedBy.RULES, found_by=FoundBy.GREEDY)

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

    def _evaluate(self, case: Case, placed: Placement, goals: Sequence[GoalModel] | None = None) -> dict[str, int]:
        return evaluate(case.problem, case.forced, placed, self.goals if goals is None else goals)

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
        if case.search_plan().default_reason is not None or not self.order.asked_for:
            return super().keeps_remembered(case, own, found)
        if not self._is_as_good(case, own, found):
            return False
        first = self.goals[0]
        if self.order.is_given and first.name not in {*self.order.configured, RESTORE_WORK.name}:
            mine, theirs = (self._evaluate(case, plan, (first,))[first.name] for plan in (own, found))
            return is_within_a_little(mine, theirs)
        return super().keeps_remembered(case, own, found)

    def bound_configured(self, case: Case, now: Placement) -> dict[str, int] | None:
        """Return bounds of goals (a) where they, or the weighted sum, are as good as in the plan; otherwise None."""
        if self.order.is_weighted:
            best = case.search_plan().placement
            return {} if best is not None and self._weigh(case, now) <= self._weigh(case, best) else None
        values, bounds = self._value_configured(case, now), self._bound_by_numbers(case)
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
        return self._evaluate(case, placed, find_goals(self.order.configured))

    def _bound_by_numbers(self, case: Case) -> dict[str, int]:
        """Return bounds of goals (a) by numbers alone: 0, or all values of the tags."""
        bounds = dict.fromkeys(self.order.configured, 0)
        if TAG_SPREAD.name in bounds:
            bounds[TAG_SPREAD.name] = bound_by_numbers(case.problem)
        return bounds

    def find_unserved(self, case: Case, placed: Placement) -> Mapping[str, str]:
        """List the goals that sum unlike weights and are not at their bound, in groups of many pairs."""
        left_out = [goal.name for goal in self.goals if goal.carries is not None and goal.name in self.order.asked_for]
        if self.order.is_weighted or has_few_pairs(case.problem) or not left_out:
            return {}
        values, bounds = self._evaluate(case, placed), case.search_plan().bounds
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
    limits = case.limits.placements
    question = Question(case.problem, case.forced, case.target, list_families(), shares_bind=False, limits=limits)
    return find_best(question, effort)


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
