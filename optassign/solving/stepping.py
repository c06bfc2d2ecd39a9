"""This rebalance on the way to a plan: who has which task now, warm-ups, temporary offload, the follow-up (R6, R8, R11)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign.solving.case import Case
from optassign.solving.methods.method import Method
from optassign.solving.situation.situation import Situation
from optassign.solving.step import Clock, Note, Proofs, Reason, Step, Target, Warmups
from optassign.solving.timing import estimate_to_balance
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.offload import OFFLOAD, Price, count_too_many, find_offload_options, restrict_offload, swap_roles
from optassign_models.policy.constants import OFF_S, PATIENCE
from optassign_models.problem import IntArray, Placement
from optassign_models.rebalance import COPIES_ON_TARGET
from optassign_models.results import Found, FoundBy
from optassign_models.warmups import Admission, Progress, Room, admit, measure_room, queue_warmups


def take_step(situation: Situation, case: Case, method: Method, target: Target, clock: Clock) -> Step:
    """This rebalance, its warm-ups and its offload."""
    found = target.found
    with clock.stage("rebalance"):
        rebalanced, held = _rebalance(situation, case, method, target.placement)
    answer = rebalanced.whole
    step = Step(
        answer=answer,
        plan=target.placement,
        reason=Reason.FEASIBLE,
        found_by=FoundBy.REMEMBERED if target.is_remembered else found.found_by,
        proofs=Proofs(
            {"plan": found.bounds, "rebalance": rebalanced.bounds},
            proved=frozenset() if target.is_remembered else frozenset(("plan", goal) for goal in found.proved),
            by_lp=frozenset(("plan", goal) for goal in found.by_lp),
        ),
        is_remembered=target.is_remembered,
        balanced=case.is_balanced(answer),
        limited=found.limited,
        notes=(Note.HELD,) if held else (),
    )
    if case.reaches_target(answer) and method.is_optimum(case, answer):
        # Balanced after all: probing stops, and this is the plan (KIP-441); the proofs were of another.
        bounds = {RESTORE_WORK.name: case.forced.forced_work, **method.bound_configured(case, answer)}
        proofs = Proofs({"now": bounds}, by_lp=step.proofs.by_lp)
        return replace(step, plan=None, proofs=proofs, followup=case.problem.lag_unknown)
    with clock.stage("warmups"):
        step = _warm_up(situation, case, method, step)
    if not held:
        with clock.stage("offload"):
            step = _offload(situation, case, method, step)
    counts = np.bincount(step.answer.active, minlength=case.problem.C)
    return replace(step, is_over_share=count_too_many(case.shares, counts) > 0)


def _rebalance(situation: Situation, case: Case, method: Method, plan: Placement) -> tuple[Found, bool]:
    """The answer on the way to the plan, and whether owners were held back from it.

    If there is no memory, the target of an unknown answer's first pass can only be guessed. Were other tasks moved now, a third
    pass would follow, and a fourth: so owners keep what they may keep, and the next rebalance goes on.
    """
    free = _rebalance_with_few_moves(case, method, plan, hold=False)
    if not situation.unconfirmed:
        return free, False
    held = _rebalance_with_few_moves(case, method, plan, hold=True)
    if held.whole.same_as(free.whole):
        return free, False
    # The later bounds hold for the most copies in their places, and owners are held back from some.
    bounds = {goal: bound for goal, bound in free.bounds.items() if goal == COPIES_ON_TARGET}
    return replace(held, bounds=bounds), True


def _rebalance_with_few_moves(case: Case, method: Method, plan: Placement, *, hold: bool) -> Found:
    """Find the answer on the way to a plan, with as many moves as the limit allows, and the moves that R3 forces."""
    found = method.find_rebalance(case, plan, hold=hold)
    most = case.limits.most_moves
    if most is None:
        return found
    moved, free = case.find_moves(found.whole)
    if int(moved.sum()) <= most:
        return found
    tasks = np.flatnonzero(free)
    # First what leaves a client that drains, then what is planned there, then in order.
    problem = case.problem
    drains = problem.col_owner & problem.draining[problem.col_client]
    leaves = np.bincount(problem.col_task[drains], minlength=problem.T)[tasks] == 0
    order = tasks[np.lexsort((tasks, plan.active[tasks] != found.whole.active[tasks], leaves))]
    held = np.broadcast_to(hold, problem.T).copy()
    held[order[max(0, most - int((moved & ~free).sum())) :]] = True
    return replace(method.find_rebalance(case, plan, hold=held), bounds={})


def _warm_up(situation: Situation, case: Case, method: Method, step: Step) -> Step:
    """The step with slots for the plan's copies that its answer does not hold, and with its follow-up where one is due."""
    plan, answer, problem = step.plan, step.answer, case.problem
    assert plan is not None
    C = problem.C
    progress = update_progress(situation)
    pace, limits = situation.pace, situation.requests.limits
    held = np.intersect1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    restoring = held[problem.rank_of(held) > 0]
    room = measure_room(limits.placements, plan, answer)
    wanted = np.setdiff1d(plan.copy_keys(C, problem.logged), held, assume_unique=True)
    line = queue_warmups(
        *(problem, case.shares, plan, answer, situation.under_way, progress, pace.rates()),
        is_timed=pace.is_timed and LOAD.name not in method.order.names,
        no_room=None if room is None else np.setdiff1d(room.find_too_large(problem, wanted), situation.under_way),
    )
    kept_back = False
    notes: tuple[str, ...] = ()
    if room is not None:
        is_restoring = bool(np.any(progress.find_idle_answers(restoring) < PATIENCE))
        admission = admit(problem, line, room, situation.under_way, progress, is_restoring=is_restoring)
        line, kept_back, notes = admission.queue, len(admission.kept_back) > 0, _note_room(situation, room, admission)
    assigned = np.concatenate([line.keys[: line.served], restoring])
    waiting = np.concatenate([assigned, line.keys[line.served :]])
    idle = progress.find_idle_answers(waiting)
    stalled = bool(len(waiting)) and bool(np.all(idle >= PATIENCE))
    # Kept: what is restored now, to be compared with the next answer, and what has been idle for long and is in the queue.
    keep = np.sort(waiting[np.isin(waiting, assigned) | (idle >= PATIENCE)])
    warmups = Warmups(
        keys=np.sort(line.keys[: line.served]),
        waiting=waiting,
        is_queue_left=line.served < len(line.keys),
        waits_for_room=kept_back,
        stalled=stalled,
        progress=Progress(keep, problem.lag_of(keep), progress.find_idle_answers(keep)),
    )
    followup = (not answer.same_as(plan) and not stalled) or problem.lag_unknown
    return replace(step, warmups=warmups, followup=followup, notes=(*step.notes, *notes))


def _note_room(situation: Situation, room: Room, admission: Admission) -> tuple[str, ...]:
    """Say which copies go beyond a limit on state, and how many wait for room (docs/reference/rules.md, "Limits")."""
    C, words, notes = situation.problem.C, situation.requests.limits.words or {}, []

    def name_limits(keys: IntArray) -> str:
        return " and ".join(words[limit.name] for limit in room.list_limits_of(keys % C))

    for key in admission.over_limit.tolist():
        copy = f"{situation.inventory.tasks[key // C]} on {situation.inventory.clients[key % C]}"
        why = "nothing else brings the group nearer to its plan"
        notes.append(f"a warm-up goes beyond a limit: {copy}, {why}: {name_limits(admission.over_limit)}")
    if len(admission.kept_back):
        copies = f"{len(admission.kept_back):,} until others have left their clients"
        notes.append(f"warm-ups wait for room: {copies}: {name_limits(admission.kept_back)}")
    return tuple(notes)


def _offload(situation: Situation, case: Case, method: Method, step: Step) -> Step:
    """The step with tasks active elsewhere for a while, where that lessens imbalance for long enough to be worth the moves."""
    plan, answer = step.plan, step.answer
    assert plan is not None
    # Under goal load a task is worth its weight, and numbers of tasks say nothing.
    if LOAD.name in method.order.names or not step.followup or case.target is not case.shares:
        return step
    to_balance_ms = estimate_to_balance(case.problem, situation.pace, step)
    if to_balance_ms is None:
        return step
    prices = situation.requests.offload
    price = Price(to_balance_ms // 1000, prices.stateless, prices.logged)
    is_over_share = count_too_many(case.shares, np.bincount(answer.active, minlength=case.problem.C)) > 0
    may_stay = is_over_share and price.logged < OFF_S
    options = find_offload_options(case.problem, plan, answer, price, may_stay=may_stay)
    value = options.evaluate(case.shares, price, answer.active)
    bound: int | None = options.bound_moves()
    bounds = step.proofs.bounds["rebalance"]
    if value != bound:
        found = method.find_offload(case, restrict_offload(options, case.limits.placements), plan, price)
        if found is None:
            return step
        active, bound = found if case.allows_offload(options, found[0]) else (options.start, None)
        if options.evaluate(case.shares, price, active) < value:
            answer = swap_roles(answer, active, case.problem.logged, case.problem.C)
            bounds = {}  # those of the goals after this one were of the answer without offload
    if bound is not None:
        bounds = {**bounds, OFFLOAD: bound}
    return replace(
        step,
        answer=answer,
        balanced=case.is_balanced(answer),
        to_balance_ms=to_balance_ms,
        proofs=replace(step.proofs, bounds={**step.proofs.bounds, "rebalance": bounds}),
    )


def update_progress(situation: Situation) -> Progress:
    """The remembered progress, brought up to today's lags: a lag that has not fallen is idle for one answer more."""
    problem, memory, pace = situation.problem, situation.memory, situation.pace
    before = memory.progress
    if not len(before.keys):
        return before
    lag = problem.lag_of(before.keys)
    tried = np.isin(before.keys, memory.assigned)
    fell = lag < before.lag
    caught_up = problem.rank_of(before.keys) == 0
    more = np.minimum(before.idle, PATIENCE) + 1
    # If times are unknown, tasks in transit show that the last answer is recent: no copy can have been restored since.
    counts = pace.counts_idle and not (pace.taken_at is None and memory.in_transit.any())
    idle = np.where(fell | caught_up, 0, np.where(tried & counts, more, before.idle))
    return Progress(before.keys, lag, idle)
