"""A paused group: the assignment before, changed only where R1 to R5 force it, without plan, warm-ups and follow-ups."""

from __future__ import annotations

import numpy as np

from optassign.solving.arrays import Arrays
from optassign.solving.case import Case
from optassign.solving.methods.method import Method
from optassign.solving.standing import keep_at_rest
from optassign.solving.step import Proofs, Reason, Step
from optassign_models.goals import restore_work
from optassign_models.problem import IntArray, Placement, Problem, make_placement
from optassign_models.results import FoundBy


def hold_still(arrays: Arrays, case: Case, method: Method) -> Step:
    """Find the answer nearest to the assignment before; rest, if no other change is wanted (R7).

    It is its own plan, so that nothing is on its way when the hold has passed.
    """
    rest = keep_at_rest(arrays, case, method)
    if rest is not None:
        return rest
    problem = case.problem
    wanted = arrays.previous if arrays.previous is not None else _complete(arrays, problem)
    if case.keeps_r3_to_r5(wanted):
        answer, found_by = wanted, FoundBy.REMEMBERED
    else:
        answer, found_by = method.find_rebalance(case, wanted, hold=True).answer, FoundBy.FLOW
    return Step(
        answer=answer,
        plan=None,
        reason=Reason.HELD,
        found_by=found_by,
        is_remembered=True,
        balanced=case.is_balanced(answer),
        proofs=Proofs({"now": {restore_work.GOAL.name: case.forced.forced_work}}),
        followup=problem.lag_unknown,
    )


def _complete(arrays: Arrays, problem: Problem) -> Placement:
    """Complete the known part of the assignment before: each missing copy goes to the client that lags least, among equals to
    the one that has fewest copies per thread."""
    C, T = problem.C, problem.T
    active, standbys = _list_known(arrays, problem)
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


def _list_known(arrays: Arrays, problem: Problem) -> tuple[IntArray, IntArray]:
    """(T,) clients that ran the tasks, or −1, and the keys of the clients with standbys, by task, then by lag."""
    C = problem.C
    active = np.where(arrays.in_transit, arrays.remembered_active, -1)
    owned = np.flatnonzero(problem.col_owner)[::-1]  # the last written is the least client
    active[problem.col_task[owned]] = problem.col_client[owned]
    remembered = arrays.remembered_active
    claims = problem.flag_of(np.arange(problem.T) * C + np.maximum(remembered, 0), problem.col_owner) & (remembered >= 0)
    active = np.where(claims, remembered, active)
    standby = problem.logged[problem.col_task] & problem.col_standby & (active[problem.col_task] != problem.col_client)
    at = np.flatnonzero(standby)
    at = at[np.lexsort((problem.col_client[at], problem.col_lag[at], problem.col_task[at]))]
    return active, problem.col_keys[at]
