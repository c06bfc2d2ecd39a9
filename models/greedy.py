"""Plan, answer at once, and actives without a solver: what goes out when the solver has no time, and where it starts from.

Copies come first, since restore work is the first goal, then which of them are active. R1, R2 and R4 always hold. Where the
actives do not fit into the copies, actives come first and copies around them; where that fails too, the one of less excess is
taken. All is deterministic, and all work is bounded by the size of the problem.
"""

from __future__ import annotations

import numpy as np

from .first import First, first as first_of
from .greedy_actives import (
    COLD,
    MOVED,
    Options,
    finished,
    in_windows,
    logged_actives,
    loose_actives,
    nearest,
    relieved,
    settled,
)
from .greedy_copies import Choice, Prices, greedy_copies
from .problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem, placement
from .results import Actives
from .windows import Windows, count


_FEW = 16
"""Up to so many clients a pool is too small to be dealt out without looking at R2."""


def greedy_plan(problem: Problem, first: First, windows: Windows) -> Placement:
    """A plan: R1, R2 and R4 hold; in the windows wherever that was found, of little restore work."""
    problem, first = _written_out(problem, first)
    plan = _copies_first(problem, first, windows)
    if _excess(problem, windows, plan) == 0:
        return plan
    other = _actives_first(problem, windows, plan)
    return min((plan, other), key=lambda p: windows.excess(count(problem, p.active, p.standby_task, p.standby_client)))


def _written_out(problem: Problem, first: First) -> tuple[Problem, First]:
    if problem.C > _FEW:
        return problem, first
    problem = problem.with_all_columns(np.flatnonzero(problem.logged))
    return problem, first_of(problem)


def _excess(problem: Problem, windows: Windows, plan: Placement) -> int:
    return sum(windows.excess(count(problem, plan.active, plan.standby_task, plan.standby_client)))


def _copies_first(problem: Problem, first: First, windows: Windows) -> Placement:
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    prices, choice = Prices.of(problem, first), Choice.of_plan(problem)
    keys, lost = greedy_copies(problem, windows, prices, choice)
    keys = _anywhere(problem, keys, lost)
    p = problem.with_columns(keys)
    if problem.standbys:
        columns = ~p.logged[p.col_task] & p.col_owner
        columns[p.find(keys)] = True
        options = Options.of(p, columns, ~p.logged)
        active = logged_actives(p, windows, options)
    else:
        options = _anywhere_at_cost(p)
        active = np.full(p.T, -1, dtype=np.int64)
        active[logged] = keys % C
    active = finished(p, windows, options, loose_actives(p, windows, active))
    standbys = np.setdiff1d(keys, logged * C + active[logged], assume_unique=True) if problem.standbys else keys[:0]
    return placement(active, standbys, C)


def _anywhere_at_cost(problem: Problem) -> Options:
    """Without standbys the active copy is the copy: any client may have it, at its restore work."""
    first = first_of(problem)
    prices, moves = (
        Prices.of(problem, first),
        Options.of(problem, problem.logged[problem.col_task] | problem.col_owner, ~problem.logged),
    )
    logged = problem.logged[problem.col_task]
    return Options(
        moves.columns,
        moves.pools | (problem.pool_size > 0),
        np.where(logged, np.where(prices.tied, 0, prices.column) * 4, 0) + moves.cost % COLD // MOVED,
        np.where(problem.logged, np.where(prices.pool_tied, 0, prices.pool) * 4, 0) + moves.pool_cost % COLD // MOVED,
    )


def _anywhere(problem: Problem, keys: IntArray, lost: IntArray) -> IntArray:
    """R4 before all: copies that found no place go to the clients with fewest copies that have none of the task."""
    C = problem.C
    load = np.bincount(keys % C, minlength=C)
    for task in lost.tolist():
        taken = keys[(keys >= task * C) & (keys < (task + 1) * C)] % C
        free = np.ones(C, dtype=np.bool_)
        free[taken] = False
        client = int(np.argmin(np.where(free, load, np.iinfo(np.int64).max)))
        load[client] += 1
        keys = np.sort(np.append(keys, task * C + client))
    return keys


def _actives_first(problem: Problem, windows: Windows, plan: Placement) -> Placement:
    """Actives anywhere, mostly where the plan has copies; then copies around them."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    p = problem.with_columns(plan.copy_keys(C, problem.logged))
    near = np.isin(p.col_keys, plan.copy_keys(C, problem.logged))
    options = Options.of(p, p.logged[p.col_task] | p.col_owner, ~p.logged | (p.pool_size > 0))
    far = 1 << 34
    options = Options(
        options.columns, options.pools, options.cost + far * (p.logged[p.col_task] & ~near), options.pool_cost + far * p.logged
    )
    active = settled(p, windows, options, plan.active)
    p = p.with_columns(logged * C + active[logged])
    must = p.logged[p.col_task] & (active[p.col_task] == p.col_client)
    keys, lost = greedy_copies(p, windows, Prices.of(p, first_of(p)), Choice.of_plan(p, must))
    keys = _anywhere(p, keys, lost)
    return placement(*_roles(p, keys, active), C)


def _roles(problem: Problem, keys: IntArray, active: IntArray) -> tuple[IntArray, IntArray]:
    """The actives where they are among the copies, else a task's first copy; and the standbys' keys."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    inside = np.isin(logged * C + active[logged], keys)
    active = active.copy()
    starts = np.searchsorted(keys, logged * C)
    active[logged[~inside]] = keys[starts[~inside]] % C
    return active, np.setdiff1d(keys, logged * C + active[logged], assume_unique=True)


def greedy_now(problem: Problem, first: First, windows: Windows) -> Placement | None:
    """An assignment that keeps R1 to R5 and all windows in this very rebalance, of few active moves; None if none was found."""
    if _out_of_reach(problem, first, windows):
        return None
    problem, first = _written_out(problem, first)
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    active = None
    for _ in range(2):
        must = None
        if active is not None:  # the second time actives come first
            problem = problem.with_columns(logged * C + active[logged])
            first = first_of(problem)
            must = problem.logged[problem.col_task] & (active[problem.col_task] == problem.col_client)
        keys, lost = greedy_copies(problem, windows, Prices.none(problem), Choice.of_now(problem, first, must))
        p = problem.with_columns(keys)
        f = first_of(p)
        leads = f.leading & p.logged[p.col_task]
        copies = np.zeros(len(leads), dtype=np.bool_)
        copies[p.find(keys)] = True
        loose = ~p.logged[p.col_task] & p.col_owner
        options = Options.of(p, leads & copies | loose, ~p.logged)
        if np.any(np.bincount(p.col_task[leads & copies], minlength=p.T)[logged] == 0):
            return None
        active = finished(p, windows, options, loose_actives(p, windows, logged_actives(p, windows, options)))
        answer = placement(active, np.setdiff1d(keys, logged * C + active[logged], assume_unique=True), C)
        right = not len(lost) and bool(np.all(copies[f.mandatory])) and bool(np.all((f.mandatory | f.tied)[copies]))
        if right and windows.hold(count(p, active, answer.standby_task, answer.standby_client)):
            return answer
        options = Options.of(p, leads | loose, ~p.logged | f.pool_leading)
        active = settled(p, windows, options, active)
        if not problem.standbys or not in_windows(p, windows, active):
            return None
    return None


def _out_of_reach(problem: Problem, first: First, windows: Windows) -> bool:
    """Whether some client must have more, or can have less, than its windows allow."""
    G, C = problem.G, problem.C
    cell = problem.group[problem.col_task] * C + problem.col_client

    def number(columns: BoolArray) -> IntArray:
        return np.bincount(cell[columns], minlength=G * C).reshape(G, C)

    def most(columns: BoolArray, pools: BoolArray) -> IntArray:
        in_pool = np.bincount(problem.group[pools], minlength=G)[:, None] - number(pools[problem.col_task])
        return number(columns) + in_pool

    logged = problem.logged[problem.col_task]
    leading = first.leading & logged
    anywhere = ~problem.logged
    may_lead = most(leading, first.pool_leading & problem.logged)
    may_hold = most(first.mandatory | first.tied, first.pool_tied)
    must_hold = number(first.mandatory)
    single = (np.bincount(problem.col_task[leading], minlength=problem.T) == 1) & ~(
        first.pool_leading & (problem.pool_size > 0)
    )
    must_lead = number(leading & single[problem.col_task])
    loose = (problem.kind != LOGGED)[:, None]
    low, high = windows.group_active.low, windows.group_active.high
    stateful = problem.kind != STATELESS
    return bool(
        np.any(~loose & (may_lead < low))
        or np.any(must_lead > high)
        or np.any(must_lead[stateful].sum(axis=0) > windows.stateful.high)
        or np.any(may_hold < windows.group_copies.low)
        or np.any(may_hold.sum(axis=0) < windows.copies.low)
        or np.any(must_hold > windows.group_copies.high)
        or np.any(must_hold.sum(axis=0) > windows.copies.high)
        or np.any(np.where(loose, high, np.minimum(may_lead, high)).sum(axis=0) < windows.active.low)
    )


def greedy_actives(problem: Problem, windows: Windows, columns: BoolArray, pools: BoolArray) -> Actives | None:
    """Actives on the given columns (A,) of little excess, summed over the three families of active windows, and few moves;
    no bounds. `pools` is not used: every task must have a column."""
    if np.any(np.bincount(problem.col_task[columns], minlength=problem.T) == 0):
        return None
    options = Options.of(problem, columns, pools & False)
    active = relieved(problem, windows, options, nearest(problem, options))
    return Actives(active, [])
