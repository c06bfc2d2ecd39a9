"""The problem as arrays: the only data that models read.

Shapes: T tasks, C clients, G subtopologies, A columns. A *column* is a candidate of docs/explanation/model.md: a pair (task,
client) whose client has state of the task, had a copy of it, or has one in the remembered answer. All other clients of a task
are interchangeable and form its *pool*, with one rank and one restore cost. 10,000 tasks on 1,000 clients need some 20,000
columns instead of ten million.

Tasks are sorted, so that the tasks of one subtopology stand together; clients are sorted; columns by (task, client).

R3 to R5 force copies in this rebalance, task by task (`Forced`). The s + 1 copies of a logged task go to its clients of least
rank. Clients below the last rank that is needed (the threshold) are mandatory; of the *tied* clients at the threshold any
`choices` may be taken. So the ranks of the copies are fixed, and with them the restore work that this answer forces. Only the
choice among tied clients is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

STATELESS, UNLOGGED, LOGGED = 0, 1, 2

_Data = TypeVar("_Data")


@dataclass(frozen=True, eq=False)
class Placement:
    """The clients of copies: one active per task, and standbys as pairs sorted by (task, client)."""

    active: IntArray
    """(T,) client of the active copy; -1 for none."""
    standby_task: IntArray
    """(S,) task of each standby."""
    standby_client: IntArray
    """(S,) client of each standby."""

    def standby_keys(self, clients: int) -> IntArray:
        """Return (S,) task × clients + client, sorted: for set operations on pairs."""
        return self.standby_task * clients + self.standby_client

    def copy_keys(self, clients: int, logged: BoolArray) -> IntArray:
        """Return (n,) task × clients + client of active and standby copies of tasks in `logged` (T,), sorted."""
        tasks = np.flatnonzero(logged & (self.active >= 0))
        return np.sort(np.concatenate([tasks * clients + self.active[tasks], self.standby_keys(clients)]))

    def same_as(self, other: Placement) -> bool:
        """Return whether both name the same copies in the same roles."""
        mine, theirs = ((each.active, each.standby_task, each.standby_client) for each in (self, other))
        return all(map(np.array_equal, mine, theirs))


def sort_unique(keys: IntArray) -> IntArray:
    """Return (m,) the distinct keys ≥ 0 of `keys` (n,), ascending. `np.unique` hashes integers and takes ten times as long."""
    ordered = np.sort(keys)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def find_sorted(ordered: IntArray, keys: IntArray) -> IntArray:
    """Return (n,) the position of each key (n,) in an ascending array, or −1 if absent."""
    if not len(ordered):
        return np.full(len(keys), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return np.where(ordered[at] == keys, at, -1)


def rank_within(group: IntArray) -> IntArray:
    """Return the number of earlier elements of the same group for each element (n,)."""
    order = np.argsort(group, kind="stable")
    arranged = group[order]
    begins = np.flatnonzero(np.append(True, arranged[1:] != arranged[:-1])[: len(group)])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(begins, np.diff(np.append(begins, len(group))))
    return rank


def make_placement(active: IntArray, standby_keys: IntArray, clients: int) -> Placement:
    """Return a placement from the actives (T,) and the standbys' keys (S,), task × clients + client, in any order."""
    keys = np.sort(np.asarray(standby_keys, dtype=np.int64))
    return Placement(np.asarray(active, dtype=np.int64), keys // clients, keys % clients)


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


@dataclass(frozen=True, eq=False)
class Application:
    """The tasks and clients of a snapshot. Offsets are int64; `units` are threads × capacity in millionths of a thread."""

    standbys: int
    """Standbys of each logged task: min(num_standby_replicas, clients − 1)."""
    max_warmups: int
    acceptable_lag: int
    group: IntArray
    """(T,) subtopology of each task, ascending."""
    kind: IntArray
    """(G,) STATELESS, UNLOGGED or LOGGED."""
    units: IntArray
    """(C,) relative capacity, > 0."""
    threads: IntArray
    """(C,) stream threads."""
    draining: BoolArray
    """(C,) whether the client is about to leave."""
    end: IntArray
    """(T,) offsets of the task's whole changelog; 0 without one."""

    def list_fields(self) -> dict[str, Any]:
        """Return name → value of the fields above, which the application has in common with its rebalances."""
        return {each.name: getattr(self, each.name) for each in fields(Application)}

    @property
    def T(self) -> int:  # noqa: N802 - the formulation's own letters
        """Number of tasks."""
        return len(self.group)

    @property
    def C(self) -> int:  # noqa: N802
        """Number of clients."""
        return len(self.units)

    @property
    def G(self) -> int:  # noqa: N802
        """Number of subtopologies."""
        return len(self.kind)

    @cached_property
    def staying(self) -> BoolArray:
        """(C,) whether the client is not about to leave; all clients stay if all are."""
        return ~self.draining | self.draining.all()

    @cached_property
    def logged(self) -> BoolArray:
        """(T,) whether the task has a changelog."""
        return self.kind[self.group] == LOGGED


@dataclass(frozen=True, eq=False)
class Problem(Application):
    """One rebalance."""

    balance_factor: int
    pool_rank: IntArray
    """(T,) rank of the clients that have no column of the task."""
    pool_cost: IntArray
    """(T,) restore cost, offsets, of a copy on such a client."""
    col_task: IntArray
    """(A,) task of each column; columns are sorted by (task, client)."""
    col_client: IntArray
    """(A,) client of each column."""
    col_rank: IntArray
    """(A,) rank, 0 is caught up (docs/reference/rules.md, "Rank")."""
    col_cost: IntArray
    """(A,) restore cost of a copy, offsets; 0 at rank 0."""
    col_lag: IntArray
    """(A,) offsets to replay (docs/reference/rules.md, "Lag"), for tie-breaking within a rank."""
    col_rank_now: IntArray
    """(A,) rank that decides this rebalance: `col_rank`, but −2 (active) and −1 (standby) where R10 lets the remembered
    answer decide."""
    col_owner: BoolArray
    """(A,) whether the client lists the task as previously active."""
    col_standby: BoolArray
    """(A,) whether the client had a standby of the task: a remembered one or, without memory, a listed one."""
    col_state: BoolArray
    """(A,) whether the client has state of the task on its disk, or holds the task."""
    has_history: BoolArray
    """(T,) whether the task is not new: it has a holder, or the remembered answer names it. Only its standbys can migrate."""
    lag_unknown: bool = False
    """Whether a lag is unknown (−3), so that a follow-up is due (R8)."""
    remembered_plan: Placement | None = None
    """The plan of the remembered answer; None unless it places every copy on a present client."""
    goal_data: Mapping[str, object] = field(default_factory=dict)
    """Goal → further data of its model (`data_of`)."""

    @cached_property
    def stateful(self) -> BoolArray:
        """(T,) whether the task is stateful."""
        return self.kind[self.group] != STATELESS

    @cached_property
    def col_keys(self) -> IntArray:
        """(A,) task × C + client, ascending."""
        return self.col_task * self.C + self.col_client

    @cached_property
    def col_start(self) -> IntArray:
        """(T + 1,) the columns of task t are col_start[t] : col_start[t + 1]."""
        return np.searchsorted(self.col_task, np.arange(self.T + 1))

    @cached_property
    def pool_size(self) -> IntArray:
        """(T,) clients without a column of the task."""
        return self.C - np.diff(self.col_start)

    @cached_property
    def has_owner(self) -> BoolArray:
        """(T,) whether some client lists the task as previously active."""
        return np.bincount(self.col_task[self.col_owner], minlength=self.T) > 0

    @cached_property
    def forced(self) -> Forced:
        """The copies that R3 to R5 force. No pool may be mandatory, which `prepare` ensures."""
        return _find_forced(self)

    def keeps_r3_to_r5(self, answer: Placement) -> bool:
        """Return whether an assignment with the right number of copies keeps R3 and R5."""
        C, forced, copies = self.C, self.forced, answer.copy_keys(self.C, self.logged)
        may_lead = self.look_up(np.arange(self.T) * C + answer.active, forced.leading, forced.pool_leading)
        may_hold = self.look_up(copies, forced.mandatory | forced.tied, forced.pool_tied[copies // C])
        return bool(may_lead.all() and may_hold.all() and np.all(find_sorted(copies, self.col_keys[forced.mandatory]) >= 0))

    def data_of(self, goal: str, kind: type[_Data]) -> _Data | None:
        """Return the snapshot's data for a goal, or None if the goal is not requested or the snapshot lacks its data."""
        data = self.goal_data.get(goal)
        return data if isinstance(data, kind) else None

    def classify(self, labels: Iterable[IntArray]) -> IntArray:
        """Return (C,) the class of each client, 0 to K − 1. Clients with equal `labels` (C,) are in one class."""
        rows = np.stack([np.zeros(self.C, dtype=np.int64), *labels])
        return np.unique(rows, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def find(self, keys: IntArray) -> IntArray:
        """Return (n,) the column of each key (n,), or −1 for a client of the pool."""
        return find_sorted(self.col_keys, keys)

    def look_up(self, keys: IntArray, of_columns: npt.NDArray[Any], of_pool: npt.NDArray[Any] | bool | int) -> npt.NDArray[Any]:
        """Return (n,) a value for each pair `keys` (n,): from `of_columns` (A,), or `of_pool` (n,) for clients of the pool."""
        at = self.find(keys)
        return np.where(at >= 0, of_columns[at] if len(of_columns) else of_pool, of_pool)

    def rank_of(self, keys: IntArray) -> IntArray:
        """Return (n,) the rank of each pair `keys` (n,)."""
        return self.look_up(keys, self.col_rank, self.pool_rank[keys // self.C])

    def cost_of(self, keys: IntArray) -> IntArray:
        """Return (n,) the restore cost of a copy on each pair `keys` (n,), in offsets."""
        return self.look_up(keys, self.col_cost, self.pool_cost[keys // self.C])

    def lag_of(self, keys: IntArray) -> IntArray:
        """Return (n,) the lag of each pair `keys` (n,), in offsets; the whole changelog for the pool."""
        return self.look_up(keys, self.col_lag, self.end[keys // self.C])

    def flag_of(self, keys: IntArray, flag: BoolArray) -> BoolArray:
        """Return (n,) the value of `flag` (A,) for each pair `keys` (n,); False for clients of the pool."""
        return self.look_up(keys, flag, False)

    def with_columns(self, keys: IntArray) -> Problem:
        """Return the same problem with the pool's pairs `keys` (n,) written out as columns of their own."""
        keys = sort_unique(keys)
        keys = keys[self.find(keys) < 0]
        if not len(keys):
            return self
        task = keys // self.C
        order = np.argsort(np.concatenate([self.col_keys, keys]), kind="stable")
        no = np.zeros(len(keys), dtype=np.bool_)

        def join(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([old, new])[order]

        return replace(
            self,
            col_task=join(self.col_task, task),
            col_client=join(self.col_client, keys % self.C),
            col_rank=join(self.col_rank, self.pool_rank[task]),
            col_cost=join(self.col_cost, self.pool_cost[task]),
            col_lag=join(self.col_lag, self.end[task]),
            col_rank_now=join(self.col_rank_now, self.pool_rank[task]),
            col_owner=join(self.col_owner, no),
            col_standby=join(self.col_standby, no),
            col_state=join(self.col_state, no),
        )

    def after_restoring(self, placed: Placement) -> Problem:
        """Return the problem of the next rebalance, if all copies of `placed` are restored and all other state is gone."""
        keys = placed.copy_keys(self.C, np.ones(self.T, dtype=np.bool_))
        task, client = keys // self.C, keys % self.C
        nothing = np.zeros_like(keys)
        is_active = placed.active[task] == client
        return replace(
            self,
            col_task=task,
            col_client=client,
            col_rank=nothing,
            col_cost=nothing,
            col_lag=nothing,
            col_rank_now=nothing,
            col_owner=is_active,
            col_standby=~is_active,
            col_state=np.ones(len(keys), dtype=np.bool_),
            has_history=np.ones(self.T, dtype=np.bool_),
        )

    def with_all_columns(self, tasks: IntArray | None = None) -> Problem:
        """Return the same problem with every client as a column of the given tasks (all, if None); their pools are empty."""
        chosen = np.arange(self.T) if tasks is None else np.asarray(tasks, dtype=np.int64)
        return self.with_columns((chosen[:, None] * self.C + np.arange(self.C)[None, :]).ravel())


def prepare(problem: Problem) -> Problem:
    """Return the problem with pools written out as columns if their clients are not interchangeable.

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
    return problem.with_all_columns(np.flatnonzero(write_out)) if write_out.any() else problem


def _find_forced(problem: Problem) -> Forced:
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
    tie_cost = np.where(tie_not_caught_up, tie_cost, 0)
    return Forced(
        choices=choices,
        tie_cost=tie_cost,
        tie_not_caught_up=tie_not_caught_up,
        mandatory=mandatory,
        tied=tied,
        leading=~column_logged | (problem.col_rank_now == least[task]),
        pool_tied=pool_tied,
        pool_leading=has_pool & (~logged | (problem.pool_rank == least)),
        forced_work=exact_sum(problem.col_cost[mandatory]) + exact_sum(tie_cost, choices),
        forced_not_caught_up=int(np.sum(problem.col_rank[mandatory] > 0) + np.sum(choices[tie_not_caught_up])),
    )


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
    ranks = np.append(problem.col_rank_now[np.lexsort((problem.col_rank_now, problem.col_task))], 0)
    start, number = problem.col_start[:-1], np.diff(problem.col_start)
    first = problem.standbys - problem.pool_size  # if the pool's clients come before the place, otherwise they come after it
    before = np.where(first >= 0, ranks[start + np.maximum(first, 0)], np.iinfo(np.int64).min)
    after = np.where(
        problem.standbys < number, ranks[np.minimum(start + problem.standbys, len(ranks) - 1)], np.iinfo(np.int64).max
    )
    return np.where(problem.logged, np.maximum(before, np.minimum(problem.pool_rank, after)), 0)


def _least_rank(problem: Problem) -> IntArray:
    """Return (T,) the least rank of any client; 0 for tasks without changelog."""
    least = np.where(problem.pool_size > 0, problem.pool_rank, np.iinfo(np.int64).max)
    np.minimum.at(least, problem.col_task, problem.col_rank_now)
    return np.where(problem.logged, least, 0)
