"""The remembered answer, applied to this rebalance: each task's clients, moves on their way, the assignment before.

Keys are task × C + client, C clients. Names of clients or tasks that are not here are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import INT64_MAX
from optassign.formats.state import RUNNING
from optassign_models.problem import BoolArray, IntArray, Placement, Problem, make_placement, sort_unique
from optassign_models.warmups import Progress


@dataclass(frozen=True, eq=False)
class Memory:
    """The remembered answer in keys."""

    known: bool
    active: IntArray
    """(T,) key of each task's remembered active copy, or −1."""
    standby: IntArray
    """(n,) keys of the remembered standbys of logged tasks, sorted."""
    warmup: IntArray
    """(n,) keys of the remembered warm-ups, sorted."""
    plan_active: IntArray
    """(T,) as `active`; where the answer was its own plan, the answer."""
    plan_standby: IntArray
    """(n,) keys of the plan's standbys, sorted."""
    progress: Progress
    plan_differs: bool
    seen: BoolArray
    """(T,) some client had a copy of the task, be it here or gone."""

    @classmethod
    def read(
        cls, remembered: TaskAssignment | None, index: dict[str, int], owner: dict[str, int], logged: BoolArray, C: int
    ) -> Memory:
        """Read an answer, for tasks and clients by their indices; (T,) `logged`; C clients."""
        nothing = np.zeros(0, dtype=np.int64)
        nobody = np.full(len(index), -1, dtype=np.int64)
        if remembered is None:
            return cls(
                False, nobody, nothing, nothing, nobody, nothing, Progress(nothing, nothing, nothing), False, nobody >= 0
            )
        seen = np.zeros(len(index), dtype=np.bool_)
        seen[[index[task] for client in remembered.clients for task in (*client.active, *client.standby)]] = True
        answer = [(owner[c.process_id], c) for c in remembered.clients if c.process_id in owner]
        active = nobody.copy()
        keys = list_keys(index, ((c, client.active) for c, client in answer), C)[::-1]
        active[keys // C] = keys  # the last written: of several, in a broken answer, the least client, as for the judge
        standby = list_keys(index, ((c, client.standby) for c, client in answer), C)
        standby = standby[logged[standby // C]]
        warmup = list_keys(index, ((c, client.warmup) for c, client in answer), C)
        plan_active, plan_standby = active, standby
        if remembered.plan is not None:
            planned = [(owner[p.process_id], p) for p in remembered.plan if p.process_id in owner]
            plan_active = nobody.copy()
            keys = list_keys(index, ((c, client.active) for c, client in planned), C)
            plan_active[keys // C] = keys
            plan_standby = list_keys(index, ((c, client.standby) for c, client in planned), C)
        rows = [
            (index[w.task] * C + owner[w.process_id], -1 if w.lag is None else w.lag, w.answers_without_progress)
            for w in remembered.report.warmup_progress
            if w.task in index and w.process_id in owner
        ]
        table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        progress = Progress(table[:, 0], table[:, 1], table[:, 2])
        return cls(
            True,
            active,
            sort_unique(standby),
            sort_unique(warmup),
            plan_active,
            sort_unique(plan_standby),
            progress,
            remembered.plan is not None,
            seen,
        )

    def plan_keys(self) -> tuple[IntArray, IntArray]:
        """(T,) the plan's keys of actives, −1 for none, and (n,) those of standbys, sorted."""
        return self.plan_active, self.plan_standby

    def placement_of_plan(self, standbys: int, logged: BoolArray, C: int) -> Placement | None:
        """The plan, where it has every copy of every task on clients that are here; `logged` is (T,)."""
        return _whole(self.plan_active, self.plan_standby, standbys, logged, C)

    def placement_of_answer(self, standbys: int, logged: BoolArray, C: int) -> Placement | None:
        """The answer, where it has every copy of every task on clients that are here; `logged` is (T,)."""
        return _whole(self.active, self.standby, standbys, logged, C)


def _whole(active: IntArray, standby: IntArray, standbys: int, logged: BoolArray, C: int) -> Placement | None:
    """A placement, if it has every copy of every task on clients that are here."""
    T = len(active)
    number = np.bincount(standby // C, minlength=T)
    if np.any(active < 0) or np.any(number != np.where(logged, standbys, 0)) or np.isin(active, standby).any():
        return None
    return make_placement(active % C, standby, C)


def list_keys(index: Mapping[str, int], rows: Iterable[tuple[int, Collection[str]]], clients: int) -> IntArray:
    """The keys of what rows (client, tasks) list, in their order. `index`: of each task."""
    listed = list(rows)
    client, number = np.array([(c, len(tasks)) for c, tasks in listed], dtype=np.int64).reshape(-1, 2).T
    task = np.fromiter(map(index.__getitem__, chain.from_iterable(tasks for _, tasks in listed)), dtype=np.int64)
    return np.asarray(task * clients + np.repeat(client, number))


def rank_for_this_rebalance(
    keys: IntArray,
    rank: IntArray,
    lag: IntArray,
    memory: Memory,
    in_transit: BoolArray,
    acceptable: int,
    end: IntArray,
    C: int,
    standbys: int,
) -> IntArray:
    """(A,) the rank that decides this rebalance: R10 lets the remembered answer decide for a task in transit, while its client
    is no worse than the best one by more than acceptable_recovery_lag. Its standbys follow memory only if the active does
    (otherwise R3 would take one of them for the most caught up), and if they are not too many."""
    first_rank = rank.copy()
    if not in_transit.any():
        return first_rank
    task, T = keys // C, len(end)
    is_standby, is_active = np.isin(keys, memory.standby), memory.active[task] == keys
    absent = np.where(np.bincount(task, minlength=T) < C, end, INT64_MAX)  # the lag of clients that list nothing

    def least(of: BoolArray) -> IntArray:
        lags = absent.copy()
        np.minimum.at(lags, task[of], lag[of])
        return lags[task]

    # A lag is at most int64's end and at least 0, so the differences cannot overflow.
    confirmed = in_transit[task] & is_active & (lag - least(np.ones(len(keys), dtype=np.bool_)) <= acceptable)
    stays = (np.bincount(task[confirmed], minlength=T) > 0) & (np.bincount(task[is_standby], minlength=T) <= standbys)
    first_rank[stays[task] & is_standby & (lag - least(~is_standby & ~is_active) <= acceptable)] = -1
    first_rank[confirmed] = -2
    return first_rank


def looks_like_second_pass(claimed: IntArray, caught_up: IntArray, pool_rank: IntArray, logged: BoolArray) -> bool:
    """Some tasks have no owner while others do, and each of them is caught up somewhere: a task that is given away goes to a
    caught-up client (R3). Owners of each task, `claimed`, and `pool_rank` and `logged` are (T,); `caught_up`: (n,) tasks."""
    nobodys = claimed == 0
    ready = (np.bincount(caught_up, minlength=len(claimed)) > 0) | (pool_rank == 0) | ~logged
    return bool(nobodys.any() and (~nobodys).any() and ready[nobodys].all())


def find_previous(
    problem: Problem, keys: IntArray, owns: BoolArray, lag: IntArray, lists: BoolArray, memory: Memory
) -> Placement | None:
    """Find the assignment before (R7): owners as listed, a task in transit as remembered; standbys as remembered, otherwise the
    listed ones, dropped copies among them, of least lag, then of least id. Arrays are (n,), as `keys`."""
    T, C = problem.T, problem.C
    at = np.flatnonzero(owns)
    task = keys[at] // C
    remembered = memory.active[task] == keys[at] if T else np.zeros(0, dtype=np.bool_)
    order = np.lexsort((keys[at], lag[at] != RUNNING, ~remembered, task))[::-1]
    active = np.where(memory.active >= 0, memory.active % C, -1)
    active[task[order]] = keys[at][order] % C  # the last written is the best
    if np.any(active < 0):
        return None
    if memory.known:
        standby = memory.standby[active[memory.standby // C] != memory.standby % C]
    else:
        listed = np.flatnonzero(lists & ~(active[keys // C] == keys % C))
        listed = listed[np.lexsort((keys[listed], lag[listed], keys[listed] // C))]
        place = np.arange(len(listed)) - np.searchsorted(keys[listed] // C, keys[listed] // C)
        standby = keys[listed[place < problem.standbys]]
    number = np.bincount(standby // C, minlength=T)
    if np.any(number[problem.logged] != problem.standbys):
        return None
    return make_placement(active, standby, C)
