"""This rebalance, given the plan: goals (i) to (iv) task by task, then one flow for (v).

R3 to R5 speak of one task at a time, and so do all goals but the imbalance. For one task the optimum is plain to see:

* tied places go to clients of the plan first, whatever their role there: as many copies are then where the plan wants one
  as can be, and as little is restored elsewhere;
* which of the most-caught-up clients is active makes no difference to that. The planned active is, if it is one of them;
  otherwise an owner, if one of them is; otherwise any.

Every active that this leaves open is equal in (i) to (iv), so the imbalance is one flow over them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optassign_models.forced import Forced, exact_sum, prepare
from optassign_models.goals.default_order import count_active_moves
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement, rank_within
from optassign_models.results import Found
from optassign_models.shares import ShareFamilies

REBALANCE_GOALS = ("copies_on_target", "restore_work_off_target", "actives_on_target", "active_moves", "active_imbalance")
"""Goals (i) to (v) in their order."""
COPIES_ON_TARGET, RESTORE_WORK_OFF_TARGET, ACTIVES_ON_TARGET, ACTIVE_MOVES, ACTIVE_IMBALANCE = REBALANCE_GOALS

ChooseActives = Callable[[Problem, ShareFamilies, BoolArray], tuple[IntArray, int | None]]
"""Returns the actives (T,), each on one of the columns (A,), and a bound of their imbalance; None: then no goal has a bound."""


def rebalance(
    problem: Problem, shares: ShareFamilies, plan: Placement, choose: ChooseActives, hold: bool | BoolArray = False
) -> Found:
    """Return the answer that keeps R1–R5 and is best in goals (i) to (v).

    `choose` picks among the actives left open. `hold`: owners that may keep their tasks do, of all or of these tasks (T,).
    """
    C, T = problem.C, problem.T
    standby_keys = plan.standby_keys(C)
    problem, forced = prepare(problem.with_columns(np.concatenate([np.arange(T) * C + plan.active, standby_keys])))
    planned_active = plan.active[problem.col_task] == problem.col_client
    planned_standby = np.isin(problem.col_keys, standby_keys, assume_unique=True)

    # Goals (i) to (iv) do not tell among these: under any leader (i) and (ii) can be the same. Either all leaders must hold
    # copies anyway, or all copies are on tied clients. Then a leader that the plan does not want takes a place that no client
    # of the plan could fill.
    open_actives = _narrow(problem, forced.leading, forced.leading & problem.col_owner)
    open_actives = _narrow(problem, open_actives, forced.leading & planned_active)
    if np.any(hold):
        is_held = np.broadcast_to(hold, T)[problem.col_task]
        open_actives = _narrow(problem, open_actives, problem.col_owner & forced.leading & is_held)
    active, least_imbalance = choose(problem, shares, open_actives)
    active_column = np.zeros(len(problem.col_task), dtype=np.bool_)
    active_column[problem.find(np.arange(T) * C + active)] = True

    slots = forced.choices.copy()
    np.subtract.at(slots, problem.col_task[active_column & forced.tied], 1)
    taken = _best_tied(problem, forced.tied & ~active_column, slots, planned_active, planned_standby)
    np.subtract.at(slots, problem.col_task[taken], 1)
    keys = problem.col_keys[(taken | (forced.mandatory & ~active_column)) & problem.logged[problem.col_task]]
    keys = np.concatenate([keys, _from_pools(problem, slots, active, keys)])
    answer = make_placement(active, keys, C)
    assert len(answer.standby_task) == problem.standbys * int(problem.logged.sum())
    if least_imbalance is None:
        return Found(answer)
    bounds = {**rebalance_values(problem, answer, plan), ACTIVE_IMBALANCE: least_imbalance}
    if not _ties_cost_alike(problem, forced):
        # Which of them leads then matters to (ii), and the actives were left open without regard to that.
        bounds = {COPIES_ON_TARGET: bounds[COPIES_ON_TARGET]}
    return Found(answer, bounds=bounds)


def rebalance_values(problem: Problem, answer: Placement, plan: Placement) -> dict[str, int]:
    """Return goals (i) to (iv) of an answer → value."""
    C, unlogged = problem.C, ~problem.logged
    mine, planned = answer.copy_keys(C, problem.logged), plan.copy_keys(C, problem.logged)
    led_by_plan = answer.active == plan.active
    return {
        COPIES_ON_TARGET: len(np.intersect1d(mine, planned, assume_unique=True)) + int(np.sum(led_by_plan & unlogged)),
        RESTORE_WORK_OFF_TARGET: exact_sum(problem.cost_of(np.setdiff1d(mine, planned, assume_unique=True))),
        ACTIVES_ON_TARGET: int(np.sum(led_by_plan)),
        ACTIVE_MOVES: count_active_moves(problem, answer),
    }


def _narrow(problem: Problem, actives: BoolArray, better: BoolArray) -> BoolArray:
    """Return (A,) the better ones of each task, if it has any; otherwise its present ones."""
    has_better = np.bincount(problem.col_task[better], minlength=problem.T) > 0
    return better | (actives & ~has_better[problem.col_task])


def _ties_cost_alike(problem: Problem, forced: Forced) -> bool:
    """Return whether all tied clients of each task cost the same.

    They do, except for lags of 1 or 2 next to unknown ones (forced.py).
    """
    task, cost = problem.col_task[forced.tied], problem.col_cost[forced.tied]
    least = np.where(forced.pool_tied, problem.pool_cost, np.iinfo(np.int64).max)
    most = np.where(forced.pool_tied, problem.pool_cost, 0)
    np.minimum.at(least, task, cost)
    np.maximum.at(most, task, cost)
    return bool(np.all(most <= least))


def _best_tied(
    problem: Problem, tied: BoolArray, slots: IntArray, planned_active: BoolArray, planned_standby: BoolArray
) -> BoolArray:
    """Return (A,) the tied columns that get the slots of their tasks, those of the plan first."""
    at = np.flatnonzero(tied)
    wanted = np.where(planned_standby[at], 0, np.where(planned_active[at], 1, 2))
    # A client that drains takes nothing that it did not have.
    is_new = problem.draining[problem.col_client[at]] & ~problem.col_standby[at] & ~problem.col_owner[at]
    ties = (each[at] for each in (problem.col_client, problem.col_lag, ~problem.col_standby, problem.col_cost))
    order = at[np.lexsort((*ties, is_new, wanted, problem.col_task[at]))]
    task = problem.col_task[order]
    taken = np.zeros(len(tied), dtype=np.bool_)
    taken[order[rank_within(task) < slots[task]]] = True
    return taken


def _from_pools(problem: Problem, slots: IntArray, active: IntArray, keys: IntArray) -> IntArray:
    """Return keys of copies for slots (T,) that no column fills, on the clients with fewest copies.

    Such slots are rare, since plans fill their ties first.
    """
    C = problem.C
    load = np.bincount(keys % C, minlength=C) + np.bincount(active[problem.logged], minlength=C)
    given: list[int] = []
    for task in np.flatnonzero(slots > 0).tolist():
        pool = np.setdiff1d(np.arange(C), problem.col_client[problem.col_start[task] : problem.col_start[task + 1]])
        picked = pool[np.lexsort((load[pool], problem.draining[pool]))[: slots[task]]]
        load[picked] += 1
        given.extend((task * C + picked).tolist())
    return np.array(given, dtype=np.int64)
