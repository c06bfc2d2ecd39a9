"""One rebalance, for any method: what stands, balanced at once, plan, this rebalance.

A method says how a balanced assignment, a plan and this rebalance are found; what the rules say about their order, about the
remembered answer (R7, R8, R10, R11) and about follow-ups stands here and in `steps.py`, once.
"""

from __future__ import annotations

from dataclasses import replace

from optassign.solving.methods.method import Case, Method
from optassign.solving.situation import Situation
from optassign.solving.step import Clock, Note, Step, Target
from optassign.solving.steps import answer_at_once, confirm_second_pass, hold_still, keep_at_rest, spread_ties, take_step
from optassign_models.policy.constants import MOST_LOOKS
from optassign_models.problem import Placement
from optassign_models.results import Found, FoundBy


def solve(situation: Situation, method: Method) -> Step:
    """All stages in their order. The answer keeps R1 to R6 and R8 to R11 if the method keeps its word."""
    clock = Clock()
    with clock.stage("prepare"):
        case = method.make_case(situation.problem, situation.requests.limits)
    given_way = case.limits.given_way if case.limits.words is not None else None
    if situation.requests.is_paused:
        with clock.stage("now"):
            held = hold_still(situation, case, method)
        return replace(held, seconds=clock.seconds, limited=method.limited, given_way=given_way)
    with clock.stage("now"):
        step = (
            confirm_second_pass(situation, case, method)
            or keep_at_rest(situation, case, method)
            or answer_at_once(situation, case, method)
        )
    if step is None:
        with clock.stage("plan"):
            found = case.plan
        if found.placement is not None:
            step = _go_towards_plan(situation, case, method, found, clock)
        else:
            step = _solve_beyond_shares(situation, case, method, clock, impossible=found.impossible)
    step = replace(
        step,
        seconds=clock.seconds,
        limited=step.limited or method.limited,
        notes=(*step.notes, *method.write_notes(situation.problem)),
        unserved=method.find_unserved(situation.problem),
        given_way=given_way,
    )
    weighted = method.weigh_plan(case, step.answer if step.plan is None else step.plan)
    return replace(step, proofs=replace(step.proofs, measured=case.bounds, weighted=weighted))


def _go_towards_plan(situation: Situation, case: Case, method: Method, found: Found, clock: Clock) -> Step:
    """This rebalance on the way to the plan that was found or, while it is as good, the remembered one."""
    return take_step(situation, case, method, choose_target(situation, case, method, found), clock)


def _solve_beyond_shares(situation: Situation, case: Case, method: Method, clock: Clock, *, impossible: bool) -> Step:
    """The stages from `now` on where no assignment was found inside the shares: they are widened by the least imbalance.

    impossible: none can be.
    """
    with clock.stage("plan"):
        rough = find_rough_plan(case, method)
    step = _solve_widened(situation, case.widen_target_to(rough), method, rough, clock)
    for _ in range(MOST_LOOKS):
        if step.plan is not None or step.followup:
            break
        with clock.stage("plan"):
            better = look_ahead(case, method, step.answer, impossible=impossible)
        if better is None:
            break
        if case.may_be_plan(better):
            return _go_towards_plan(situation, case, method, Found(better, found_by=FoundBy.GREEDY), clock)
        step = _solve_widened(situation, case.widen_target_to(better), method, better, clock)
    return replace(step, notes=(Note.WIDENED, *step.notes))


def _solve_widened(situation: Situation, case: Case, method: Method, rough: Placement, clock: Clock) -> Step:
    """The stages from `now` on, in a case whose target is widened to a rough plan."""
    with clock.stage("now"):
        step = answer_at_once(situation, case, method)
    if step is not None:
        return step
    with clock.stage("plan"):
        found = case.plan
    found = found if found.placement is not None else Found(rough, found_by=FoundBy.GREEDY)
    return _go_towards_plan(situation, case, method, found, clock)


def choose_target(situation: Situation, case: Case, method: Method, found: Found) -> Target:
    """The plan that was found or, while it is as good, the remembered one."""
    own, placed = case.problem.remembered_plan, found.whole
    if own is not None and _keeps_remembered(case, method, own, placed):
        return Target(own, found, is_remembered=True)
    return Target(spread_ties(situation, placed), found, is_remembered=False)


def find_rough_plan(case: Case, method: Method) -> Placement:
    """The plan of least imbalance, where none was found inside the shares."""
    rough, own = method.find_least_imbalance(case), case.problem.remembered_plan
    if own is not None and case.breaks_no_more_limits(own, rough) and case.has_no_more_imbalance(own, rough):
        return own  # otherwise plans of equal imbalance would take turns, each outside of the other's widened shares
    return rough


def look_ahead(case: Case, method: Method, answer: Placement, *, impossible: bool) -> Placement | None:
    """The better placement that the next rebalance would find if the group came to rest by an answer; None: it finds none.

    impossible: none can be inside the shares.
    """
    later = case.as_restored(answer)
    if not impossible:
        for find in (method.find_balanced_now, method.find_plan):
            found = find(later).placement
            if found is not None and case.may_be_plan(found):
                return found
    least = method.find_least_imbalance(later)
    return least if case.has_fewer_faults(least, answer) else None


def _keeps_remembered(case: Case, method: Method, own: Placement, found: Placement) -> bool:
    """R11: whether the remembered plan stays although another one was found."""
    if not case.reaches_target(own) or not case.breaks_no_more_limits(own, found):
        return False
    return method.keeps_remembered(case, own, found)
