"""Plan, answer at once, and actives without a solver: what goes out when the solver has no time, and where it starts from.

Copies come first, since restore work is the first goal, then which of them are active. R1, R2 and R4 always hold. Where the
actives do not fit into the copies, actives come first and copies around them; where that fails too, the one of less excess is
taken. All is deterministic: limits are numbers of things looked at, never times.
"""

from __future__ import annotations

import numpy as np

from optassign.models.forced import Forced, find_forced
from optassign.models.greedy.actives import (
    ActiveOptions,
    are_in_windows,
    choose_cheapest,
    choose_logged_actives,
    fill_unlogged,
    finish_actives,
    relieve_excess,
    settle_actives,
)
from optassign.models.greedy.copies import choose_greedy_copies
from optassign.models.greedy.copy_terms import Terms
from optassign.models.problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem, placement
from optassign.models.results import Actives
from optassign.models.values import plan_values
from optassign.models.windows import Windows, count_copies

_FAR = 1 << 34
"""Cost of an active away from the copies, more than any other cost of actives."""

_SECOND_TRY = 400
"""Up to so many pairs of task and client a second plan is made, though the first is balanced: it may move less."""


def find_greedy_plan(problem: Problem, forced: Forced, windows: Windows) -> Placement:
    """A plan: R1, R2 and R4 hold; in the windows wherever that was found, of little restore work."""
    if not problem.T:
        return placement(problem.group, problem.group, problem.C)
    keys = _whole(problem, *choose_greedy_copies(problem, forced, windows, now=False))
    if not problem.standbys:
        return _without_standbys(problem, windows, keys)
    plan = _with_actives(problem, windows, keys)
    balanced = windows.hold(count_copies(problem, plan))
    if balanced and problem.T * problem.C > _SECOND_TRY:
        return plan

    def rank(plan: Placement) -> tuple[int, ...]:
        counts = count_copies(problem, plan)
        return *windows.excess(counts), *plan_values(problem, forced, plan).values()

    return min((plan, _actives_first(problem, windows, plan)), key=rank)


def _with_actives(problem: Problem, windows: Windows, keys: IntArray) -> Placement:
    """The copies with these keys, some of them active."""
    problem = problem.with_columns(keys)
    columns = ~problem.logged[problem.col_task] & problem.col_owner
    columns[problem.find(keys)] = True
    options = ActiveOptions.of(problem, columns, ~problem.logged)
    active = fill_unlogged(problem, windows, choose_logged_actives(problem, windows, options))
    return _of(problem, keys, finish_actives(problem, windows, options, active))


def _without_standbys(problem: Problem, windows: Windows, keys: IntArray) -> Placement:
    """The active copy is the only copy: it may be anywhere, at its restore work, to fit in with the other actives."""
    problem = problem.with_columns(keys)
    logged = problem.logged[problem.col_task]
    terms = Terms.of_plan(problem, find_forced(problem), np.zeros_like(logged))
    price = np.where(terms.tied | ~logged, 0, terms.price)
    pool_price = np.where(terms.pool_tied | ~problem.logged, 0, terms.pool_price)
    columns, pools = logged | problem.col_owner, ~problem.logged | (problem.pool_size > 0)
    options = ActiveOptions.of(problem, columns, pools).after(price, pool_price)
    active = np.full(problem.T, -1, dtype=np.int64)
    active[keys // problem.C] = keys % problem.C
    active = finish_actives(problem, windows, options, fill_unlogged(problem, windows, active))
    return placement(active, keys[:0], problem.C)


def _of(problem: Problem, keys: IntArray, active: IntArray) -> Placement:
    """The copies with these keys (sorted) as a placement; where the active is none of them, the first of them is."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    active = active.copy()
    outside = logged[~np.isin(logged * C + active[logged], keys)]
    active[outside] = keys[np.searchsorted(keys, outside * C)] % C
    return placement(active, np.setdiff1d(keys, logged * C + active[logged], assume_unique=True), C)


def _whole(problem: Problem, keys: IntArray, lost: IntArray) -> IntArray:
    """R4 before all: copies that found no place go to the clients with fewest copies that have none of the task."""
    C = problem.C
    load = np.bincount(keys % C, minlength=C)
    for task in lost.tolist():
        free = np.ones(C, dtype=np.bool_)
        free[keys[keys // C == task] % C] = False
        client = int(np.argmin(np.where(free, load, np.iinfo(np.int64).max)))
        load[client] += 1
        keys = np.append(keys, task * C + client)
    return np.sort(keys)


def _actives_first(problem: Problem, windows: Windows, plan: Placement) -> Placement:
    """Actives anywhere, mostly where the plan has copies; then copies around them."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    near = plan.copy_keys(C, problem.logged)
    problem = problem.with_columns(near)
    column_logged = problem.logged[problem.col_task]
    options = ActiveOptions.of(problem, column_logged | problem.col_owner, ~problem.logged | (problem.pool_size > 0))
    options = options.after(_FAR * (column_logged & ~np.isin(problem.col_keys, near)), _FAR * problem.logged)
    active = settle_actives(problem, windows, options, plan.active)
    actives = logged * C + active[logged]
    problem = problem.with_columns(actives)
    keys, lost = choose_greedy_copies(problem, find_forced(problem), windows, now=False, must=actives)
    return _of(problem, _whole(problem, keys, lost), active)


def find_greedy_answer_now(problem: Problem, forced: Forced, windows: Windows) -> Placement | None:
    """An assignment that keeps R1 to R5 and all windows in this very rebalance, of few active moves; None if none was found."""
    if not problem.T:
        return placement(problem.group, problem.group, problem.C)
    if _out_of_reach(problem, forced, windows):
        return None
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    must = None
    for _ in range(2):
        keys, lost = choose_greedy_copies(problem, forced, windows, now=True, must=must)
        here = problem.with_columns(keys)
        f = find_forced(here)
        copies = np.zeros(len(here.col_task), dtype=np.bool_)
        copies[here.find(keys)] = True
        leads, loose = f.leading & here.logged[here.col_task], ~here.logged[here.col_task] & here.col_owner
        if np.any(np.bincount(here.col_task[leads & copies], minlength=here.T)[logged] == 0):
            return None
        options = ActiveOptions.of(here, leads & copies | loose, ~here.logged)
        active = finish_actives(
            here, windows, options, fill_unlogged(here, windows, choose_logged_actives(here, windows, options))
        )
        answer = _of(here, keys, active)
        keeps_r5 = not len(lost) and bool(np.all(copies[f.mandatory])) and bool(np.all((f.mandatory | f.tied)[copies]))
        if keeps_r5 and windows.hold(count_copies(here, answer)):
            return answer
        # The second time actives come first: anywhere among the most caught up.
        active = settle_actives(here, windows, ActiveOptions.of(here, leads | loose, ~here.logged | f.pool_leading), active)
        if not are_in_windows(here, windows, active):
            return None
        must = logged * C + active[logged]
        problem = problem.with_columns(must)
        forced = find_forced(problem)
    return None


def _out_of_reach(problem: Problem, forced: Forced, windows: Windows) -> bool:
    """Whether some client must have more, or can have less, than its windows allow."""
    G, C = problem.G, problem.C
    cell = problem.group[problem.col_task] * C + problem.col_client

    def number(columns: BoolArray) -> IntArray:
        return np.bincount(cell[columns], minlength=G * C).reshape(G, C)

    def most(columns: BoolArray, pools: BoolArray) -> IntArray:
        in_pool = np.bincount(problem.group[pools], minlength=G)[:, None] - number(pools[problem.col_task])
        return number(columns) + in_pool

    leading = forced.leading & problem.logged[problem.col_task]
    leaders = np.bincount(problem.col_task[leading], minlength=problem.T)
    only = (leaders == 1) & ~forced.pool_leading
    may_lead, must_lead = most(leading, forced.pool_leading & problem.logged), number(leading & only[problem.col_task])
    may_hold, must_hold = most(forced.mandatory | forced.tied, forced.pool_tied), number(forced.mandatory)
    loose = (problem.kind != LOGGED)[:, None]
    stateful = problem.kind != STATELESS
    low, high = windows.group_active.low, windows.group_active.high
    may_run = np.where(loose, high, np.minimum(may_lead, high))
    return bool(
        np.any(~loose & (may_lead < low))
        or np.any(must_lead > high)
        or np.any(must_lead.sum(axis=0) > windows.stateful.high)
        or np.any(may_run[stateful].sum(axis=0) < windows.stateful.low)
        or np.any(may_run.sum(axis=0) < windows.active.low)
        or np.any(may_hold < windows.group_copies.low)
        or np.any(may_hold.sum(axis=0) < windows.copies.low)
        or np.any(must_hold > windows.group_copies.high)
        or np.any(must_hold.sum(axis=0) > windows.copies.high)
    )


def choose_greedy_actives(problem: Problem, windows: Windows, columns: BoolArray, pools: BoolArray) -> Actives | None:
    """Actives on the given columns (A,) of little excess, summed over the three families of active windows, and of few moves;
    no bounds. Pools are not used: None where a task has no column."""
    if np.any(np.bincount(problem.col_task[columns], minlength=problem.T) == 0):
        return None
    options = ActiveOptions.of(problem, columns, np.zeros_like(pools))
    return Actives(relieve_excess(problem, windows, options, choose_cheapest(problem, options)), [])
