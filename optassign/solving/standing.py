"""Answers that stand: a second pass confirms the remembered answer (R10), a group at rest keeps what it has (R7)."""

from __future__ import annotations

import numpy as np

from optassign.solving.arrays import Arrays
from optassign.solving.case import Case
from optassign.solving.holding.moves import has_few_moves
from optassign.solving.methods.method import Method
from optassign.solving.step import Note, Proofs, Reason, Step, Warmups
from optassign_models.goals import load, restore_work
from optassign_models.policy import followups
from optassign_models.problem import Placement
from optassign_models.results import FoundBy
from optassign_models.shares import count_copies


def is_optimum(case: Case, method: Method, answer: Placement) -> bool:
    """Whether an assignment keeps the limits and is at the optimum of goals (a), so that probing may stop."""
    is_kept = case.keeps_limits(answer) and has_few_moves(case, answer)
    return is_kept and method.is_configured_optimum(case, answer)


def confirm_second_pass(arrays: Arrays, case: Case, method: Method) -> Step | None:
    """The remembered answer while its tasks are on their way, wherever it still keeps the rules; otherwise None."""
    remembered, problem, warmups = arrays.remembered, case.problem, arrays.under_way
    if remembered is None or not arrays.same_clients:
        return None
    if not arrays.in_transit.any() and not _is_still_held(arrays, case):
        return None
    if _goes_on(arrays, case, method):
        return None
    if (
        arrays.remembered_plan_lost
        or not case.keeps_r3_to_r5(remembered)
        or len(warmups) > problem.max_warmups
        or not problem.logged[warmups // problem.C].all()
        or np.isin(warmups, remembered.copy_keys(problem.C, problem.logged)).any()
    ):
        return None
    settled = case.reaches_target(remembered) and is_optimum(case, method, remembered)
    has_plan = not settled and not arrays.forgets_plan
    return Step(
        answer=remembered,
        plan=arrays.remembered_own_plan if has_plan else None,
        warmups=Warmups(warmups if has_plan else warmups[:0], progress=arrays.progress),
        reason=Reason.CONFIRMED,
        found_by=FoundBy.REMEMBERED,
        is_remembered=True,
        balanced=case.is_balanced(remembered),
        followup=problem.lag_unknown,
        probing=not settled,
    )


def _goes_on(arrays: Arrays, case: Case, method: Method) -> bool:
    """Whether half of the warm-ups have caught up since the last answer: their tasks, and the next ones in line, need not wait
    for another rebalance. Fewer are left to the follow-up: a task that moves makes one more pass. So are all where weights
    drift: the plan could be another by now, while tasks are on their way to this one."""
    if load.NAME in method.order.names:
        return False
    progress, problem = arrays.progress, case.problem
    under_way = np.isin(progress.keys, arrays.under_way) & (progress.lag > problem.acceptable_lag)
    done = problem.rank_of(progress.keys[under_way]) == 0
    return arrays.pace.is_timed and bool(done.any()) and 2 * int(done.sum()) >= len(done)


def _is_still_held(arrays: Arrays, case: Case) -> bool:
    """Whether the last answer held owners back and no copy that it waits for has come nearer: then it stands, once.

    The follow-up comes after a second at the soonest. By then passes are over, and the group goes on.
    """
    progress, elapsed = arrays.progress, arrays.pace.elapsed_ms
    if (
        Note.HELD not in arrays.remembered_notes
        or not len(progress.keys)
        or (elapsed is not None and elapsed >= followups.REBALANCE_MS)
    ):
        return False
    return not np.any(case.problem.lag_of(progress.keys) < progress.lag)


def keep_at_rest(arrays: Arrays, case: Case, method: Method) -> Step | None:
    """The assignment before, if no goal can be improved; otherwise None."""
    previous, problem = arrays.previous, case.problem
    if previous is None or problem.lag_unknown:
        return None
    held = count_copies(problem, previous)
    if np.any(problem.draining & (held.active + held.copies > 0)) or not case.keeps_r3_to_r5(previous):
        return None
    on_its_way = arrays.remembered_own_plan is not None
    is_good = case.reaches_target(previous) or (not on_its_way and method.is_not_worth_moving(case, previous))
    if not is_good or not is_optimum(case, method, previous):
        return None
    return Step(
        answer=previous,
        plan=None,
        reason=Reason.REST,
        found_by=FoundBy.REMEMBERED,
        is_remembered=True,
        balanced=case.is_balanced(previous),
        proofs=Proofs({"now": {restore_work.GOAL.name: case.forced.forced_work, **method.bound_configured(case, previous)}}),
    )
