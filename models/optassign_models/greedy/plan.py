"""Plan, answer at once, and actives without a solver: what goes out when the solver has no time, and where it starts from.

R1, R2 and R4 always hold. All is deterministic: limits are numbers of things looked at, never times.

A plan (`find_greedy_plan`):

1. Copies come first, since restore work is the first goal; copies that found no place go anywhere.
2. Actives are chosen among them; tasks without changelog are placed in addition.
3. If the actives do not fit into the copies, or the problem is tiny: actives come first and copies around them. The plan of
   less imbalance, then of better goals, is taken.

An answer at once (`find_greedy_answer_now`):

1. Copies where R5 allows them, then actives among those of them that R3 allows.
2. If that is not balanced: actives first, anywhere among the most caught up, then copies around them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.forced import Forced, find_forced
from optassign_models.goals import evaluate
from optassign_models.greedy.actives import (
    ActiveOptions,
    choose_actives,
    fill_unlogged,
    finish_actives,
    lessen_imbalance,
    settle_actives,
)
from optassign_models.greedy.copies import CopyTerms, choose_greedy_copies
from optassign_models.policy.constants import SECOND_TRY
from optassign_models.problem import LOGGED, STATELESS, BoolArray, IntArray, Placement, Problem, make_placement
from optassign_models.results import Actives
from optassign_models.shares import ShareFamilies, count_actives, count_copies

_FAR = 1 << 34
"""Cost of an active away from the copies, more than any other cost of actives."""


def find_greedy_plan(problem: Problem, forced: Forced, shares: ShareFamilies) -> Placement:
    """A plan: R1, R2 and R4 hold; in the shares wherever that was found, of little restore work."""
    if not problem.T:
        return make_placement(problem.group, problem.group, problem.C)
    keys = _place_lost_copies(problem, *choose_greedy_copies(problem, forced, shares, now=False))
    if not problem.standbys:
        return _plan_without_standbys(problem, shares, keys)
    plan = _choose_actives_inside(problem, shares, keys)
    balanced = shares.hold(count_copies(problem, plan))
    if balanced and problem.T * problem.C > SECOND_TRY:
        return plan

    def rank(plan: Placement) -> tuple[int, ...]:
        return *shares.imbalance(count_copies(problem, plan)), *evaluate(problem, forced, plan).values()

    return min((plan, _plan_actives_first(problem, shares, plan)), key=rank)


def _choose_actives_inside(problem: Problem, shares: ShareFamilies, keys: IntArray) -> Placement:
    """The copies with these keys, some of them active."""
    problem = problem.with_columns(keys)
    columns = ~problem.logged[problem.col_task] & problem.col_owner
    columns[problem.find(keys)] = True
    options = ActiveOptions.of(problem, columns, ~problem.logged)
    return _make_placement(problem, keys, choose_actives(problem, shares, options))


def _plan_without_standbys(problem: Problem, shares: ShareFamilies, keys: IntArray) -> Placement:
    """The active copy is the only copy: it may be anywhere, at its restore work, to fit in with the other actives."""
    problem = problem.with_columns(keys)
    logged = problem.logged[problem.col_task]
    terms = CopyTerms.of_plan(problem, find_forced(problem), np.zeros_like(logged))
    price = np.where(terms.tied | ~logged, 0, terms.price)
    pool_price = np.where(terms.pool_tied | ~problem.logged, 0, terms.pool_price)
    columns, pools = logged | problem.col_owner, ~problem.logged | (problem.pool_size > 0)
    options = ActiveOptions.of(problem, columns, pools).put_first(price, pool_price)
    active = np.full(problem.T, -1, dtype=np.int64)
    active[keys // problem.C] = keys % problem.C
    active = finish_actives(problem, shares, options, fill_unlogged(problem, shares, active))
    return make_placement(active, keys[:0], problem.C)


def _make_placement(problem: Problem, keys: IntArray, active: IntArray) -> Placement:
    """The copies with these keys (sorted) as a placement; where the active is none of them, the first of them is."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    active = active.copy()
    outside = logged[~np.isin(logged * C + active[logged], keys)]
    active[outside] = keys[np.searchsorted(keys, outside * C)] % C
    return make_placement(active, np.setdiff1d(keys, logged * C + active[logged], assume_unique=True), C)


def _place_lost_copies(problem: Problem, keys: IntArray, lost: IntArray) -> IntArray:
    """Keys of all copies, sorted: those of the tasks `lost`, for which there was no place, go where fewest copies are.

    R4 comes before all shares, and R2 holds: the client must have none of the task.
    """
    C = problem.C
    load = np.bincount(keys % C, minlength=C)
    for task in lost.tolist():
        free = np.ones(C, dtype=np.bool_)
        free[keys[keys // C == task] % C] = False
        client = int(np.argmin(np.where(free, load, np.iinfo(np.int64).max)))
        load[client] += 1
        keys = np.append(keys, task * C + client)
    return np.sort(keys)


def _plan_actives_first(problem: Problem, shares: ShareFamilies, plan: Placement) -> Placement:
    """Actives anywhere, mostly where the plan has copies; then copies around them."""
    C = problem.C
    logged = np.flatnonzero(problem.logged)
    near = plan.copy_keys(C, problem.logged)
    problem = problem.with_columns(near)
    column_logged = problem.logged[problem.col_task]
    options = ActiveOptions.of(problem, column_logged | problem.col_owner, ~problem.logged | (problem.pool_size > 0))
    options = options.put_first(_FAR * (column_logged & ~np.isin(problem.col_keys, near)), _FAR * problem.logged)
    active = settle_actives(problem, shares, options, plan.active)
    actives = logged * C + active[logged]
    problem = problem.with_columns(actives)
    keys, lost = choose_greedy_copies(problem, find_forced(problem), shares, now=False, must=actives)
    return _make_placement(problem, _place_lost_copies(problem, keys, lost), active)


def find_greedy_answer_now(problem: Problem, forced: Forced, shares: ShareFamilies) -> Placement | None:
    """An assignment that keeps R1 to R5 and all shares in this very rebalance, of few active moves; None if none was found."""
    if not problem.T:
        return make_placement(problem.group, problem.group, problem.C)
    if _is_out_of_reach(problem, forced, shares):
        return None
    logged = np.flatnonzero(problem.logged)
    must = None
    for _ in range(2):
        keys, lost = choose_greedy_copies(problem, forced, shares, now=True, must=must)
        written = problem.with_columns(keys)
        forced = find_forced(written)
        tried = _try_answer_now(written, forced, shares, keys)
        if tried is None:
            return None
        if not len(lost) and tried.keeps_r5 and shares.hold(count_copies(written, tried.answer)):
            return tried.answer
        active = _settle_among_leaders(written, forced, shares, tried.active)
        if not shares.hold_actives(count_actives(written, active)):
            return None
        must = logged * problem.C + active[logged]
        problem = problem.with_columns(must)
        forced = find_forced(problem)
    return None


@dataclass(frozen=True, eq=False)
class _AnswerNow:
    """An answer that was tried, and what a second try goes on from."""

    answer: Placement
    keeps_r5: bool
    active: IntArray
    """(T,) actives, on copies of the answer or not."""


def _try_answer_now(problem: Problem, forced: Forced, shares: ShareFamilies, keys: IntArray) -> _AnswerNow | None:
    """The copies with these keys, actives among those of them that R3 allows; None where R3 allows none for some task."""
    copies = np.zeros(len(problem.col_task), dtype=np.bool_)
    copies[problem.find(keys)] = True
    leads = forced.leading & problem.logged[problem.col_task]
    owners = ~problem.logged[problem.col_task] & problem.col_owner
    if np.any(np.bincount(problem.col_task[leads & copies], minlength=problem.T)[problem.logged] == 0):
        return None
    active = choose_actives(problem, shares, ActiveOptions.of(problem, leads & copies | owners, ~problem.logged))
    allowed = forced.mandatory | forced.tied
    return _AnswerNow(
        answer=_make_placement(problem, keys, active),
        keeps_r5=bool(np.all(copies[forced.mandatory])) and bool(np.all(allowed[copies])),
        active=active,
    )


def _settle_among_leaders(problem: Problem, forced: Forced, shares: ShareFamilies, active: IntArray) -> IntArray:
    """(T,) the actives after an exchange in which they may go anywhere among the most caught up."""
    unlogged = ~problem.logged[problem.col_task]
    columns = forced.leading & ~unlogged | unlogged & problem.col_owner
    return settle_actives(problem, shares, ActiveOptions.of(problem, columns, ~problem.logged | forced.pool_leading), active)


def _is_out_of_reach(problem: Problem, forced: Forced, shares: ShareFamilies) -> bool:
    """Whether some client must have more, or can have less, than its shares allow, so that no answer at once keeps them."""
    G, C = problem.G, problem.C
    cell = problem.group[problem.col_task] * C + problem.col_client

    def count_columns(columns: BoolArray) -> IntArray:
        """(G, C) how many of the columns (A,) there are."""
        return np.bincount(cell[columns], minlength=G * C).reshape(G, C)

    def count_most(columns: BoolArray, pools: BoolArray) -> IntArray:
        """(G, C) the same, and the tasks (T,) that may be in their pools."""
        in_pool = np.bincount(problem.group[pools], minlength=G)[:, None] - count_columns(pools[problem.col_task])
        return count_columns(columns) + in_pool

    leading = forced.leading & problem.logged[problem.col_task]
    leaders = np.bincount(problem.col_task[leading], minlength=problem.T)
    only = (leaders == 1) & ~forced.pool_leading
    may_lead = count_most(leading, forced.pool_leading & problem.logged)
    must_lead = count_columns(leading & only[problem.col_task])
    may_hold, must_hold = count_most(forced.mandatory | forced.tied, forced.pool_tied), count_columns(forced.mandatory)
    unlogged = (problem.kind != LOGGED)[:, None]
    stateful = problem.kind != STATELESS
    low, high = shares.group_active.low, shares.group_active.high
    may_run = np.where(unlogged, high, np.minimum(may_lead, high))
    return bool(
        np.any(~unlogged & (may_lead < low))
        or np.any(must_lead > high)
        or np.any(must_lead.sum(axis=0) > shares.stateful.high)
        or np.any(may_run[stateful].sum(axis=0) < shares.stateful.low)
        or np.any(may_run.sum(axis=0) < shares.active.low)
        or np.any(may_hold < shares.group_copies.low)
        or np.any(may_hold.sum(axis=0) < shares.copies.low)
        or np.any(must_hold > shares.group_copies.high)
        or np.any(must_hold.sum(axis=0) > shares.copies.high)
    )


def choose_greedy_actives(problem: Problem, shares: ShareFamilies, columns: BoolArray, pools: BoolArray) -> Actives | None:
    """Actives of little imbalance, summed over the three families of active shares, and of few moves; no bounds.

    Args:
        columns: (A,) columns that may be used.
        pools: (T,) not used: None where a task has no column.
    """
    if np.any(np.bincount(problem.col_task[columns], minlength=problem.T) == 0):
        return None
    options = ActiveOptions.of(problem, columns, np.zeros_like(pools))
    return Actives(lessen_imbalance(problem, shares, options, options.choose_cheapest(problem)), [])
