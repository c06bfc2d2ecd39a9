"""This rebalance, given the plan: goals (i) and (ii) task by task, then one flow for (iii) and (iv).

R3 to R5 speak of one task at a time, and so do "most copies where the plan wants them" and "least restore work elsewhere".
For one task the optimum is plain to see:

* where the planned active may be active now, it is (any other choice loses it and gains no standby);
* else the active is a most-caught-up client that the plan does not want as a standby, if there is one;
* tied places go first to planned standbys, then to the planned active (it restores there at no extra cost), then to the
  standbys of before, then by lag and id.

Every active that this leaves open is equal in (i) and (ii), so excess and moves are one flow over them. `rebalance.py`
states the same as a CP-SAT model; the tests hold both against plain enumeration.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optassign.models.forced import Forced, exact_sum, prepare
from optassign.models.problem import BoolArray, IntArray, Placement, Problem, make_placement
from optassign.models.results import Actives, Rebalanced
from optassign.models.windows import Windows

PLANNED_COPIES, OFF_PLAN_RESTORE_WORK = "planned_copies", "off_plan_restore_work"
REBALANCE_GOALS = (PLANNED_COPIES, OFF_PLAN_RESTORE_WORK, "active_excess", "active_moves")
"""Goals (i) to (iv) in their order."""

ChooseActives = Callable[[Problem, Windows, BoolArray, BoolArray], Actives | None]


def rebalance(problem: Problem, windows: Windows, plan: Placement, choose: ChooseActives, hold: bool = False) -> Rebalanced:
    """The answer that keeps R1–R5 and is best in goals (i) to (iv); `choose` picks among the actives left open
    (`find_least_excess_actives`, or the greedy one). `hold`: owners that may keep their tasks do, whatever the plan wants."""
    C, T = problem.C, problem.T
    logged = np.flatnonzero(problem.logged)
    standby_keys = plan.standby_keys(C)
    problem, forced = prepare(problem.with_columns(np.concatenate([np.arange(T) * C + plan.active, standby_keys])))
    planned_active = plan.active[problem.col_task] == problem.col_client
    planned_standby = np.isin(problem.col_keys, standby_keys)

    open_actives = _open_actives(problem, forced, planned_active, planned_standby)
    if hold:
        owners = problem.col_owner & forced.leading
        open_actives &= owners | (np.bincount(problem.col_task[owners], minlength=T) == 0)[problem.col_task]
        open_actives |= owners
    chosen = choose(problem, windows, open_actives, np.zeros(T, dtype=np.bool_))
    if chosen is None or chosen.active is None:
        raise ValueError("every task has a most-caught-up client, so an active can always be chosen")
    active_column = np.zeros(len(problem.col_task), dtype=np.bool_)
    active_column[problem.find(np.arange(T) * C + chosen.active)] = True

    slots = forced.choices.copy()
    np.subtract.at(slots, problem.col_task[active_column & forced.tied], 1)
    taken = _best_tied(problem, forced.tied & ~active_column, slots, planned_active, planned_standby)
    np.subtract.at(slots, problem.col_task[taken], 1)
    keys = problem.col_keys[(taken | (forced.mandatory & ~active_column)) & problem.logged[problem.col_task]]
    keys = np.concatenate([keys, _from_pools(problem, slots, chosen.active, keys)])
    answer = make_placement(chosen.active, keys, C)
    values = rebalance_values(problem, answer, plan)
    bounds = dict(values)
    bounds.update(zip(REBALANCE_GOALS[2:], chosen.bounds, strict=False))
    if not _ties_cost_alike(problem, forced):
        # Which of them leads then matters to (ii), and the actives were left open without regard to that.
        bounds = {PLANNED_COPIES: values[PLANNED_COPIES]}
    assert len(answer.standby_task) == problem.standbys * len(logged)
    return Rebalanced(answer, bounds)


def rebalance_values(problem: Problem, answer: Placement, plan: Placement) -> dict[str, int]:
    """Goals (i) and (ii) of an answer."""
    C = problem.C
    mine, planned = answer.standby_keys(C), plan.standby_keys(C)
    anywhere = np.union1d(planned, plan.copy_keys(C, problem.logged))
    off = np.setdiff1d(answer.copy_keys(C, problem.logged), anywhere)
    return {
        PLANNED_COPIES: int(np.sum(answer.active == plan.active)) + len(np.intersect1d(mine, planned)),
        OFF_PLAN_RESTORE_WORK: exact_sum(problem.cost_of(off)),
    }


def _open_actives(problem: Problem, forced: Forced, planned_active: BoolArray, planned_standby: BoolArray) -> BoolArray:
    """(A,) the actives among which (i) and (ii) do not tell."""
    task, T = problem.col_task, problem.T
    leads = forced.leading & problem.logged[task]
    keeps = np.bincount(task[planned_active & forced.leading], minlength=T) > 0
    spare = np.bincount(task[leads & ~planned_standby], minlength=T) > 0
    other = leads & ~keeps[task] & (~planned_standby | ~spare[task])
    return (planned_active & forced.leading) | other


def _ties_cost_alike(problem: Problem, forced: Forced) -> bool:
    """Whether all tied clients of a task cost the same. They do, but for lags of 1 or 2 beside unknown ones (forced.py)."""
    task, cost = problem.col_task[forced.tied], problem.col_cost[forced.tied]
    least = np.where(forced.pool_tied, problem.pool_cost, np.iinfo(np.int64).max)
    most = np.where(forced.pool_tied, problem.pool_cost, 0)
    np.minimum.at(least, task, cost)
    np.maximum.at(most, task, cost)
    return bool(np.all(most <= least))


def _best_tied(
    problem: Problem, tied: BoolArray, slots: IntArray, planned_active: BoolArray, planned_standby: BoolArray
) -> BoolArray:
    """(A,) the tied columns that get the slots of their tasks."""
    at = np.flatnonzero(tied)
    wanted = np.where(planned_standby[at], 0, np.where(planned_active[at], 1, 2))
    order = at[
        np.lexsort(
            (
                problem.col_client[at],
                problem.col_lag[at],
                ~problem.col_standby[at],
                problem.col_cost[at],
                wanted,
                problem.col_task[at],
            )
        )
    ]
    task = problem.col_task[order]
    start = np.searchsorted(task, task)
    taken = np.zeros(len(tied), dtype=np.bool_)
    taken[order[np.arange(len(order)) - start < slots[task]]] = True
    return taken


def _from_pools(problem: Problem, slots: IntArray, active: IntArray, keys: IntArray) -> IntArray:
    """Slots that no column fills go to the clients with the fewest copies; rare, since plans fill their ties first."""
    C = problem.C
    load = np.bincount(keys % C, minlength=C) + np.bincount(active[problem.logged], minlength=C)
    given: list[int] = []
    for task in np.flatnonzero(slots > 0).tolist():
        inside = np.ones(C, dtype=np.bool_)
        inside[problem.col_client[problem.col_start[task] : problem.col_start[task + 1]]] = False
        pool = np.flatnonzero(inside)
        picked = pool[np.argsort(load[pool], kind="stable")[: slots[task]]]
        load[picked] += 1
        given.extend((task * C + picked).tolist())
    return np.array(given, dtype=np.int64)
