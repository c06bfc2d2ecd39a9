"""Targets, answers at once and actives without a solver: the fallback, and a start for solvers.

R1, R2 and R4 always hold. Limits count work, never time, so that answers are deterministic.

1. Choose copies in any role (`choose_pairs`), for the least restore work.
2. Choose actives among them, and place tasks without changelog in the same step.
3. If the result is not balanced, choose actives on any client, then copies around them. Keep the result of less imbalance.

If there are no standbys, one step chooses all actives, by restore work first.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals import evaluate
from optassign_models.greedy.choosing import FAR, Level, Wanted, choose_pairs
from optassign_models.policy.constants import SECOND_TRY
from optassign_models.problem import (
    LOGGED,
    STATELESS,
    BoolArray,
    IntArray,
    Placement,
    Problem,
    find_sorted,
    make_placement,
    rank_within,
)
from optassign_models.shares import ShareBounds, ShareFamilies, count_copies

_FINE = 1 << 30
"""Restore costs are compared in this many steps from 0 to the greatest."""
_STEP, _NOT_CAUGHT_UP = 1 << 6, 1 << 4
"""Price of one such step, and of a copy that is not caught up."""
_ACTIVE_NOT_CAUGHT_UP, _MOVED, _STANDBY_LOST = 1 << 2, 1 << 1, 1 << 0
"""Price of an active that is not caught up, of an active that leaves its owner, and of a standby that becomes active."""
_Way = tuple[int, int, int, int]
"""The way in which bounds give way: weights (`Network.add_arcs`) of subtopologies, copies, stateful and all actives."""
_STRICT, _TOGETHER, _IN_ORDER = (0,) * 4, (1,) * 4, (1, 2, 3, 4)
"""Bounds never give way, or together, or in order."""


def find_greedy_plan(problem: Problem, shares: ShareFamilies, keys: IntArray | None = None) -> Placement:
    """Return a plan that keeps R1, R2 and R4, with little restore work; with little imbalance if no balanced plan is found.

    keys: (n,) the copies of logged tasks, ascending, task × C + client; None to choose them.
    """
    C, everywhere = problem.C, np.ones(problem.T, dtype=np.bool_)
    if (not problem.standbys and keys is None) or not problem.T:
        worth = _value_copies(problem, np.zeros_like(problem.col_owner))
        active = _choose_actives(problem, shares, np.ones_like(problem.col_owner), everywhere, _IN_ORDER, worth)
        return make_placement(active, active[:0], C)
    keys = _choose_copies(problem, shares, np.zeros(0, dtype=np.int64)) if keys is None else keys
    written = problem.with_columns(keys)
    near = find_sorted(keys, written.col_keys) >= 0
    active = _choose_actives(written, shares, near | ~written.logged[written.col_task], ~problem.logged, _IN_ORDER)
    plan = _complete(problem, keys, active)
    if shares.hold(count_copies(problem, plan)) and problem.T * C > SECOND_TRY:
        return plan

    def rank(plan: Placement) -> tuple[int, ...]:
        return *shares.imbalance(count_copies(problem, plan)), *evaluate(problem, plan).values()

    active = _choose_actives(written, shares, np.ones_like(near), everywhere, _IN_ORDER, near.astype(np.int64))
    must = np.flatnonzero(problem.logged) * C + active[problem.logged]
    written = problem.with_columns(must)
    around = _complete(problem, _choose_copies(written, shares, must), active)
    return min((plan, around), key=rank)


def _choose_copies(problem: Problem, shares: ShareFamilies, must: IntArray) -> IntArray:
    """Return the sorted keys (n,) of the plan's copies of logged tasks, which include the keys `must`."""
    is_must, logged = find_sorted(must, problem.col_keys) >= 0, problem.logged
    worth = _value_copies(problem, is_must)
    wanted = _want_copies(problem, shares, worth, logged[problem.col_task], is_must, logged, _IN_ORDER)
    keys, lost = choose_pairs(problem, wanted)
    for task in lost.tolist():  # R4 comes before all shares
        load = np.bincount(keys % problem.C, minlength=problem.C)
        load[keys[keys // problem.C == task] % problem.C] = FAR
        keys = np.append(keys, task * problem.C + np.argmin(load))
    return np.sort(keys)


def find_greedy_answer_now(problem: Problem, shares: ShareFamilies) -> Placement | None:
    """Return an assignment that keeps R1 to R5 and all shares now, with few active moves; None if no assignment is found."""
    C, forced, chosen = problem.C, problem.forced, np.zeros(0, dtype=np.int64)
    pools = ~problem.logged | forced.pool_leading
    if not problem.standbys:
        active = _choose_actives(problem, shares, forced.leading, pools, _STRICT, np.zeros_like(problem.col_task))
        return None if np.any(active < 0) else make_placement(active, active[:0], C)
    most = np.bincount(problem.col_client[forced.mandatory | forced.tied], minlength=C) + forced.pool_tied.sum()
    for _ in range(2 if np.all(most >= shares.copies.low) else 0):
        must = find_sorted(chosen, problem.col_keys) >= 0
        worth, allowed = 1 + _value_staying(problem, must), forced.mandatory | forced.tied
        wanted = _want_copies(problem, shares, worth, allowed, forced.mandatory | must, forced.pool_tied, _STRICT)
        keys, lost = choose_pairs(problem, wanted)
        if len(lost) and not len(keys):
            return None
        written = problem.with_columns(keys)
        columns = written.forced.leading & ((find_sorted(keys, written.col_keys) >= 0) | ~written.logged[written.col_task])
        if not len(lost):
            active = _choose_actives(written, shares, columns, ~problem.logged, _STRICT)
            if np.all(active >= 0):
                return _complete(problem, keys, active)
        active = _choose_actives(problem, shares, forced.leading, pools, _STRICT)  # then copies around them
        if np.any(active < 0):
            return None
        chosen = np.flatnonzero(problem.logged) * C + active[problem.logged]
        problem = problem.with_columns(chosen)
        forced = problem.forced
        pools = ~problem.logged | forced.pool_leading
    return None


def choose_greedy_actives(problem: Problem, shares: ShareFamilies, columns: BoolArray) -> tuple[IntArray, None]:
    """Return actives (T,) on `columns` (A,) with little imbalance and few moves, and None: no bound. Each task has a column."""
    shares = shares._replace(copies=ShareBounds(np.zeros_like(problem.units), np.full_like(problem.units, FAR)))
    return _choose_actives(problem, shares, columns, np.zeros(problem.T, dtype=np.bool_), _TOGETHER), None


def _want_copies(
    problem: Problem, shares: ShareFamilies, worth: IntArray, allowed: BoolArray, must: BoolArray, pools: BoolArray, way: _Way
) -> Wanted:
    """Return the choice of standbys + 1 clients for each logged task.

    `way`: `_STRICT`, `_TOGETHER` or `_IN_ORDER`; other parameters are fields of `Wanted`.
    """
    need = np.where(problem.logged, problem.standbys + 1, 0)
    level = Level(shares.copies, problem.kind == LOGGED, way[1])
    return Wanted(need, worth, allowed, must, pools, shares.group_copies, way[0], (level,))


def _value_copies(problem: Problem, must: BoolArray) -> IntArray:
    """Return the gain (A,) of a column over the pool: restore work in small integers, copies not caught up, then stays.

    Copies that R3 to R5 force in this answer cost nothing: all on mandatory clients, `choices` on tied clients.
    """
    task, forced, stays = problem.col_task, problem.forced, _value_staying(problem, must)
    cost = np.where(forced.mandatory, 0, problem.col_cost)
    unit = 1 + int(max(cost.max(initial=0), problem.pool_cost.max(initial=0))) // _FINE
    price = cost // unit * _STEP + np.where((problem.col_rank > 0) & ~forced.mandatory, _NOT_CAUGHT_UP, 0)
    pool_price = problem.pool_cost // unit * _STEP + np.where(problem.pool_rank > 0, _NOT_CAUGHT_UP, 0)
    dearest = np.zeros(problem.T, dtype=np.int64)
    np.maximum.at(dearest, task, price)
    pool_price = np.where(problem.pool_size > 0, pool_price, dearest)[task]
    # The forced copies on tied clients are free: in the pool if it is tied, otherwise on `choices` of the tied columns.
    tied, in_pool = forced.tied & forced.tie_not_caught_up[task], (forced.tie_not_caught_up & forced.pool_tied)[task]
    some = np.flatnonzero(tied & ~in_pool)
    some = some[np.lexsort(((problem.col_client[some] - task[some]) % problem.C, -stays[some], task[some]))]
    price[some[rank_within(task[some]) < forced.choices[task[some]]]] = 0
    saved = np.where(in_pool & ~forced.mandatory, np.where(tied, 0, -price), pool_price - price)
    return np.where(problem.logged[task], saved + stays, 0)


def _value_staying(problem: Problem, must: BoolArray) -> IntArray:
    """Return a small gain (A,) of staying: owners, unless the actives are known (`must`), then standbys, then others."""
    return (0 if must.any() else 8) * problem.col_owner + 4 * (problem.col_standby & ~problem.col_owner) + 2 * problem.col_state


def _choose_actives(
    problem: Problem, shares: ShareFamilies, columns: BoolArray, pools: BoolArray, way: _Way, first: IntArray | None = None
) -> IntArray:
    """Return the client (T,) of each active, few of them not caught up or moved; −1 if none is found for the task.

    Columns `columns` (A,) are allowed, and pools of the tasks `pools` (T,). `way` is `_STRICT`, `_TOGETHER` or
    `_IN_ORDER`; if `_STRICT` bounds cannot hold, all clients are −1. `first`: (A,) gain of a column that decides before moves.
    """
    task, logged = problem.col_task, problem.logged
    price, pool_price = _MOVED * (problem.has_owner[task] & ~problem.col_owner), _MOVED * problem.has_owner
    if first is None:
        price += _ACTIVE_NOT_CAUGHT_UP * (logged[task] & (problem.col_rank > 0))
        price += _STANDBY_LOST * (logged[task] & problem.col_standby & ~problem.col_owner)
        pool_price = pool_price + _ACTIVE_NOT_CAUGHT_UP * (logged & (problem.pool_rank > 0))
    worth = np.where(pools, pool_price, 8)[task] - price + (0 if first is None else 4 * first)
    levels = [
        Level(shares.copies, problem.kind == LOGGED, way[1]),
        Level(shares.stateful, problem.kind != STATELESS, way[2]),
        Level(shares.active, np.ones(problem.G, dtype=np.bool_), way[3]),
    ]
    if problem.standbys:  # otherwise all copies are active
        del levels[0]
    need, must = np.ones(problem.T, dtype=np.int64), np.zeros_like(columns)
    wanted = Wanted(need, worth, columns, must, pools, shares.group_active, way[0], tuple(levels))
    keys, _ = choose_pairs(problem, wanted)
    active = np.full(problem.T, -1, dtype=np.int64)
    active[keys // problem.C] = keys % problem.C
    return active


def _complete(problem: Problem, keys: IntArray, active: IntArray) -> Placement:
    """Return the placement with these actives (T,) and the other pairs of `keys` (n,) as standbys."""
    return make_placement(active, np.setdiff1d(keys, np.arange(problem.T) * problem.C + active, assume_unique=True), problem.C)
