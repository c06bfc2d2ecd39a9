"""Warm-ups, what the follow-up waits for, and whether there is one (R6, R8, R11); offload until then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign.solving.arrays import Arrays
from optassign.solving.case import Case
from optassign.solving.holding.moves import allows_offload
from optassign.solving.methods.method import Method
from optassign.solving.pace import estimate_to_balance
from optassign.solving.step import Step, Warmups
from optassign_models.goals import load
from optassign_models.limits.offload import restrict_offload
from optassign_models.limits.room import Admission, Room, admit, measure_room
from optassign_models.offload import OFFLOAD, Price, count_too_many, find_offload_options, swap_roles
from optassign_models.policy.offload import OFF_S
from optassign_models.policy.warmups import PATIENCE
from optassign_models.problem import IntArray, Problem
from optassign_models.warmups import Progress, queue_warmups


def warm_up(arrays: Arrays, case: Case, method: Method, step: Step) -> Step:
    """The step with slots for the plan's copies that its answer does not hold, and with its follow-up where one is due."""
    plan, answer, problem = step.plan, step.answer, case.problem
    assert plan is not None
    C = problem.C
    progress = update_progress(arrays, problem)
    pace = arrays.pace
    held = np.intersect1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    restoring = held[problem.rank_of(held) > 0]
    room = measure_room(arrays.limits.placements, plan, answer)
    wanted = np.setdiff1d(plan.copy_keys(C, problem.logged), held, assume_unique=True)
    line = queue_warmups(
        *(problem, case.shares, plan, answer, arrays.under_way, progress, pace.rates()),
        is_timed=pace.is_timed and load.NAME not in method.order.names,
        no_room=None if room is None else np.setdiff1d(room.find_too_large(problem, wanted), arrays.under_way),
    )
    kept_back = False
    notes: tuple[str, ...] = ()
    if room is not None:
        is_restoring = bool(np.any(progress.find_idle_answers(restoring) < PATIENCE))
        admission = admit(problem, line, room, arrays.under_way, progress, is_restoring=is_restoring)
        line, kept_back, notes = admission.queue, len(admission.kept_back) > 0, _note_room(arrays, room, admission)
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


def _note_room(arrays: Arrays, room: Room, admission: Admission) -> tuple[str, ...]:
    """Say which copies go beyond a limit on state, and how many wait for room (docs/reference/rules.md, "Limits")."""
    C, words, notes = arrays.problem.C, arrays.limits.words or {}, []

    def name_limits(keys: IntArray) -> str:
        return " and ".join(words[limit.name] for limit in room.list_limits_of(keys % C))

    for key in admission.over_limit.tolist():
        copy = f"{arrays.tasks[key // C]} on {arrays.clients[key % C]}"
        why = "nothing else brings the group nearer to its plan"
        notes.append(f"a warm-up goes beyond a limit: {copy}, {why}: {name_limits(admission.over_limit)}")
    if len(admission.kept_back):
        copies = f"{len(admission.kept_back):,} until others have left their clients"
        notes.append(f"warm-ups wait for room: {copies}: {name_limits(admission.kept_back)}")
    return tuple(notes)


def offload(arrays: Arrays, case: Case, method: Method, step: Step) -> Step:
    """The step with tasks active elsewhere for a while, where that lessens imbalance for long enough to be worth the moves."""
    plan, answer = step.plan, step.answer
    assert plan is not None
    # Under goal load a task is worth its weight, and numbers of tasks say nothing.
    if load.NAME in method.order.names or not step.followup or case.target is not case.shares:
        return step
    to_balance_ms = estimate_to_balance(case.problem, arrays.pace, step)
    if to_balance_ms is None:
        return step
    price = Price(to_balance_ms // 1000, arrays.offload_prices.stateless, arrays.offload_prices.logged)
    is_crowded = count_too_many(case.shares, np.bincount(answer.active, minlength=case.problem.C)) > 0
    may_stay = is_crowded and price.logged < OFF_S
    options = find_offload_options(case.problem, plan, answer, price, may_stay=may_stay)
    value = options.evaluate(case.shares, price, answer.active)
    bound: int | None = options.bound_moves()
    bounds = step.proofs.bounds["rebalance"]
    if value != bound:
        found = method.find_offload(case, restrict_offload(options, case.limits.placements), plan, price)
        if found is None:
            return step
        active, bound = found if allows_offload(case, options, found[0]) else (options.start, None)
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


def update_progress(arrays: Arrays, problem: Problem) -> Progress:
    """The remembered progress, brought up to today's lags: a lag that has not fallen is idle for one answer more."""
    before = arrays.progress
    if not len(before.keys):
        return before
    lag = problem.lag_of(before.keys)
    tried = np.isin(before.keys, arrays.assigned_before)
    fell = lag < before.lag
    caught_up = problem.rank_of(before.keys) == 0
    more = np.minimum(before.idle, PATIENCE) + 1
    # If times are unknown, tasks in transit show that the last answer is recent: no copy can have been restored since.
    counts = arrays.pace.counts_idle and not (arrays.pace.taken_at is None and arrays.in_transit.any())
    idle = np.where(fell | caught_up, 0, np.where(tried & counts, more, before.idle))
    return Progress(before.keys, lag, idle)
