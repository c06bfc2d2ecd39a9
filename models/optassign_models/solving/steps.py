"""Steps: answers that are their own plan, and this rebalance on the way to another plan.

A second pass confirms the remembered answer (R10), and a group at rest keeps its assignment (R7). A paused group changes only
the copies that R1 to R5 force, and some groups can be balanced in this very rebalance. Otherwise a step (`take_step`) has the
tasks of each client now, warm-ups, temporary offload, and the follow-up (R6, R8, R11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from optassign_models.goals.goal import RESTORE_WORK, find_active_moves
from optassign_models.goals.load import LOAD
from optassign_models.goals.tags import TAG_SPREAD
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.limits import PlacementLimit, list_broken
from optassign_models.policy.constants import PATIENCE, REBALANCE_MS
from optassign_models.problem import IntArray, Placement, Problem, make_placement
from optassign_models.rebalance import COPIES_ON_TARGET, OFFLOAD, find_offload_options, restrict_offload, swap_roles
from optassign_models.results import OWNERS_HELD, Found, FoundBy, Reason, Step, Warmups, time_stage
from optassign_models.shares import compute_shares, count_copies
from optassign_models.solving.followups import estimate_to_balance
from optassign_models.solving.method import Case, find_rebalance
from optassign_models.solving.situation import Situation
from optassign_models.ties import spread_failover, spread_lost
from optassign_models.warmups import Progress, Restoring, admit, measure_room, queue_warmups


def confirm_second_pass(situation: Situation, case: Case) -> Step | None:
    """Return the step that confirms the remembered answer while its tasks are in transit, if it keeps the rules; or None."""
    memory, problem, warmups = situation.memory, case.problem, situation.under_way
    remembered = memory.answer
    if remembered is None or not memory.same_clients:
        return None
    if not memory.in_transit.any() and not _is_still_held(situation, case):
        return None
    if _has_half_caught_up(situation, case):
        return None
    if (
        memory.plan is None
        or not case.problem.keeps_r3_to_r5(remembered)
        or len(warmups) > problem.max_warmups
        or not problem.logged[warmups // problem.C].all()
        or np.isin(warmups, remembered.copy_keys(problem.C, problem.logged)).any()
    ):
        return None
    settled = case.reaches_target(remembered) and case.bound_optimum(remembered) is not None
    has_plan = not settled and not situation.requests.forgets_plan
    return Step(
        answer=remembered,
        plan=memory.plan if has_plan and memory.plan_differs else None,
        warmups=Warmups(warmups if has_plan else warmups[:0], progress=memory.progress),
        reason=Reason.CONFIRMED,
        found_by=FoundBy.REMEMBERED,
        balanced=case.is_balanced(remembered),
        followup=problem.lag_unknown,
        probing=not settled,
        to_balance_ms=memory.to_balance_ms,
    )


def _has_half_caught_up(situation: Situation, case: Case) -> bool:
    """Return whether to continue in this rebalance: at least half of the warm-ups have caught up, and weights are fixed.

    Fewer wait for the follow-up, because a task that moves costs one more pass. If weights drift, as under goal `load`, a new
    plan could differ while tasks are on their way to this one.
    """
    if LOAD.name in case.method.order.names:
        return False
    progress, problem, pace = situation.memory.progress, case.problem, situation.pace
    under_way = np.isin(progress.keys, situation.under_way) & (progress.lag > problem.acceptable_lag)
    done = problem.rank_of(progress.keys[under_way]) == 0
    return pace.is_timed and bool(done.any()) and 2 * int(done.sum()) >= len(done)


def _is_still_held(situation: Situation, case: Case) -> bool:
    """Return whether to repeat the last answer once: it held owners back, and no copy that it waits for has come nearer.

    The follow-up comes after a second at the soonest. By then passes are over, and the group goes on.
    """
    progress, elapsed = situation.memory.progress, situation.pace.elapsed_ms
    if OWNERS_HELD not in situation.memory.notes or not len(progress.keys) or (elapsed is not None and elapsed >= REBALANCE_MS):
        return False
    return not np.any(case.problem.lag_of(progress.keys) < progress.lag)


def keep_at_rest(situation: Situation, case: Case) -> Step | None:
    """Return the step that keeps the previous assignment if the group is stable (R7); otherwise None."""
    previous, problem, memory = situation.previous, case.problem, situation.memory
    if previous is None or problem.lag_unknown:
        return None
    active, _, copies, *_ = count_copies(problem, previous)
    if np.any(problem.draining & (active + copies > 0)) or not case.problem.keeps_r3_to_r5(previous):
        return None
    on_its_way = memory.plan_differs and memory.plan is not None
    is_good = case.reaches_target(previous) or (not on_its_way and _is_not_worth_moving(situation, case, previous))
    bounds = case.bound_optimum(previous) if is_good else None
    return None if bounds is None else _as_own_plan(case, previous, Reason.REST, bounds=bounds)


def _is_not_worth_moving(situation: Situation, case: Case, previous: Placement) -> bool:
    """Return whether a new plan lowers the greatest load of the previous assignment by too little to be worth the moves."""
    if case.load is None:
        return False
    greatest, idle = case.load.measure(previous)
    least_gain = situation.requests.min_gain
    return idle <= case.load.idle and greatest - case.load.measure(case.search_least_imbalance().whole)[0] < least_gain


def answer_at_once(situation: Situation, case: Case) -> Step | None:
    """Return the step to an answer that is balanced in this very rebalance and its own plan, without warm-ups; or None.

    The remembered plan is taken if it is balanced and allowed now, unless the found answer moves fewer actives (R11).
    """
    found = case.search_now()
    if found.placement is not None and not (case.keeps_limits(found.placement) and case.has_few_moves(found.placement)):
        found = Found(None)  # the plan decides
    answer, own = found.placement, case.problem.remembered_plan
    may_be_own = own is not None and case.reaches_target(own) and case.problem.keeps_r3_to_r5(own)
    if own is not None and may_be_own and case.bound_optimum(own) is not None:
        moves = [find_active_moves(case.problem, each.active).sum() for each in (answer, own) if each is not None]
        answer = own if moves[0] >= moves[-1] else answer
    bounds = None if answer is None else case.bound_optimum(answer)
    if answer is None or bounds is None:
        return None
    same = found.placement is not None and answer.same_as(found.placement)
    if same:
        answer = spread_ties(situation, answer)
    step = _as_own_plan(case, answer, Reason.FEASIBLE, found.found_by if same else FoundBy.REMEMBERED, bounds | found.bounds)
    return replace(step, limited=found.limited, proved_by={"now": found.proved_by})


def hold_still(situation: Situation, case: Case) -> Step:
    """Return the step of a paused group: the previous assignment, with only the changes that R1 to R5 force.

    The answer is its own plan, so no move is pending when the pause ends.
    """
    rest = keep_at_rest(situation, case)
    if rest is not None:
        return rest
    previous = situation.previous or _guess_previous(situation, case.problem)
    if situation.previous is not None and case.problem.keeps_r3_to_r5(previous):
        return _as_own_plan(case, previous, Reason.HELD)
    found = find_rebalance(case, previous, hold=True)
    return _as_own_plan(case, found.whole, Reason.HELD, found.found_by)


def _as_own_plan(
    case: Case, answer: Placement, reason: Reason, found_by: str = FoundBy.REMEMBERED, bounds: Mapping[str, int] | None = None
) -> Step:
    """Return the step to an answer that is its own plan; `bounds`: of goals other than restore work, which R3 to R5 fix."""
    now, followup = {RESTORE_WORK.name: case.problem.forced.forced_work, **(bounds or {})}, case.problem.lag_unknown
    return Step(answer, None, reason, found_by, case.is_balanced(answer), bounds={"now": now}, followup=followup)


def _guess_previous(situation: Situation, problem: Problem) -> Placement:
    """Return the known part of the previous assignment; the rebalance towards it adds the missing standbys (R5).

    A missing active is on the best of the task's standbys, otherwise on the best client with a column: of least rank, not
    draining, of least lag. Without columns it is as in greedy's plan.
    """
    C, client, active = problem.C, problem.col_client, situation.known.active
    worse = problem.col_lag, ~problem.staying[client], problem.col_rank, ~problem.col_standby
    order = np.lexsort((client, *worse, problem.col_task))
    task, first = np.unique(problem.col_task[order], return_index=True)
    best = np.full(problem.T, -1, dtype=np.int64)
    best[task] = client[order[first]]
    active = np.where(active < 0, best, active)
    if np.any(active < 0):
        active = np.where(active < 0, find_greedy_plan(problem, compute_shares(problem)).active, active)
    standbys = situation.known.standby_keys(C)
    return make_placement(active, standbys[standbys % C != active[standbys // C]], C)


def spread_ties(situation: Situation, placed: Placement) -> Placement:
    """Return the placement with lost tasks spread, and standbys spread for failover; every goal keeps its value.

    Configured goals and limits may distinguish such copies: the placement comes back unchanged then.
    """
    problem, requests = situation.problem, situation.requests
    tags = problem.data_of(TAG_SPREAD.name, tuple)
    alike = {TAG_SPREAD.name} if tags is not None and not any(map(np.ptp, tags)) else set()
    if set(requests.order.configured) - alike:
        return placed
    rates = situation.pace.rates()
    spread = spread_failover(problem, spread_lost(problem, placed, rates))
    spread = spread_lost(problem, spread, rates)  # standbys that stood in the way may have moved
    limits = requests.limits.placements
    return placed if set(map(id, list_broken(limits, spread))) - set(map(id, list_broken(limits, placed))) else spread


def take_step(situation: Situation, case: Case, target: Found, seconds: dict[str, float]) -> Step:
    """Return the step to a target: this rebalance, with warm-ups and offload."""
    with time_stage(seconds, "rebalance"):
        rebalanced, held = _rebalance(situation, case, target.whole)
    answer = rebalanced.whole
    step = Step(answer, target.placement, Reason.FEASIBLE, target.found_by, case.is_balanced(answer), limited=target.limited)
    proven = {"plan": target.bounds, "rebalance": rebalanced.bounds}
    proved_by = {"plan": target.proved_by, "rebalance": rebalanced.proved_by}
    step = replace(step, bounds=proven, proved_by=proved_by, notes=(OWNERS_HELD,) if held else ())
    bounds = case.bound_optimum(answer) if case.reaches_target(answer) else None
    if bounds is not None:
        # Balanced after all: probing stops, and this is the plan (KIP-441); the bounds were of another plan.
        own = _as_own_plan(case, answer, step.reason, bounds=bounds)
        return replace(step, plan=None, bounds=own.bounds, proved_by={"now": target.proved_by}, followup=own.followup)
    with time_stage(seconds, "warmups"):
        step = _warm_up(situation, case, step)
    if not held:
        with time_stage(seconds, "offload"):
            step = _offload(situation, case, step)
    return replace(step, is_over_share=case.shares.count_too_many(step.answer.active) > 0)


def _rebalance(situation: Situation, case: Case, plan: Placement) -> tuple[Found, bool]:
    """Return the answer on the way to the plan, and whether owners were held back from it.

    If no answer is remembered, this may be the second pass of an unknown answer. If other tasks moved now, a third and a fourth
    pass would follow. So owners keep the tasks that R3 lets them keep, and the next rebalance goes on.
    """
    free = _rebalance_with_few_moves(case, plan, hold=False)
    if not situation.unconfirmed:
        return free, False
    held = _rebalance_with_few_moves(case, plan, hold=True)
    if held.whole.same_as(free.whole):
        return free, False
    # Later bounds hold given the most copies on target, and owners held back may prevent some of these.
    bounds = {goal: bound for goal, bound in free.bounds.items() if goal == COPIES_ON_TARGET}
    return replace(held, bounds=bounds), True


def _rebalance_with_few_moves(case: Case, plan: Placement, *, hold: bool) -> Found:
    """Return the answer on the way to a plan, with at most as many moves as the limit allows, or R3 forces."""
    found = find_rebalance(case, plan, hold=hold)
    most = case.limits.most_moves
    if most is None:
        return found
    moved, free = case.find_moves(found.whole)
    if int(moved.sum()) <= most:
        return found
    tasks = np.flatnonzero(free)
    # Moves off draining clients come first, then to target actives, then of logged tasks, whose warm-ups have slots.
    problem = case.problem
    drains = problem.col_owner & problem.draining[problem.col_client]
    leaves = np.bincount(problem.col_task[drains], minlength=problem.T)[tasks] == 0
    off_target = plan.active[tasks] != found.whole.active[tasks]
    order = tasks[np.lexsort((tasks, ~problem.logged[tasks], off_target, leaves))]
    held = np.broadcast_to(hold, problem.T).copy()
    held[order[max(0, most - int((moved & ~free).sum())) :]] = True
    return replace(find_rebalance(case, plan, hold=held), bounds={})


def _warm_up(situation: Situation, case: Case, step: Step) -> Step:
    """Return the step with warm-up slots for planned copies that its answer does not hold, and with its follow-up."""
    plan, answer, problem = step.plan, step.answer, case.problem
    assert plan is not None
    C = problem.C
    progress = update_progress(situation)
    pace, limits = situation.pace, situation.requests.limits
    held = np.intersect1d(plan.copy_keys(C, problem.logged), answer.copy_keys(C, problem.logged), assume_unique=True)
    in_place = held[problem.rank_of(held) > 0]
    binding = [limit for limit in limits.placements if limit.counts_warmups and limit.is_kept(plan)]
    room = measure_room(binding, answer) if binding else None
    is_timed = pace.is_timed and LOAD.name not in case.method.order.names
    restoring = Restoring(situation.under_way, progress, pace.rates(), is_timed)
    keys, served = queue_warmups(problem, case.shares, plan, answer, restoring, room)
    kept_back = False
    notes: tuple[str, ...] = ()
    if room is not None:
        is_restoring = bool(np.any(progress.find(in_place)[0] < PATIENCE))
        keys, served, over_limit, without_room = admit(problem, keys, served, room, restoring, is_restoring=is_restoring)
        kept_back, notes = len(without_room) > 0, _note_room(situation, binding, over_limit, without_room)
    assigned = np.concatenate([keys[:served], in_place])
    waiting = np.concatenate([assigned, keys[served:]])
    idle, _ = progress.find(waiting)
    # Given up: every copy had its turn in vain. Stalled too: some copy is idle, and no copy has come nearer for as many looks.
    given_up = bool(len(waiting)) and bool(np.all(idle >= PATIENCE))
    stalled = given_up or (bool(np.any(idle >= PATIENCE)) and pace.looks >= PATIENCE)
    # Kept for the next answer: copies that restore now, and queued copies that were idle for `PATIENCE` answers.
    keep = np.sort(waiting[np.isin(waiting, assigned) | (idle >= PATIENCE)])
    warmups = Warmups(
        keys=np.sort(keys[:served]),
        waiting=waiting,
        is_queue_left=served < len(keys),
        waits_for_room=kept_back,
        stalled=stalled,
        progress=Progress(keep, problem.lag_of(keep), *progress.find(keep)),
    )
    followup = (not answer.same_as(plan) and not given_up) or problem.lag_unknown
    return replace(step, warmups=warmups, followup=followup, notes=(*step.notes, *notes))


def _note_room(
    situation: Situation, limits: Sequence[PlacementLimit], over_limit: IntArray, kept_back: IntArray
) -> tuple[str, ...]:
    """Return notes on copies beyond a limit on state and on copies that wait for room (docs/reference/rules.md, "Limits")."""
    C, words, notes = situation.problem.C, situation.requests.limits.words or {}, []

    def name_limits(keys: IntArray) -> str:
        return " and ".join(words[limit.name] for limit in limits if limit.clients[keys % C].any())

    for key in over_limit.tolist():
        copy = f"{situation.inventory.tasks[key // C]} on {situation.inventory.clients[key % C]}"
        why = "nothing else brings the group nearer to its plan"
        notes.append(f"a warm-up goes beyond a limit: {copy}, {why}: {name_limits(over_limit)}")
    if len(kept_back):
        copies = f"{len(kept_back):,} until others have left their clients"
        notes.append(f"warm-ups wait for room: {copies}: {name_limits(kept_back)}")
    return tuple(notes)


def _offload(situation: Situation, case: Case, step: Step) -> Step:
    """Return the step with temporary offload, if it reduces imbalance for long enough to be worth the moves."""
    plan, answer = step.plan, step.answer
    assert plan is not None
    # Under goal load tasks count by their weight, not by their number.
    if LOAD.name in case.method.order.names or not step.followup or case.target is not case.shares:
        return step
    to_balance_ms = estimate_to_balance(case.problem, situation.pace, step)
    if to_balance_ms is None:
        return step
    options = find_offload_options(case.problem, case.shares, plan, answer, to_balance_ms // 1000, situation.requests.offload)
    value = options.evaluate(answer.active)
    bound: int | None = options.bound_moves()
    bounds = step.bounds["rebalance"]
    if value != bound:
        if case.method.find_offload is None:
            return step
        active, bound = case.method.find_offload(restrict_offload(options, case.limits.placements))
        before, after = (int(find_active_moves(case.problem, each).sum()) for each in (answer.active, active))
        if case.limits.most_moves is not None and after > max(case.limits.most_moves, before):
            active, bound = answer.active, None  # the limit on moves leaves none for offload
        if options.evaluate(active) < value:
            answer = swap_roles(answer, active, case.problem.logged, case.problem.C)
            bounds = {}  # bounds of the later goals were of the answer without offload
    if bound is not None:
        bounds = {**bounds, OFFLOAD: bound}
    return replace(
        step,
        answer=answer,
        balanced=case.is_balanced(answer),
        to_balance_ms=to_balance_ms,
        bounds={**step.bounds, "rebalance": bounds},
    )


def update_progress(situation: Situation) -> Progress:
    """Return the remembered progress at the lags of this snapshot; a copy whose lag has not fallen is idle once more."""
    problem, memory, pace = situation.problem, situation.memory, situation.pace
    before = memory.progress
    lag = problem.lag_of(before.keys)
    tried = np.isin(before.keys, memory.assigned)
    fell = lag < before.lag
    caught_up = problem.rank_of(before.keys) == 0
    more = np.minimum(before.idle, PATIENCE) + 1
    # If times are unknown, tasks in transit show that the last answer is recent: no copy can have been restored since.
    counts = pace.counts_idle and not (pace.taken_at is None and memory.in_transit.any())
    idle = np.where(fell | caught_up, 0, np.where(tried & counts, more, before.idle))
    return Progress(before.keys, lag, idle, np.where(tried, before.under_way_ms + max(0, pace.elapsed_ms or 0), 0))
