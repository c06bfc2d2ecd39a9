"""One rebalance, for any method, stage by stage: the remembered or previous answer, balanced at once, plan, this rebalance.

A method finds a balanced assignment, a plan and this rebalance. The order of the stages, the remembered answer (R7, R8, R10,
R11) and follow-ups are the same for all methods: they are here and in `steps.py`.
"""

from __future__ import annotations

from dataclasses import replace

from optassign_models.policy.constants import MENDING_ROUNDS
from optassign_models.problem import Placement
from optassign_models.results import Found, FoundBy, Step, time_stage
from optassign_models.solving.method import Case, Method, make_case
from optassign_models.solving.situation import Situation
from optassign_models.solving.steps import answer_at_once, confirm_second_pass, hold_still, keep_at_rest, spread_ties, take_step
from optassign_models.target.question import WEIGHTED_COST

_WIDENED = "no balanced assignment was found: the shares are widened by the least imbalance"


def solve(situation: Situation, method: Method) -> Step:
    """Solve one rebalance, stage by stage. The answer keeps R1 to R6 and R8 to R11, provided the method's contract holds."""
    seconds: dict[str, float] = {}
    with time_stage(seconds, "prepare"):
        case = make_case(method, situation.problem, situation.requests.limits)
    given_way = case.limits.given_way if case.limits.words is not None else None
    if situation.requests.is_paused:
        with time_stage(seconds, "now"):
            held = hold_still(situation, case)
        return replace(held, seconds=seconds, limited=_was_limited(case), given_way=given_way)
    with time_stage(seconds, "now"):
        step = confirm_second_pass(situation, case)
    step, cases = step or _solve_within(situation, case, seconds), [case]
    if step is None:
        step, others = _solve_beyond_shares(situation, case, seconds)
        cases += others
    placed = step.answer if step.plan is None else step.plan
    reasons = [found.default_reason for each in cases for found in each.searched.values()]
    why = next((reason for reason in reasons if reason is not None), None)
    weighs = method.order.is_weighted and method.effort is not None and case.load is None
    weighs = weighs and case.search_plan().default_reason is None
    weighted_bound = case.search_plan().bounds.get(WEIGHTED_COST) if weighs else None
    return replace(
        step,
        seconds=seconds,
        limited=step.limited or any(map(_was_limited, cases)),
        notes=step.notes if why is None else (*step.notes, why),
        unserved=method.find_unserved(case, placed) if why is None else dict.fromkeys(method.order.asked_for, why),
        given_way=given_way,
        measured_bounds={} if case.load is None else case.load.bound_measures(case.problem, placed),
        weighs=weighs,
        weighted_bound=weighted_bound,
    )


def _was_limited(case: Case) -> bool:
    return any(found.limited for found in case.searched.values())


def _solve_within(situation: Situation, case: Case, seconds: dict[str, float]) -> Step | None:
    """Return the step by the stages from `now` on, or None if no plan is found inside the target of the case."""
    with time_stage(seconds, "now"):
        step = keep_at_rest(situation, case) or answer_at_once(situation, case)
    if step is not None:
        return step
    with time_stage(seconds, "plan"):
        found = case.search_plan()
    return None if found.placement is None else _go_to(situation, case, found, seconds)


def _solve_beyond_shares(situation: Situation, case: Case, seconds: dict[str, float]) -> tuple[Step, list[Case]]:
    """Return the step for a group without a plan inside its shares, and the cases that were searched.

    The stages from `now` on run with shares widened by the least imbalance.
    """
    with time_stage(seconds, "plan"):
        nearest = find_least_imbalance_plan(situation, case)
    cases: list[Case] = []
    for rounds_left in range(MENDING_ROUNDS, -1, -1):
        widened, found = case.widen_target_to(nearest), Found(nearest, found_by=FoundBy.GREEDY)
        cases.append(widened)
        step = _solve_within(situation, widened, seconds) or _go_to(situation, widened, found, seconds)
        if step.plan is not None or step.followup or not rounds_left:
            break
        later = case.after_restoring(step.answer)
        with time_stage(seconds, "plan"):
            better = look_ahead(case, later, step.answer)
        cases.append(later)
        if better is None:
            break
        if case.may_be_plan(better):
            return _go_to(situation, case, Found(better, found_by=FoundBy.GREEDY), seconds), cases
        nearest = better
    return replace(step, notes=(_WIDENED, *step.notes)), cases


def _go_to(situation: Situation, case: Case, found: Found, seconds: dict[str, float]) -> Step:
    """Return the step to the remembered plan if the found plan is not worth the change (R11), or to the found plan."""
    own, placed = case.problem.remembered_plan, found.whole
    may_stay = own is not None and case.reaches_target(own) and case.breaks_no_more_limits(own, placed)
    if own is not None and may_stay and case.method.keeps_remembered(case, own, placed):
        target = replace(found, placement=own, found_by=FoundBy.REMEMBERED)
    else:
        target = replace(found, placement=spread_ties(situation, placed))
    return take_step(situation, case, target, seconds)


def find_least_imbalance_plan(situation: Situation, case: Case) -> Placement:
    """Return the plan of least imbalance, for a group without a plan inside its shares.

    Among equals the remembered plan comes first, then the previous assignment. Otherwise placements of equal imbalance would
    alternate, each outside the shares that the other has widened.
    """
    nearest = case.search_least_imbalance().whole
    for own in (case.problem.remembered_plan, situation.previous):
        if own is not None and case.breaks_no_more_limits(own, nearest) and case.has_no_more_imbalance(own, nearest):
            return own
    return nearest


def look_ahead(case: Case, later: Case, answer: Placement) -> Placement | None:
    """Return a placement better than `answer` that the next rebalance would find, or None if it would find none.

    later: the case of that rebalance, if the group rests with `answer`.
    """
    if not case.search_plan().impossible:
        found = later.search_now().placement
        if found is None or not case.may_be_plan(found):
            found = later.search_plan().placement
        if found is not None and case.may_be_plan(found):
            return found
    nearest = later.search_least_imbalance().whole
    if case.has_fewer_faults(nearest, answer):
        return nearest
    widened = later.widen_target_to(answer)
    return widened.search_plan().placement if widened.method.bound_configured(widened, answer) is None else None
