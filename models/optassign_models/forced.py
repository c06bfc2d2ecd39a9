"""The copies that R3 to R5 leave open in this rebalance, task by task.

The s + 1 copies of a logged task go to its clients of least rank. Clients below the last rank that is needed (the threshold)
are mandatory; of the *tied* clients at the threshold any `choices` may be taken. So the ranks of the copies are fixed, and
with them the restore work that this answer forces. Only the choice among tied clients is open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optassign_models.problem import BoolArray, IntArray, Placement, Problem


@dataclass(frozen=True, eq=False)
class Forced:
    """The copies that R3 to R5 force, and the clients to choose from. Tasks without changelog have no tied clients."""

    choices: IntArray
    """(T,) number of copies to be chosen among the tied clients; 0 for tasks without changelog."""
    tie_cost: IntArray
    """(T,) restore cost of a copy on a tied client, the least if they differ; 0 if tied clients are caught up."""
    tie_not_caught_up: BoolArray
    """(T,) whether tied clients have a rank above 0: their first `choices` copies are forced, further ones cost."""
    mandatory: BoolArray
    """(A,) whether the client must hold a copy now."""
    tied: BoolArray
    """(A,) whether the client is tied."""
    leading: BoolArray
    """(A,) whether the client may hold the active copy now."""
    pool_tied: BoolArray
    """(T,) whether the pool's clients are tied."""
    pool_leading: BoolArray
    """(T,) whether the pool's clients may hold the active copy now."""
    forced_work: int
    """Restore work of this answer, offsets, for any choice."""
    forced_not_caught_up: int
    """Number of copies of rank above 0 in this answer, for any choice."""


def prepare(problem: Problem) -> tuple[Problem, Forced]:
    """Return the problem with pools written out as columns if their clients are not interchangeable, and its `Forced`.

    A pool is written out if all its clients must hold copies, or if it has the least rank and some column a greater one. Both
    are rare: few clients, or a tiny changelog and a longer lag.
    """
    rank, least = _threshold(problem), _least_rank(problem)
    has_pool = problem.logged & (problem.pool_size > 0)
    up_to = np.bincount(problem.col_task[problem.col_rank_now <= rank[problem.col_task]], minlength=problem.T)
    exact = (problem.pool_rank == rank) & (up_to + problem.pool_size <= problem.standbys + 1)
    worse = np.bincount(problem.col_task[problem.col_rank_now > least[problem.col_task]], minlength=problem.T)
    mixed = (problem.pool_rank == least) & (worse > 0)
    write_out = has_pool & ((problem.pool_rank < rank) | exact | mixed)
    if write_out.any():
        problem = problem.with_all_columns(np.flatnonzero(write_out))
    return problem, find_forced(problem)


def find_forced(problem: Problem) -> Forced:
    """Return the copies that R3 to R5 force. No pool may be mandatory, which `prepare` ensures."""
    logged, task = problem.logged, problem.col_task
    threshold, least = _threshold(problem), _least_rank(problem)
    column_logged, has_pool = logged[task], problem.pool_size > 0
    below = column_logged & (problem.col_rank_now < threshold[task])
    tied = column_logged & (problem.col_rank_now == threshold[task])
    pool_tied = logged & has_pool & (problem.pool_rank == threshold)
    choices = np.where(logged, problem.standbys + 1 - np.bincount(task[below], minlength=problem.T), 0)
    number = np.bincount(task[tied], minlength=problem.T) + np.where(pool_tied, problem.pool_size, 0)
    all_taken = logged & (number == choices)
    mandatory = below | (tied & all_taken[task])
    tied &= ~all_taken[task]
    choices = np.where(all_taken, 0, choices)
    pool_tied &= ~all_taken

    # Clients of one rank cost the same, except for a lag of 1 or 2 next to an unknown lag (ranks 1 and 2), if the acceptable
    # lag is less. With the least cost the forced work is a lower bound then.
    tie_cost = np.where(pool_tied, problem.pool_cost, np.iinfo(np.int64).max)
    np.minimum.at(tie_cost, task[tied], problem.col_cost[tied])
    tie_rank = np.where(pool_tied, problem.pool_rank, 0)
    np.maximum.at(tie_rank, task[tied], problem.col_rank[tied])
    tie_not_caught_up = (choices > 0) & (tie_rank > 0)
    return Forced(
        choices=choices,
        tie_cost=np.where(tie_not_caught_up, tie_cost, 0),
        tie_not_caught_up=tie_not_caught_up,
        mandatory=mandatory,
        tied=tied,
        leading=~column_logged | (problem.col_rank_now == least[task]),
        pool_tied=pool_tied,
        pool_leading=has_pool & (~logged | (problem.pool_rank == least)),
        forced_work=exact_sum(problem.col_cost[mandatory])
        + exact_sum(np.where(tie_not_caught_up, tie_cost, 0), np.where(tie_not_caught_up, choices, 0)),
        forced_not_caught_up=int(np.sum(problem.col_rank[mandatory] > 0) + np.sum(choices[tie_not_caught_up])),
    )


def keeps_r3_to_r5(problem: Problem, forced: Forced, answer: Placement) -> bool:
    """Return whether an assignment with the right number of copies keeps R3 and R5."""
    C, copies = problem.C, answer.copy_keys(problem.C, problem.logged)
    may_lead = problem.look_up(np.arange(problem.T) * C + answer.active, forced.leading, forced.pool_leading)
    may_hold = problem.look_up(copies, forced.mandatory | forced.tied, forced.pool_tied[copies // C])
    return bool(may_lead.all() and may_hold.all() and np.isin(problem.col_keys[forced.mandatory], copies).all())


def exact_sum(values: IntArray, times: IntArray | None = None) -> int:
    """Return Σ `values` (n,) × `times` (n,) without overflow."""
    if times is None:
        times = np.ones_like(values)
    used = (values != 0) & (times != 0)
    values, times = values[used], times[used]
    if not len(values):
        return 0
    if int(np.abs(values).max()) * int(np.abs(times).max()) * len(values) < 1 << 62:
        return int(np.dot(values, times))
    return int(np.sum(values.astype(object) * times.astype(object)))


def _threshold(problem: Problem) -> IntArray:
    """Return (T,) the rank of the (s + 1)-th most caught-up client of each logged task; 0 for the others."""
    need = problem.standbys + 1
    start = problem.col_start
    ranks = problem.col_rank_now[np.lexsort((problem.col_rank_now, problem.col_task))]
    number = np.diff(start)
    pool = problem.pool_size
    less = np.bincount(problem.col_task[problem.col_rank_now < problem.pool_rank[problem.col_task]], minlength=problem.T)
    in_columns = (need <= less) | (pool == 0)
    in_pool = ~in_columns & (need <= less + pool)
    position = np.where(in_columns, need - 1, need - 1 - pool)
    at = np.clip(start[:-1] + np.clip(position, 0, np.maximum(number - 1, 0)), 0, max(len(ranks) - 1, 0))
    from_columns = ranks[at] if len(ranks) else np.zeros(problem.T, dtype=np.int64)
    return np.where(problem.logged, np.where(in_pool, problem.pool_rank, from_columns), 0)


def _least_rank(problem: Problem) -> IntArray:
    """Return (T,) the least rank of any client; 0 for tasks without changelog."""
    least = np.where(problem.pool_size > 0, problem.pool_rank, np.iinfo(np.int64).max)
    np.minimum.at(least, problem.col_task, problem.col_rank_now)
    return np.where(problem.logged, least, 0)
