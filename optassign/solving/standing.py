"""Answers that need no plan, as they are their own or stand.

A second pass confirms the remembered answer (R10), a group at rest keeps what it has (R7), a paused group changes only what
R1 to R5 force, and some groups can be balanced in this very rebalance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from optassign.solving.case import Case
from optassign.solving.methods.method import Method
from optassign.solving.situation.situation import Situation
from optassign.solving.step import Note, Proofs, Reason, Step, Warmups
from optassign_models.goals.caught_up import RESTORE_WORK
from optassign_models.goals.load import LOAD
from optassign_models.goals.moves import count_active_moves
from optassign_models.goals.tags import TAG_SPREAD, Tags
from optassign_models.limits import list_broken
from optassign_models.policy.constants import REBALANCE_MS
from optassign_models.problem import IntArray, Placement, Problem, make_placement
from optassign_models.results import Found, FoundBy
from optassign_models.shares import count_copies
from optassign_models.ties import spread_failover, spread_lost


def confirm_second_pass(situation: Situation, case: Case, method: Method) -> Step | None:
    """The remembered answer while its tasks are on their way, wherever it still keeps the rules; otherwise None."""
    memory, problem, warmups = situation.memory, case.problem, situation.under_way
    remembered = memory.answer
    if remembered is None or not memory.same_clients:
        return None
    if not memory.in_transit.any() and not _is_still_held(situation, case):
        return None
    if _goes_on(situation, case, method):
        return None
    if (
        memory.plan is None
        or not case.keeps_r3_to_r5(remembered)
        or len(warmups) > problem.max_warmups
        or not problem.logged[warmups // problem.C].all()
        or np.isin(warmups, remembered.copy_keys(problem.C, problem.logged)).any()
    ):
        return None
    settled = case.reaches_target(remembered) and method.is_optimum(case, remembered)
    has_plan = not settled and not situation.requests.forgets_plan
    return Step(
        answer=remembered,
        plan=memory.plan if has_plan and memory.plan_differs else None,
        warmups=Warmups(warmups if has_plan else warmups[:0], progress=memory.progress),
        reason=Reason.CONFIRMED,
        found_by=FoundBy.REMEMBERED,
        is_remembered=True,
        balanced=case.is_balanced(remembered),
        followup=problem.lag_unknown,
        probing=not settled,
        to_balance_ms=memory.report.to_balance_ms,
    )


def _goes_on(situation: Situation, case: Case, method: Method) -> bool:
    """Whether half of the warm-ups have caught up since the last answer: their tasks, and the next ones in line, need not wait
    for another rebalance. Fewer are left to the follow-up: a task that moves makes one more pass. So are all where weights
    drift: the plan could be another by now, while tasks are on their way to this one."""
    if LOAD.name in method.order.names:
        return False
    progress, problem, pace = situation.memory.progress, case.problem, situation.pace
    under_way = np.isin(progress.keys, situation.under_way) & (progress.lag > problem.acceptable_lag)
    done = problem.rank_of(progress.keys[under_way]) == 0
    return pace.is_timed and bool(done.any()) and 2 * int(done.sum()) >= len(done)


def _is_still_held(situation: Situation, case: Case) -> bool:
    """Whether the last answer held owners back and no copy that it waits for has come nearer: then it stands, once.

    The follow-up comes after a second at the soonest. By then passes are over, and the group goes on.
    """
    progress, elapsed = situation.memory.progress, situation.pace.elapsed_ms
    if (
        Note.HELD not in situation.memory.report.notes
        or not len(progress.keys)
        or (elapsed is not None and elapsed >= REBALANCE_MS)
    ):
        return False
    return not np.any(case.problem.lag_of(progress.keys) < progress.lag)


def keep_at_rest(situation: Situation, case: Case, method: Method) -> Step | None:
    """The assignment before, if no goal can be improved; otherwise None."""
    previous, problem, memory = situation.previous, case.problem, situation.memory
    if previous is None or problem.lag_unknown:
        return None
    held = count_copies(problem, previous)
    if np.any(problem.draining & (held.active + held.copies > 0)) or not case.keeps_r3_to_r5(previous):
        return None
    on_its_way = memory.plan_differs and memory.plan is not None
    is_good = case.reaches_target(previous) or (not on_its_way and method.is_not_worth_moving(case, previous))
    if not is_good or not method.is_optimum(case, previous):
        return None
    return _as_own_plan(case, previous, Reason.REST, bounds=method.bound_configured(case, previous))


def answer_at_once(situation: Situation, case: Case, method: Method) -> Step | None:
    """An answer that is balanced in this very rebalance and its own plan, without warm-ups; None where none was found.

    The remembered plan is taken where it is balanced and allowed now, unless the one found moves fewer actives (R11).
    """
    found = method.find_balanced_now(case)
    if found.placement is not None and not (case.keeps_limits(found.placement) and case.has_few_moves(found.placement)):
        found = Found(None)  # the plan decides
    answer, own = found.placement, case.problem.remembered_plan
    if own is not None and case.reaches_target(own) and case.keeps_r3_to_r5(own) and method.is_optimum(case, own):
        moves = [count_active_moves(case.problem, each) for each in (answer, own) if each is not None]
        answer = own if moves[0] >= moves[-1] else answer
    if answer is None or not method.is_optimum(case, answer):
        return None
    same = found.placement is not None and answer.same_as(found.placement)
    if same:
        answer = spread_ties(situation, answer)
    step = _as_own_plan(case, answer, Reason.FEASIBLE, found.found_by if same else FoundBy.REMEMBERED, found.bounds)
    return replace(step, limited=found.limited)


def hold_still(situation: Situation, case: Case, method: Method) -> Step:
    """Find the answer nearest to the assignment before; rest, if no other change is wanted (R7).

    It is its own plan, so that nothing is on its way when the hold has passed.
    """
    rest = keep_at_rest(situation, case, method)
    if rest is not None:
        return rest
    problem = case.problem
    wanted = situation.previous if situation.previous is not None else _complete(situation, problem)
    if case.keeps_r3_to_r5(wanted):
        return _as_own_plan(case, wanted, Reason.HELD)
    return _as_own_plan(case, method.find_rebalance(case, wanted, hold=True).whole, Reason.HELD, FoundBy.FLOW)


def _as_own_plan(
    case: Case, answer: Placement, reason: Reason, found_by: str = FoundBy.REMEMBERED, bounds: Mapping[str, int] | None = None
) -> Step:
    """The step by an answer that is its own plan; `bounds` of goals in addition to restore work, which R3 to R5 fix."""
    return Step(
        answer=answer,
        plan=None,
        reason=reason,
        found_by=found_by,
        balanced=case.is_balanced(answer),
        proofs=Proofs({"now": {RESTORE_WORK.name: case.forced.forced_work, **(bounds or {})}}),
        is_remembered=reason is not Reason.FEASIBLE,
        followup=case.problem.lag_unknown,
    )


def _complete(situation: Situation, problem: Problem) -> Placement:
    """Complete the known part of the assignment before: each missing copy goes to the client that lags least, among equals to
    the one that has fewest copies per thread."""
    C, T = problem.C, problem.T
    active, standbys = _list_known(situation, problem)
    held = np.bincount(active[active >= 0], minlength=C) + np.bincount(standbys % C, minlength=C)
    by_task: list[list[int]] = [[] for _ in range(T)]
    for key in standbys.tolist():
        by_task[key // C].append(key % C)
    clients = np.arange(C)
    staying = ~problem.draining if not problem.draining.all() else np.ones(C, dtype=np.bool_)
    for task in range(T):
        need = problem.standbys if problem.logged[task] else 0
        mine = by_task[task][: need + (active[task] < 0)]
        if active[task] >= 0 and len(mine) == need:
            by_task[task] = mine
            continue
        rank, lag = problem.rank_of(task * C + clients), problem.lag_of(task * C + clients)
        order = np.lexsort((clients, held / problem.units, lag, ~staying, rank)).tolist()
        if active[task] < 0:
            active[task] = min(mine, key=order.index) if mine else order[0]
            held[active[task]] += not mine
            mine = [client for client in mine if client != active[task]]
        for client in [client for client in order if client != active[task] and client not in mine][: need - len(mine)]:
            mine.append(client)
            held[client] += 1
        by_task[task] = mine
    keys = [task * C + client for task, mine in enumerate(by_task) for client in mine]
    return make_placement(active, np.array(keys, dtype=np.int64), C)


def _list_known(situation: Situation, problem: Problem) -> tuple[IntArray, IntArray]:
    """(T,) clients that ran the tasks, or −1, and the keys of the clients with standbys, by task, then by lag."""
    C = problem.C
    remembered = situation.memory.active_client
    active = np.where(situation.memory.in_transit, remembered, -1)
    owned = np.flatnonzero(problem.col_owner)[::-1]  # the last written is the least client
    active[problem.col_task[owned]] = problem.col_client[owned]
    claims = problem.flag_of(np.arange(problem.T) * C + np.maximum(remembered, 0), problem.col_owner) & (remembered >= 0)
    active = np.where(claims, remembered, active)
    standby = problem.logged[problem.col_task] & problem.col_standby & (active[problem.col_task] != problem.col_client)
    at = np.flatnonzero(standby)
    at = at[np.lexsort((problem.col_client[at], problem.col_lag[at], problem.col_task[at]))]
    return active, problem.col_keys[at]


def spread_ties(situation: Situation, placed: Placement) -> Placement:
    """The same to every goal, but for lost tasks and for what goes on where after a death. Configured goals tell copies apart
    that are alike otherwise: under these nothing changes, nor where a limit would be broken."""
    problem, requests = situation.problem, situation.requests
    tags = problem.data_of(TAG_SPREAD.name, Tags)
    alike = set() if tags is None or tags.tell_apart else {TAG_SPREAD.name}
    if set(requests.order.configured) - alike:
        return placed
    spread = spread_failover(problem, spread_lost(problem, placed, situation.pace.rates()))
    limits = requests.limits.placements
    return placed if set(map(id, list_broken(limits, spread))) - set(map(id, list_broken(limits, placed))) else spread
