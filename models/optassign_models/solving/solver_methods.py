"""The stages by solvers: by the one program of the target, or by load within its tolerance, then the other goals.

Under load one program has all goals if pairs of task and client are few. Its relaxation, and CP-SAT among a few candidates of
each task, improve the plan that is found without a solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from optassign_models.flows import find_cheapest_copies, find_least_imbalance_actives, find_offload
from optassign_models.goals import GoalModel, evaluate, find_goals
from optassign_models.goals.disk import DISK, bound_state, even_out_state
from optassign_models.goals.goal import ACTIVE_MOVES, RESTORE_WORK, STANDBY_MIGRATIONS
from optassign_models.goals.load import LOAD
from optassign_models.goals.tags import TAG_SPREAD, bound_by_numbers
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.limits import PlacementLimit, mend
from optassign_models.load.placing import leave_actives_alone
from optassign_models.load.under_load import improve_actives, lower_target, make_question_under_load, relax_under_load
from optassign_models.policy import constants as policy
from optassign_models.problem import IntArray, Placement, Problem, make_placement, prepare
from optassign_models.results import Deadline, Effort, Found, FoundBy
from optassign_models.shares import allow_any_counts
from optassign_models.solving.heuristic_methods import finish_under_load, get_load, make_load_method, place_under_load
from optassign_models.solving.inputs import RequestedOrder
from optassign_models.solving.method import (
    Case,
    Method,
    is_within_tolerance,
    keep_by_default_order,
    mend_least_imbalance,
    mend_plan,
)
from optassign_models.target.question import Objective, Question, explain_excess, express_in_changelogs, list_in_order, weigh
from optassign_models.target.search import TargetAnswer, find_best, has_few_pairs
from optassign_models.zones import count_pairs_to_compare, spread_zones

_NO_TIME, _NOT_FOUND = "no time for a plan", "no plan was found"
_DEFAULT = "{} by these goals or weights: the goals of the default order were used"
_NO_SUM = "pairs of task and client are too many for a model that distinguishes copies of unlike weight"


def make_target_method(order: RequestedOrder, effort: Effort, start: Placement | None = None) -> Method:
    """Return the method that solves the program of the target at every stage. `start`: as in `Method`.

    Candidates are the problem's columns; the program counts other pairs by subtopology.
    """
    return Method(
        order,
        find_balanced_now=_find_best_now,
        place=lambda case: Found(find_greedy_plan(case.problem, case.target), found_by=FoundBy.GREEDY),
        find_unserved=_find_unserved,
        effort=effort,
        start=start,
        # Under preset `weighted` any counts are allowed, as imbalance is a cost.
        set_target=lambda case: replace(case, target=allow_any_counts(case.problem)) if order.is_weighted else case,
        search_free_plan=_search_plan,
        find_least_imbalance=_find_least_imbalance_in_time,
        can_hold=partial(can_hold_together, effort=effort),
        choose_actives=find_least_imbalance_actives,
        find_offload=None if order.is_weighted else find_offload,
        keeps_remembered=_keeps_remembered,
        bound_configured=_bound_configured,
    )


def _find_best_now(case: Case) -> Found:
    """Return the best in goals (a), active moves, standby migrations; no placement under preset `weighted`."""
    order = case.method.order
    if order.is_weighted:
        return Found(None)
    goals = (*find_goals(order.configured), ACTIVE_MOVES, STANDBY_MIGRATIONS)
    question = Question(case.problem, case.target, list_in_order(goals), limits=case.limits.placements, is_now=True)
    answer = find_best(question, _leave_time(case))
    found = read_answer(answer, question.objectives)
    if found.placement is None:
        return found
    is_bounded = answer.is_proven and ACTIVE_MOVES.name in found.bounds
    return replace(found, bounds={ACTIVE_MOVES.name: found.bounds[ACTIVE_MOVES.name]} if is_bounded else {})


def _search_plan(case: Case) -> Found:
    """Return the best plan in the requested goals; if the solver has none, greedy's plan of the default order.

    If goals are greatest sums, the search begins with the best plan in the other goals, with copies traded for `disk`.
    """
    question, order = ask_for_plan(case), case.method.order
    excess = explain_excess(question.problem, order.weights) if order.is_weighted else None
    if excess is not None:
        return replace(_find_greedy_plan(case, Found(None)), default_reason=excess)
    if not question.has_sums:
        return _find_best_plan(case, question)
    counted = [each for each in question.objectives if all(goal.carries is None for goal, _ in each.goals)]
    found = _find_best_plan(case, replace(question, objectives=tuple(counted)))
    if found.impossible or found.placement is None:
        return found
    is_first = order.names[0] == DISK.name
    if is_first and case.problem.logged.any():
        traded = even_out_state(case.problem, found.placement)
        best, bounds = traded if case.may_be_plan(traded) else found.placement, {DISK.name: bound_state(case.problem)}
        found = replace(found, placement=best, bounds=bounds, proved_by=FoundBy.RULES, found_by=FoundBy.GREEDY)
    if not has_few_pairs(case.problem):
        return found
    again = _find_best_plan(case, replace(question, start=found.placement))
    if is_first and found.bounds.get(DISK.name, 0) > again.bounds.get(DISK.name, 0):
        again = replace(again, bounds=found.bounds, proved_by=found.proved_by)
    return replace(again, limited=again.limited or found.limited)


def _find_best_plan(case: Case, question: Question) -> Found:
    """Return the solver's best plan, or greedy's plan of the default order if the solver finds none."""
    order, found = case.method.order, read_answer(find_best(question, _leave_time(case)), question.objectives)
    if found.placement is not None or found.impossible:
        return found
    greedy, why = _find_greedy_plan(case, found), _DEFAULT.format(_NO_TIME if found.limited else _NOT_FOUND)
    is_asked = not greedy.bounds if order.is_weighted else bool(order.asked_for)
    return replace(greedy, default_reason=why if is_asked else None)


def ask_for_plan(case: Case) -> Question:
    """Return the question of the plan by counts: goals in order, or the weighted sum."""
    order, start, limits = case.method.order, case.method.start, case.limits.placements
    if not order.is_weighted:
        return Question(case.problem, case.target, list_in_order(find_goals(order.names)), limits=limits, start=start)
    problem, objectives = express_in_changelogs(case.problem), (weigh(order.weights),)
    return Question(problem, case.shares, objectives, shares_bind=False, limits=limits, start=start)


def _leave_time(case: Case) -> Effort:
    """Return the effort with an earlier deadline, which leaves time for a plan without a solver."""
    deadline = case.effort.deadline
    return replace(case.effort, deadline=Deadline(deadline.at - expect_seconds_without_solver(case.problem)))


def _find_greedy_plan(case: Case, found: Found) -> Found:
    """Return greedy's plan of the default order, if it keeps shares and limits, and the bounds of the first goals.

    Its copies are the cheapest in the first goals, if there is time for their flow and the plan is then balanced.
    """
    problem, by_shares = case.problem, case.shares if case.method.order.is_weighted else case.target
    copies, bounds = _find_copies_in_time(case)
    for keys in (None,) if copies is None else (copies, None):
        plan = spread_zones(problem, by_shares, find_greedy_plan(problem, by_shares, keys), now=False)
        placed = mend(problem, by_shares, case.limits.placements, plan)
        if case.may_be_plan(placed):
            break
    proved_by, bounds = (FoundBy.FLOW, bounds) if bounds else (found.proved_by, dict(list(found.bounds.items())[:1]))
    placement = placed if case.may_be_plan(placed) else None
    return replace(found, placement=placement, bounds=bounds, proved_by=proved_by, found_by=FoundBy.GREEDY)


def _find_copies_in_time(case: Case) -> tuple[IntArray | None, dict[str, int]]:
    """Return the copies (n,) of least cost in the order's first goals, if these are sums over copies, and bounds by goal."""
    problem, order = case.problem, case.method.order
    goals = tuple(takewhile(lambda goal: goal.cost_per_copy is not None, () if order.is_weighted else find_goals(order.names)))
    seconds = policy.SECONDS_PER_FLOW_ARC * _count_choices(problem) + expect_seconds_without_solver(problem)
    if not goals or seconds > case.effort.deadline.left:
        return None, {}
    copies, bounds = find_cheapest_copies(problem, case.target, goals)
    return copies, dict(zip((goal.name for goal in goals), bounds, strict=False))


def _find_least_imbalance_in_time(case: Case) -> Found:
    """Return the placement of least imbalance, family after family, that keeps the limits; greedy's if time is short."""
    answer = solve_least_imbalance(case, _leave_time(case))
    if answer.placement is None:
        return replace(mend_least_imbalance(case), limited=answer.is_cut_short)
    return read_answer(answer, ())


def _weigh(case: Case, plan: Placement) -> int:
    return ask_for_plan(case).evaluate(plan)[0]


def _keeps_remembered(case: Case, own: Placement, found: Placement) -> bool:
    """Return whether to keep the remembered plan (R11): if it is as good in goals (a), and other goals gain too little.

    Those are (b) and (c), or the first goal of the options if it is none of (a) and (b). Preset `weighted` compares sums.
    """
    order = case.method.order
    if order.is_weighted:
        return is_within_tolerance(_weigh(case, own), _weigh(case, found))
    if case.search_plan().default_reason is None and order.asked_for:
        is_as_good = _is_as_good(case, own, found)
        if not is_as_good or not _is_as_good(case, found, own):
            return is_as_good
        (first,) = find_goals(order.names[:1])
        if order.is_given and first.name not in {*order.configured, RESTORE_WORK.name}:
            mine, theirs = (evaluate(case.problem, plan, (first,))[first.name] for plan in (own, found))
            return is_within_tolerance(mine, theirs)
    return keep_by_default_order(case, own, found)


def _bound_configured(case: Case, now: Placement) -> dict[str, int] | None:
    """Return bounds of goals (a) if these goals, or the weighted sum, are as good as in the plan; otherwise None."""
    if case.method.order.is_weighted:
        best = case.search_plan().placement
        return {} if best is not None and _weigh(case, now) <= _weigh(case, best) else None
    values, bounds = _value_configured(case, now), dict.fromkeys(case.method.order.configured, 0)
    if TAG_SPREAD.name in bounds:
        bounds[TAG_SPREAD.name] = bound_by_numbers(case.problem)
    if values != bounds:
        found, own = case.search_plan(), case.problem.remembered_plan
        plans = [found.placement, own if own is not None and case.may_be_plan(own) else None]
        if any(plan is not None and not _is_as_good(case, now, plan) for plan in plans):
            return None
        bounds |= {goal: bound for goal, bound in found.bounds.items() if goal in values}
    return {goal: bound for goal, bound in bounds.items() if values[goal] == bound}


def _is_as_good(case: Case, now: Placement, plan: Placement) -> bool:
    """Return whether goals (a) are no worse than in the plan; `disk` may be 2% above, as its optimum is rarely proven."""
    mine, theirs = (_value_configured(case, each) for each in (now, plan))
    name = DISK.name
    if name in mine and is_within_tolerance(mine[name], theirs[name]):
        mine[name] = min(mine[name], theirs[name])
    return tuple(mine.values()) <= tuple(theirs.values())


def _value_configured(case: Case, placed: Placement) -> dict[str, int]:
    return evaluate(case.problem, placed, find_goals(case.method.order.configured))


def _find_unserved(case: Case, placed: Placement) -> Mapping[str, str]:
    """Return goal → reason, for goals that are greatest sums and more than 2% above their bounds, in groups of many pairs."""
    order = case.method.order
    goals = find_goals(order.names)
    left_out = [goal.name for goal in goals if goal.carries is not None and goal.name in order.asked_for]
    if order.is_weighted or has_few_pairs(case.problem) or not left_out:
        return {}
    values, bounds = evaluate(case.problem, placed, goals), case.search_plan().bounds
    return {goal: _NO_SUM for goal in left_out if not is_within_tolerance(values[goal], bounds.get(goal, 0))}


def read_answer(answer: TargetAnswer, objectives: Sequence[Objective]) -> Found:
    """Return the answer as the result of a search. A bound holds if the goals before it are at their bounds.

    The program rounds loads up, so it bounds neither the load nor the goals after it.
    """
    bounds: dict[str, int] = {}
    values = answer.values or answer.bounds
    for objective, value, bound in zip(objectives, values, answer.bounds, strict=False):
        if objective.name == LOAD.name:
            break
        bounds[objective.name] = bound
        if value != bound or answer.placement is None:
            break
    found_by = FoundBy.CP_SAT if answer.proved_by is FoundBy.CP_SAT else FoundBy.HIGHS
    return Found(answer.placement, answer.is_impossible, bounds, answer.proved_by, found_by, answer.is_cut_short)


def solve_least_imbalance(case: Case, effort: Effort) -> TargetAnswer:
    """Return the placement of least imbalance, family after family, that keeps the limits."""
    families = tuple(Objective(imbalance=tuple(int(family == at) for at in range(5))) for family in range(5))
    limits = case.limits.placements
    return find_best(Question(case.problem, case.target, families, shares_bind=False, limits=limits), effort)


def can_hold_together(problem: Problem, limits: Sequence[PlacementLimit], effort: Effort) -> bool | None:
    """Return whether some placement keeps R1, R2, R4 and the limits; None if unknown."""
    problem = prepare(problem)
    answer = find_best(Question(problem, allow_any_counts(problem), (), limits=tuple(limits)), effort)
    if answer.placement is not None:
        return True
    return False if answer.is_impossible else None


def expect_seconds_without_solver(problem: Problem) -> float:
    """Return the seconds that a plan without a solver takes at most."""
    return policy.SECONDS_PER_ARC * _count_choices(problem) + policy.SECONDS_PER_COMPARED_PAIR * count_pairs_to_compare(problem)


def _count_choices(problem: Problem) -> int:
    """Return the number of tasks, candidates and places."""
    return problem.T + len(problem.col_task) + problem.G * problem.C


def make_solved_load_method(order: RequestedOrder, tolerance: float, effort: Effort) -> Method:
    """Return the method of load within `tolerance`, then the requested goals; goals (b) to (f) if pairs are many."""
    method = make_load_method(order, tolerance)
    return replace(
        method,
        effort=effort,
        place=_place_by_solver,
        # If pairs are few, one program serves all goals.
        find_unserved=lambda case, placed: {} if has_few_pairs(case.problem) else method.find_unserved(case, placed),
        set_target=lambda case: _lower_load(method.set_target(case), tolerance),
        search_limited_plan=_search_limited_load,
        find_least_imbalance=_find_any_that_keeps_limits,
        can_hold=partial(can_hold_together, effort=effort),
        bound_configured=_bound_load,
    )


def _lower_load(case: Case, tolerance: float) -> Case:
    """Return the case; in small groups CP-SAT lowers the target's load if dealing left it beyond the tolerance."""
    if case.problem.T * case.problem.C > policy.CP_SAT_VARIABLES:
        return case
    return replace(case, load=lower_target(case.problem, get_load(case), tolerance, case.effort.deadline))


def _place_by_solver(case: Case) -> Found:
    """Return the best plan found, with loads within the tolerance if possible, and its bounds."""
    load, found, is_small = get_load(case), Found(place_under_load(case), found_by=FoundBy.GREEDY), has_few_pairs(case.problem)
    goals = _list_goals(case)
    if is_small:
        found = _solve_under_load(case, found.whole, ())  # no worse than its start
    if not goals or found.bounds.get(goals[0].name) == _evaluate(case, found.whole, goals)[0]:
        return found
    if goals[0] is RESTORE_WORK and _is_within(case, found.whole):
        found = _relax(case, found)
    deadline = case.effort.deadline
    active = improve_actives(case.problem, load.loads, load.most_of_actives, found.whole.active, deadline)
    placed = finish_under_load(case, active)
    return replace(_choose(case, found, placed), limited=found.limited or not deadline.left)


def _list_goals(case: Case) -> tuple[GoalModel, ...]:
    """Return the goals after the load."""
    return tuple(goal for goal in find_goals(case.method.order.names) if goal is not LOAD)


def _relax(case: Case, start: Found) -> Found:
    """Return the better of the start and the placement that the relaxation leads to, with the bound of restore work."""
    load, active = get_load(case), start.whole.active
    alone, loads = leave_actives_alone(case.problem), load.loads.actives_alone
    placed = make_placement(active, active[:0], alone.C)
    question = make_question_under_load(alone, loads, load.most, (RESTORE_WORK,), (), placed, has_pools=True)
    # The search among candidates needs time, too.
    effort = replace(case.effort, deadline=Deadline.after(case.effort.deadline.left / 2))
    relaxed = relax_under_load(question, loads, effort)
    if relaxed is None:
        return replace(start, limited=True)
    bound, proved_by, active = relaxed
    bound += case.problem.forced.forced_work
    found = start
    if bound > start.bounds.get(RESTORE_WORK.name, -1):
        found = replace(start, bounds={RESTORE_WORK.name: bound}, proved_by=proved_by)
    return _choose(case, found, place_under_load(case, active))


def _choose(case: Case, found: Found, placed: Placement) -> Found:
    """Return the placement if its load is within the tolerance and it is better in the goals; otherwise what was found."""
    goals = _list_goals(case)
    is_better = _is_within(case, placed) and _evaluate(case, placed, goals) < _evaluate(case, found.whole, goals)
    return replace(found, placement=placed, found_by=FoundBy.GREEDY) if is_better else found


def _solve_under_load(case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Found:
    """Return the best plan in the goals with loads within the tolerance and inside these limits.

    The start may be beyond the tolerance or on a draining client. Rows then allow its copies there, so no bound holds.
    """
    question = ask_under_load(case, start, limits)
    found = read_answer(find_best(question, case.effort), question.objectives)
    return found if _is_within(case, start) else replace(found, bounds={})


def ask_under_load(case: Case, start: Placement, limits: Sequence[PlacementLimit]) -> Question:
    """Return the question of the goals after the load, with loads up to the target's and inside these limits."""
    load = get_load(case)
    return make_question_under_load(case.problem, load.loads, load.most, _list_goals(case), limits, start, has_pools=False)


def _search_limited_load(case: Case, free: Found) -> Found:
    """Return the plan of one program with all goals and the limits as rows, if pairs are few; otherwise the mended plan.

    The plan keeps the case's greatest load, so no better plan is found at rest.
    """
    mended = mend_plan(case, free)
    if not has_few_pairs(case.problem):
        return mended
    within = _solve_under_load(case, mended.placement or free.whole, case.limits.placements)
    if within.placement is not None and case.may_be_plan(within.placement):
        return within
    return replace(mended, impossible=mended.placement is None and within.impossible, limited=within.limited)


def _find_any_that_keeps_limits(case: Case) -> Found:
    """Return the mended plan at any load or, if that breaks limits and pairs are few, a placement that keeps them."""
    found = mend_least_imbalance(case)
    if case.keeps_limits(found.whole) or not has_few_pairs(case.problem):
        return found
    result = solve_least_imbalance(case, case.effort)
    return replace(found, placement=result.placement or found.placement, limited=found.limited or result.is_cut_short)


def _bound_load(case: Case, now: Placement) -> dict[str, int] | None:
    """Return None if the plan is better in the other goals (a); otherwise an empty mapping."""
    goals = tuple(goal for goal in _list_goals(case) if goal.name in case.method.order.configured)
    if not goals or not has_few_pairs(case.problem):
        return {}
    return {} if _evaluate(case, now, goals) <= _evaluate(case, case.search_least_imbalance().whole, goals) else None


def _evaluate(case: Case, plan: Placement, goals: Sequence[GoalModel]) -> tuple[int, ...]:
    return tuple(evaluate(case.problem, plan, goals).values())


def _is_within(case: Case, placed: Placement) -> bool:
    """Return whether a placement keeps a finite greatest load and leaves no thread idle, so rows need not make room for it."""
    load = get_load(case)
    greatest, idle = load.measure(placed)
    return not idle and math.isfinite(load.most) and greatest <= load.most * (1 + policy.ROUNDING)
