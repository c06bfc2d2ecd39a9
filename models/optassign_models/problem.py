"""The problem as arrays: the only data that models read.

Shapes: T tasks, C clients, G subtopologies, A columns. A *column* is a candidate of docs/explanation/model.md: a pair (task,
client) whose client has state of the task, had a copy of it, or has one in the remembered answer. All other clients of a task
are interchangeable and form its *pool*, with one rank and one restore cost. 10,000 tasks on 1,000 clients need some 20,000
columns instead of ten million.

Tasks are sorted, so that the tasks of one subtopology stand together; clients are sorted; columns by (task, client).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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
        return (
            np.array_equal(self.active, other.active)
            and np.array_equal(self.standby_task, other.standby_task)
            and np.array_equal(self.standby_client, other.standby_client)
        )


def sort_unique(keys: IntArray) -> IntArray:
    """Return (m,) the distinct keys of `keys` (n,), ascending. `np.unique` hashes integers and takes ten times as long."""
    ordered = np.sort(keys)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


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
class Problem:
    """One rebalance. Offsets are int64; `units` are threads × capacity in whole units of a millionth of a thread."""

    standbys: int
    """Standbys of each logged task: min(num_standby_replicas, clients − 1)."""
    max_warmups: int
    acceptable_lag: int
    balance_factor: int
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
    def logged(self) -> BoolArray:
        """(T,) whether the task has a changelog."""
        return self.kind[self.group] == LOGGED

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
        keys = np.union1d(np.arange(self.T) * self.C + placed.active, placed.standby_keys(self.C))
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
        )

    def with_all_columns(self, tasks: IntArray | None = None) -> Problem:
        """Return the same problem with every client as a column of the given tasks (all, if None); their pools are empty."""
        chosen = np.arange(self.T) if tasks is None else np.asarray(tasks, dtype=np.int64)
        return self.with_columns((chosen[:, None] * self.C + np.arange(self.C)[None, :]).ravel())
