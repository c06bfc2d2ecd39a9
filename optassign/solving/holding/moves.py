"""A limit on the active moves of one rebalance: R3 may force more, and what it does not force waits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optassign.solving.case import Case
from optassign.solving.methods.method import Method
from optassign_models.offload import OffloadOptions
from optassign_models.problem import BoolArray, IntArray, Placement, Problem
from optassign_models.results import Rebalanced


def has_few_moves(case: Case, answer: Placement) -> bool:
    """Whether an answer keeps the limit, or makes no move that R3 does not force."""
    if case.limits.most_moves is None:
        return True
    moved, free = _find_moves(case, answer)
    return int(moved.sum()) <= case.limits.most_moves or not free.any()


def rebalance_with_few_moves(case: Case, method: Method, plan: Placement, *, hold: bool) -> Rebalanced:
    """Find the answer on the way to a plan, with as many moves as the limit allows, and the moves that R3 forces."""
    found = method.find_rebalance(case, plan, hold=hold)
    most = case.limits.most_moves
    if most is None:
        return found
    moved, free = _find_moves(case, found.answer)
    if int(moved.sum()) <= most:
        return found
    tasks = np.flatnonzero(free)
    # First what leaves a client that drains, then what is planned there, then in order.
    leaves = ~_is_owned_by(case.problem, case.problem.draining)[tasks]
    order = tasks[np.lexsort((tasks, plan.active[tasks] != found.answer.active[tasks], leaves))]
    held = np.broadcast_to(hold, case.problem.T).copy()
    held[order[max(0, most - int((moved & ~free).sum())) :]] = True
    return replace(method.find_rebalance(case, plan, hold=held), bounds={})


def allows_offload(case: Case, options: OffloadOptions, active: IntArray) -> bool:
    """Whether temporary offload to these actives (T,) keeps the limit, or adds nothing to what R3 forces beyond it."""
    most = case.limits.most_moves
    if most is None:
        return True
    forced = int(_find_moved(case.problem, options.start).sum())
    return int(_find_moved(case.problem, active).sum()) <= max(most, forced)


def _find_moves(case: Case, answer: Placement) -> tuple[BoolArray, BoolArray]:
    """(T,) owned tasks that become active on none of their owners, and of these the ones that an owner may keep."""
    problem = case.problem
    moved = _find_moved(problem, answer.active)
    may = np.bincount(problem.col_task[problem.col_owner & case.forced.leading], minlength=problem.T) > 0
    return moved, moved & may


def _find_moved(problem: Problem, active: IntArray) -> BoolArray:
    """(T,) owned tasks that become active (T,) on none of their owners."""
    keys = np.arange(problem.T) * problem.C + active
    return problem.has_owner & ~problem.flag_of(keys, problem.col_owner)


def _is_owned_by(problem: Problem, clients: BoolArray) -> BoolArray:
    """(T,) tasks that one of the clients owns."""
    return np.bincount(problem.col_task[problem.col_owner & clients[problem.col_client]], minlength=problem.T) > 0
