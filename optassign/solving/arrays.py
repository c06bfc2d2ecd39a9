"""ApplicationState ↔ arrays: the one place where ids meet indices.

Tasks and clients are sorted in the state, so index order is id order. Work and memory are proportional to what the snapshot
lists (lags, previous tasks, remembered copies), never to tasks × clients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from optassign.formats.assignment import KafkaStreamsAssignment, PlannedAssignment, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.order import goal_order
from optassign.models.problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray, Placement, Problem, make_placement
from optassign.models.warmups import Progress

_INT64_MAX = (1 << 63) - 1
_RUNNING, _UNKNOWN = -2, -3
_WEIGHT_UNIT = 1_000_000_000_000
"""Task weights are relative: they count in so small parts of the greatest that no sum of them is off by a millionth."""
_CAPACITY_UNIT = 1_000_000
"""Capacities count in millionths of a thread: shares are then exact fractions."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """A snapshot as arrays, with the way back to ids."""

    problem: Problem
    tasks: tuple[str, ...]
    clients: tuple[str, ...]
    previous: Placement | None
    """What was assigned before, where that is known (R7)."""
    remembered: Placement | None
    """The remembered answer, where all its clients and tasks are these and nobody owns a task that it gave to another (R10)."""
    in_transit: BoolArray
    """(T,) tasks that nobody owns though the remembered answer gave them to a client that is there."""
    unconfirmed: bool
    """There is no memory, and some tasks are nobody's, all of them caught up somewhere, while others have owners: this may be
    the second pass of an answer that is not known (or a client has gone)."""
    remembered_notes: tuple[str, ...]
    """The notes in the report of the remembered answer."""
    same_clients: bool
    """The remembered answer names exactly the clients that are here."""
    remembered_own_plan: Placement | None
    """The remembered plan, where it is another than the answer itself."""
    remembered_plan_lost: bool
    """The remembered plan names tasks or clients that are not here, or not all that are."""
    assigned_before: IntArray
    """Keys of all copies and warm-ups of the remembered answer, sorted."""
    under_way: IntArray
    """Keys of the remembered warm-ups, sorted."""
    progress: Progress

    def clients_of(
        self, answer: Placement, warmups: IntArray, followup: tuple[int, int] | None
    ) -> tuple[KafkaStreamsAssignment, ...]:
        """The answer by client. `followup`: (client, delay in ms)."""
        active = self._by_client(np.arange(len(self.tasks)), answer.active)
        standby = self._by_client(answer.standby_task, answer.standby_client)
        warmup = self._by_client(warmups // self.problem.C, warmups % self.problem.C)
        return tuple(
            KafkaStreamsAssignment.model_construct(
                process_id=process_id,
                active=active[c],
                standby=standby[c],
                warmup=warmup[c],
                followup_rebalance_ms=followup[1] if followup is not None and followup[0] == c else None,
            )
            for c, process_id in enumerate(self.clients)
        )

    def plan_of(self, plan: Placement) -> tuple[PlannedAssignment, ...]:
        """The plan by client."""
        active = self._by_client(np.arange(len(self.tasks)), plan.active)
        standby = self._by_client(plan.standby_task, plan.standby_client)
        return tuple(
            PlannedAssignment.model_construct(process_id=process_id, active=active[c], standby=standby[c])
            for c, process_id in enumerate(self.clients)
        )

    def _by_client(self, task: IntArray, client: IntArray) -> list[tuple[str, ...]]:
        order = np.lexsort((task, client))
        names = [self.tasks[t] for t in task[order].tolist()]
        ends = np.cumsum(np.bincount(client, minlength=len(self.clients))).tolist()
        starts = [0, *ends[:-1]]
        return [tuple(names[a:b]) for a, b in zip(starts, ends, strict=True)]


def to_arrays(state: ApplicationState) -> Arrays:
    """The snapshot as arrays."""
    tasks = tuple(task.id for task in state.tasks)
    clients = tuple(client.process_id for client in state.clients)
    T, C = len(tasks), len(clients)
    index = {task: t for t, task in enumerate(tasks)}
    owner = {client: c for c, client in enumerate(clients)}
    group, kind = _groups(state)
    logged = kind[group] == LOGGED if T else np.zeros(0, dtype=np.bool_)
    configs = state.configs
    standbys = min(configs.num_standby_replicas, C - 1)

    active_keys = _keys(((index, c, client.previous_active) for c, client in enumerate(state.clients)), C)
    listed = _keys(((index, c, client.previous_standby) for c, client in enumerate(state.clients)), C)
    listed = listed[logged[listed // C]]
    lag_keys = _keys(((index, c, client.lags) for c, client in enumerate(state.clients)), C)
    lags = np.fromiter((lag for client in state.clients for lag in client.lags.values()), np.int64, len(lag_keys))

    memory = _Memory.of(state.remembered, index, owner, logged, C)
    end = _ends(state, logged, lag_keys, lags, C)
    remembered_keys = np.concatenate([memory.active, memory.standby, memory.warmup, *memory.plan_keys()])
    keys = np.unique(np.concatenate([active_keys, listed, lag_keys, remembered_keys[remembered_keys >= 0]]))
    owns, lists = np.isin(keys, active_keys), np.isin(keys, listed)
    holder = owns | lists

    task = keys // C
    lag = end[task].copy()
    at = np.searchsorted(keys, lag_keys)
    lag[at] = lags
    explicit = np.zeros(len(keys), dtype=np.bool_)
    explicit[at] = True
    has_state = holder | (explicit & (((lag >= 0) & (lag < end[task])) | (lag == _RUNNING)))
    unknown = explicit & (lag == _UNKNOWN)
    rank, cost = _rank_and_cost(lag, holder, end[task], logged[task], configs.acceptable_recovery_lag)
    plain_lag = np.where(lag == _RUNNING, 0, np.where(unknown, np.where(holder, 0, end[task]), lag))
    pool_rank, pool_cost = _rank_and_cost(end, np.zeros(T, dtype=np.bool_), end, logged, configs.acceptable_recovery_lag)

    # Where every client reported a lag, nobody is absent: the pool is then the class of the least caught-up strangers, as
    # a dense snapshot has them (each client without state reports the whole changelog).
    remembered_pairs = np.isin(keys, remembered_keys)
    stranger = ~has_state & ~remembered_pairs & logged[task]
    dense = logged & (np.bincount(task[explicit], minlength=T) == C)
    candidate = stranger & dense[task]
    order = np.lexsort((cost[candidate], rank[candidate], task[candidate]))
    last = np.flatnonzero(candidate)[order]
    pool_rank[task[last]] = rank[last]  # the last of each task wins: the greatest rank
    pool_cost[task[last]] = cost[last]
    has_stranger = np.bincount(task[candidate], minlength=T) > 0
    same = stranger & (rank == pool_rank[task]) & (cost == pool_cost[task]) & (~dense[task] | has_stranger[task])
    keep = ~same

    claimed = np.bincount(task[owns], minlength=T)
    in_transit = (claimed == 0) & (memory.active >= 0) if T else np.zeros(0, dtype=np.bool_)
    owners_as_remembered = bool(np.isin(memory.active[claimed > 0], active_keys).all())
    first_rank = _first_rank(keys, rank, plain_lag, memory, in_transit, configs.acceptable_recovery_lag, end, C, standbys)
    was_standby = np.isin(keys, memory.standby) if memory.known else lists
    problem = Problem(
        standbys=standbys,
        max_warmups=configs.max_warmup_replicas,
        acceptable_lag=configs.acceptable_recovery_lag,
        balance_factor=state.options.balance_factor,
        group=group,
        kind=kind,
        units=np.array([c.threads * round(c.capacity * _CAPACITY_UNIT) for c in state.clients], dtype=np.int64),
        threads=np.array([c.threads for c in state.clients], dtype=np.int64),
        draining=np.array([c.draining for c in state.clients], dtype=np.bool_),
        end=end,
        pool_rank=pool_rank,
        pool_cost=pool_cost,
        col_task=task[keep],
        col_client=(keys % C)[keep],
        col_rank=rank[keep],
        col_cost=cost[keep],
        col_lag=plain_lag[keep],
        col_first_rank=first_rank[keep],
        col_owner=owns[keep],
        col_standby=was_standby[keep],
        col_state=has_state[keep],
        has_history=(np.bincount(task[holder], minlength=T) > 0) | memory.seen,
        lag_unknown=bool(unknown.any()),
        remembered_plan=memory.placement_of_plan(standbys, logged, C),
        **_configured(state, goal_order(state).configured),
    )
    return Arrays(
        problem=problem,
        tasks=tasks,
        clients=clients,
        previous=_previous(problem, keys, owns, lag, lists, memory),
        remembered=memory.placement_of_answer(standbys, logged, C) if owners_as_remembered else None,
        in_transit=in_transit,
        unconfirmed=not memory.known and _may_be_second_pass(claimed, task[rank == 0], pool_rank, logged),
        remembered_notes=state.remembered.report.notes if state.remembered is not None else (),
        same_clients=state.remembered is not None and tuple(c.process_id for c in state.remembered.clients) == clients,
        remembered_own_plan=memory.placement_of_plan(standbys, logged, C) if memory.plan_differs else None,
        remembered_plan_lost=memory.placement_of_plan(standbys, logged, C) is None,
        assigned_before=np.unique(np.concatenate([memory.active[memory.active >= 0], memory.standby, memory.warmup])),
        under_way=memory.warmup,
        progress=memory.progress,
    )


def _configured(state: ApplicationState, goals: tuple[str, ...]) -> dict[str, Any]:
    """What goals (a) need, for those that are asked for."""
    found: dict[str, Any] = {}
    if "load" in goals:
        most = max((t.weight for t in state.tasks), default=1.0)
        found["load"] = np.array([max(1, round(t.weight / most * _WEIGHT_UNIT)) for t in state.tasks], dtype=np.int64)
    if "rack_traffic" in goals and all(c.rack is not None for c in state.clients):
        racks = sorted({c.rack for c in state.clients if c.rack is not None})
        found["rack_of"] = np.array([racks.index(c.rack) for c in state.clients if c.rack is not None], dtype=np.int64)
        found["crossings"] = np.array(
            [[sum(bool(p.racks) and rack not in p.racks for p in t.partitions) for rack in racks] for t in state.tasks],
            dtype=np.int64,
        ).reshape(len(state.tasks), len(racks))
    if "tag_spread" in goals:
        found["tags"] = tuple(
            _numbered([c.tags.get(tag) for c in state.clients]) for tag in state.configs.rack_aware_assignment_tags
        )
    return found


def _numbered(values: list[str | None]) -> IntArray:
    names = sorted({value for value in values if value is not None})
    return np.array([-1 if value is None else names.index(value) for value in values], dtype=np.int64)


def _groups(state: ApplicationState) -> tuple[IntArray, IntArray]:
    """(T,) subtopology of each task and (G,) its kind."""
    seen: dict[tuple[str, int], int] = {}
    group: list[int] = []
    kind: list[int] = []
    for task in state.tasks:
        task_id = task.task_id
        key = (task_id.name or "", task_id.subtopology)
        if key not in seen:
            seen[key] = len(seen)
            kind.append(LOGGED if task.logged else UNLOGGED if task.stateful else STATELESS)
        group.append(seen[key])
    return np.array(group, dtype=np.int64), np.array(kind, dtype=np.int64)


def _keys(rows: Iterable[tuple[dict[str, int], int, Iterable[str]]], clients: int) -> IntArray:
    return np.array([index[task] * clients + c for index, c, tasks in rows for task in tasks], dtype=np.int64)


def _ends(state: ApplicationState, logged: BoolArray, lag_keys: IntArray, lags: IntArray, C: int) -> IntArray:
    """(T,) the whole changelog: given, or larger than every lag reported and than what counts as caught up (formats.md)."""
    T = len(state.tasks)
    most = np.full(T, state.configs.acceptable_recovery_lag, dtype=np.int64)
    np.maximum.at(most, lag_keys // C, lags)
    guess = np.where(most < _INT64_MAX, most + 1, most)
    given = np.array([-1 if t.changelog_end_offset is None else t.changelog_end_offset for t in state.tasks], np.int64)
    return np.where(logged, np.where(given >= 0, given, guess), 0) if T else np.zeros(0, dtype=np.int64)


def _rank_and_cost(
    lag: IntArray, holder: BoolArray, end: IntArray, logged: BoolArray, acceptable: int
) -> tuple[IntArray, IntArray]:
    """Rank and restore cost of pairs with the given lags (rules-and-goals.md, "Rank")."""
    unknown = lag == _UNKNOWN
    caught_up = (lag == _RUNNING) | (~unknown & (lag <= acceptable)) | ~logged | (acceptable == _INT64_MAX)
    rank = np.where(caught_up, 0, np.where(unknown, np.where(holder, 1, 2), lag))
    cost = np.where(caught_up, 0, np.where(unknown, np.where(holder, 0, end), lag))
    return rank, cost


def _first_rank(
    keys: IntArray,
    rank: IntArray,
    lag: IntArray,
    memory: _Memory,
    in_transit: BoolArray,
    acceptable: int,
    end: IntArray,
    C: int,
    standbys: int,
) -> IntArray:
    """The rank that decides this rebalance: R10 lets the remembered answer decide for a task in transit, while its client
    is no worse than the best one by more than acceptable_recovery_lag. Its standbys go by it only where the active does
    (else R3 would take one of them for the most caught up), and where they are not too many."""
    first_rank = rank.copy()
    if not in_transit.any():
        return first_rank
    task, T = keys // C, len(end)
    is_standby, is_active = np.isin(keys, memory.standby), memory.active[task] == keys
    absent = np.where(np.bincount(task, minlength=T) < C, end, _INT64_MAX)  # the lag of clients that list nothing

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


def _may_be_second_pass(claimed: IntArray, caught_up: IntArray, pool_rank: IntArray, logged: BoolArray) -> bool:
    """Some tasks are nobody's while others have owners, and each of them is caught up somewhere: a task that is given away
    goes to a caught-up client (R3)."""
    nobodys = claimed == 0
    ready = (np.bincount(caught_up, minlength=len(claimed)) > 0) | (pool_rank == 0) | ~logged
    return bool(nobodys.any() and (~nobodys).any() and ready[nobodys].all())


def _previous(
    problem: Problem, keys: IntArray, owns: BoolArray, lag: IntArray, lists: BoolArray, memory: _Memory
) -> Placement | None:
    """What was assigned before (R7): owners as listed, a task in transit as remembered; standbys as remembered, or else of
    those listed, dropped copies among them, the ones of least lag, then of least id."""
    T, C = problem.T, problem.C
    at = np.flatnonzero(owns)
    task = keys[at] // C
    remembered = memory.active[task] == keys[at] if T else np.zeros(0, dtype=np.bool_)
    order = np.lexsort((keys[at], lag[at] != _RUNNING, ~remembered, task))[::-1]
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


@dataclass(frozen=True, eq=False)
class _Memory:
    """The remembered answer in keys; what names absent clients is left out."""

    known: bool
    active: IntArray
    """(T,) key of each task's remembered active copy, or −1."""
    standby: IntArray
    warmup: IntArray
    plan_active: IntArray
    """(T,) as `active`; where the answer was its own plan, the answer."""
    plan_standby: IntArray
    progress: Progress
    plan_differs: bool
    seen: BoolArray
    """(T,) some client had a copy of the task, be it here or gone."""

    @classmethod
    def of(
        cls, remembered: TaskAssignment | None, index: dict[str, int], owner: dict[str, int], logged: BoolArray, C: int
    ) -> _Memory:
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
        keys = _keys(((index, c, client.active) for c, client in answer), C)[::-1]
        active[keys // C] = keys  # the last written: of several, in a broken answer, the least client, as for the judge
        standby = _keys(((index, c, client.standby) for c, client in answer), C)
        standby = standby[logged[standby // C]]
        warmup = _keys(((index, c, client.warmup) for c, client in answer), C)
        plan_active, plan_standby = active, standby
        if remembered.plan is not None:
            planned = [(owner[p.process_id], p) for p in remembered.plan if p.process_id in owner]
            plan_active = nobody.copy()
            keys = _keys(((index, c, client.active) for c, client in planned), C)
            plan_active[keys // C] = keys
            plan_standby = _keys(((index, c, client.standby) for c, client in planned), C)
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
            np.unique(standby),
            np.unique(warmup),
            plan_active,
            np.unique(plan_standby),
            progress,
            remembered.plan is not None,
            seen,
        )

    def plan_keys(self) -> tuple[IntArray, IntArray]:
        return self.plan_active, self.plan_standby

    def placement_of_plan(self, standbys: int, logged: BoolArray, C: int) -> Placement | None:
        return _whole(self.plan_active, self.plan_standby, standbys, logged, C)

    def placement_of_answer(self, standbys: int, logged: BoolArray, C: int) -> Placement | None:
        return _whole(self.active, self.standby, standbys, logged, C)


def _whole(active: IntArray, standby: IntArray, standbys: int, logged: BoolArray, C: int) -> Placement | None:
    """A placement, if it has every copy of every task on clients that are here."""
    T = len(active)
    number = np.bincount(standby // C, minlength=T)
    if np.any(active < 0) or np.any(number != np.where(logged, standbys, 0)) or np.isin(active, standby).any():
        return None
    return make_placement(active % C, standby, C)
