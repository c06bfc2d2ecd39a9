"""One rebalance, stage by stage, for any method: what stands, balanced at once, plan, this rebalance, warm-ups.

A method says how a balanced assignment, a plan and this rebalance are found; what the rules say about their order, about the
remembered answer (R7, R8, R10, R11) and about follow-ups stands here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from optassign.solving.arrays import Arrays
from optassign.solving.case import Case
from optassign.solving.clock import Clock
from optassign.solving.followup import offload, warm_up
from optassign.solving.holding.moves import has_few_moves, rebalance_with_few_moves
from optassign.solving.holding.paused import hold_still
from optassign.solving.holding.settling import put_limits_in_force
from optassign.solving.methods.method import Method
from optassign.solving.standing import confirm_second_pass, is_optimum, keep_at_rest
from optassign.solving.step import Note, Proofs, Reason, Step
from optassign_models.goals import restore_work, tag_spread
from optassign_models.goals.active_moves import count_active_moves
from optassign_models.limits.limit import list_broken
from optassign_models.offload import count_too_many
from optassign_models.policy.program import MOST_LOOKS
from optassign_models.problem import Placement
from optassign_models.rebalance import COPIES_ON_TARGET
from optassign_models.results import Found, FoundBy, Rebalanced
from optassign_models.ties.failover import spread_failover
from optassign_models.ties.lost import spread_lost


def solve(arrays: Arrays, method: Method) -> Step:
    """All stages in their order. The answer keeps R1 to R6 and R8 to R11 if the method keeps its word."""
    clock = Clock()
    with clock.stage("prepare"):
        case = put_limits_in_force(method.make_case(arrays.problem), arrays.limits, method)
    if arrays.paused:
        with clock.stage("now"):
            held = hold_still(arrays, case, method)
        return replace(held, seconds=clock.seconds, limited=method.limited, given_way=_list_given_way(arrays, case))
    with clock.stage("now"):
        step = (
            confirm_second_pass(arrays, case, method)
            or keep_at_rest(arrays, case, method)
            or answer_at_once(arrays, case, method)
        )
    if step is None:
        with clock.stage("plan"):
            found = method.find_plan(case)
        if found.placement is not None:
            step = _go_towards_plan(arrays, case, method, found, clock)
        else:
            step = _solve_beyond_shares(arrays, case, method, clock, impossible=found.impossible)
    step = replace(
        step,
        seconds=clock.seconds,
        limited=step.limited or method.limited,
        notes=(*step.notes, *method.write_notes(arrays.problem)),
        unserved=method.find_unserved(arrays.problem),
        given_way=_list_given_way(arrays, case),
    )
    weighted = method.weigh_plan(case, step.answer if step.plan is None else step.plan)
    return replace(step, proofs=replace(step.proofs, measured=case.bounds, weighted=weighted))


def _list_given_way(arrays: Arrays, case: Case) -> Mapping[str, str] | None:
    """Limits that cannot hold; None where none are given."""
    return case.limits.given_way if arrays.limits.are_given else None


def _solve_beyond_shares(arrays: Arrays, case: Case, method: Method, clock: Clock, *, impossible: bool) -> Step:
    """The stages from `now` on where no assignment was found inside the shares: they are widened by the least imbalance.

    impossible: none can be.
    """
    with clock.stage("plan"):
        rough = method.find_least_imbalance(case)
    own = case.problem.remembered_plan
    if own is not None and case.breaks_no_more_limits(own, rough) and method.has_no_more_imbalance(case, own, rough):
        rough = own  # otherwise plans of equal imbalance would take turns, each outside of the other's widened shares
    step = _solve_widened(arrays, case.widen_target_to(rough), method, rough, clock)
    for _ in range(MOST_LOOKS):
        if step.plan is not None or step.followup:
            break
        with clock.stage("plan"):
            better = _look_ahead(case, method, step.answer, impossible=impossible)
        if better is None:
            break
        if case.may_be_plan(better):
            return _go_towards_plan(arrays, case, method, Found(better, found_by=FoundBy.GREEDY), clock)
        step = _solve_widened(arrays, case.widen_target_to(better), method, better, clock)
    return replace(step, notes=(Note.WIDENED, *step.notes))


def _look_ahead(case: Case, method: Method, answer: Placement, *, impossible: bool) -> Placement | None:
    """The better placement that the next rebalance would find if the group came to rest by an answer; None: it finds none."""
    later = case.as_restored(answer)
    if not impossible:
        for find in (method.find_balanced_now, method.find_plan):
            found = find(later).placement
            if found is not None and case.may_be_plan(found):
                return found
    least = method.find_least_imbalance(later)
    return least if method.has_fewer_faults(case, least, answer) else None


def _solve_widened(arrays: Arrays, case: Case, method: Method, rough: Placement, clock: Clock) -> Step:
    """The stages from `now` on, in a case whose target is widened to a rough plan."""
    with clock.stage("now"):
        step = answer_at_once(arrays, case, method)
    if step is None:
        with clock.stage("plan"):
            found = method.find_plan(case)
            if found.placement is None:
                found = Found(rough, found_by=FoundBy.GREEDY)
        step = _go_towards_plan(arrays, case, method, found, clock)
    return step


def answer_at_once(arrays: Arrays, case: Case, method: Method) -> Step | None:
    """An answer that is balanced in this very rebalance and its own plan, without warm-ups; None where none was found.

    The remembered plan is taken where it is balanced and allowed now, unless the one found moves fewer actives (R11).
    """
    found = method.find_balanced_now(case)
    if found.placement is not None and not (case.keeps_limits(found.placement) and has_few_moves(case, found.placement)):
        found = Found(None)  # the plan decides
    answer, own = found.placement, case.problem.remembered_plan
    own_stands = own is not None and case.reaches_target(own) and case.keeps_r3_to_r5(own)
    own_stands = own_stands and own is not None and is_optimum(case, method, own)
    if own is not None and own_stands and (answer is None or _moves_no_fewer(case, answer, own)):
        answer = own
    if answer is None or not is_optimum(case, method, answer):
        return None
    same = found.placement is not None and answer.same_as(found.placement)
    if same:
        answer = _spread(arrays, answer)
    return Step(
        answer=answer,
        plan=None,
        reason=Reason.FEASIBLE,
        found_by=found.found_by if same else FoundBy.REMEMBERED,
        proofs=Proofs({"now": {restore_work.GOAL.name: case.forced.forced_work, **found.bounds}}),
        balanced=case.is_balanced(answer),
        limited=found.limited,
        followup=case.problem.lag_unknown,
    )


def _spread(arrays: Arrays, placed: Placement) -> Placement:
    """The same to every goal, but for lost tasks and for what goes on where after a death. Configured goals tell copies apart
    that are alike otherwise: under these nothing changes, nor where a limit would be broken."""
    tags = arrays.problem.data_of(tag_spread.NAME, tag_spread.Tags)
    alike = set() if tags is None or tags.tell_apart else {tag_spread.NAME}
    if set(arrays.order.configured) - alike:
        return placed
    spread = spread_failover(arrays.problem, spread_lost(arrays.problem, placed, arrays.pace.rates()))
    limits = arrays.limits.placements
    return placed if set(map(id, list_broken(limits, spread))) - set(map(id, list_broken(limits, placed))) else spread


def _keeps_remembered(case: Case, method: Method, own: Placement, found: Placement) -> bool:
    """R11: whether the remembered plan stays although another one was found."""
    if not case.reaches_target(own) or not case.breaks_no_more_limits(own, found):
        return False
    return method.keeps_remembered(case, own, found)


def _moves_no_fewer(case: Case, answer: Placement, own: Placement) -> bool:
    return count_active_moves(case.problem, answer) >= count_active_moves(case.problem, own)


def _go_towards_plan(arrays: Arrays, case: Case, method: Method, found: Found, clock: Clock) -> Step:
    """This rebalance and its warm-ups, on the way to the plan that was found or, while it is as good, the remembered one."""
    assert found.placement is not None
    own = case.problem.remembered_plan
    keeps_own = own is not None and _keeps_remembered(case, method, own, found.placement)
    plan = own if keeps_own and own is not None else found.placement
    if not keeps_own:
        plan = _spread(arrays, plan)
    with clock.stage("rebalance"):
        rebalanced, held = _rebalance(arrays, case, method, plan)
    answer = rebalanced.answer
    step = Step(
        answer=answer,
        plan=plan,
        reason=Reason.FEASIBLE,
        found_by=FoundBy.REMEMBERED if keeps_own else found.found_by,
        proofs=Proofs(
            {"plan": found.bounds, "rebalance": rebalanced.bounds},
            proved=frozenset() if keeps_own else frozenset(("plan", goal) for goal in found.proved),
            by_lp=frozenset(("plan", goal) for goal in found.by_lp),
        ),
        is_remembered=keeps_own,
        balanced=case.is_balanced(answer),
        limited=found.limited,
        notes=(Note.HELD,) if held else (),
    )
    if case.reaches_target(answer) and is_optimum(case, method, answer):
        # Balanced after all: probing stops, and this is the plan (KIP-441); the proofs were of another.
        bounds = {restore_work.GOAL.name: case.forced.forced_work, **method.bound_configured(case, answer)}
        proofs = Proofs({"now": bounds}, by_lp=step.proofs.by_lp)
        return replace(step, plan=None, proofs=proofs, followup=case.problem.lag_unknown)
    with clock.stage("warmups"):
        step = warm_up(arrays, case, method, step)
    if not held:
        with clock.stage("offload"):
            step = offload(arrays, case, method, step)
    counts = np.bincount(step.answer.active, minlength=case.problem.C)
    return replace(step, is_crowded=count_too_many(case.shares, counts) > 0)


def _rebalance(arrays: Arrays, case: Case, method: Method, plan: Placement) -> tuple[Rebalanced, bool]:
    """The answer on the way to the plan, and whether owners were held back from it.

    If there is no memory, the target of an unknown answer's first pass can only be guessed. Were other tasks moved now, a third
    pass would follow, and a fourth: so owners keep what they may keep, and the next rebalance goes on.
    """
    free = rebalance_with_few_moves(case, method, plan, hold=False)
    if not arrays.unconfirmed:
        return free, False
    held = rebalance_with_few_moves(case, method, plan, hold=True)
    if held.answer.same_as(free.answer):
        return free, False
    # The later bounds hold for the most copies in their places, and owners are held back from some.
    bounds = {goal: bound for goal, bound in free.bounds.items() if goal == COPIES_ON_TARGET}
    return replace(held, bounds=bounds), True
