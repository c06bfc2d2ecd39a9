"""ApplicationState ↔ arrays: a snapshot's ids become indices here, and an answer's indices ids again.

The remembered answer is turned in memory.py, what single goals need in their own files (`Goal.find_data`), the report's rows in
report.py. Tasks and clients are sorted in the state, so index order is id order. Work and memory are proportional to what the
snapshot lists (lags, previous tasks, remembered copies), never to tasks × clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment
from optassign.formats.base import INT64_MAX
from optassign.formats.configs import OffloadPrices
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.goals.order import GoalOrder, goal_order
from optassign.solving.holding.limits import Limits, read_limits
from optassign.solving.memory import Memory, find_previous, list_keys, looks_like_second_pass, rank_for_this_rebalance
from optassign.solving.pace import Pace, read_pace
from optassign_models.problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray, Placement, Problem, sort_unique
from optassign_models.warmups import Progress

_CAPACITY_UNIT = 10**6
"""Capacities count in millionths of a thread: shares are then exact fractions."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """A snapshot as arrays, with the way back to ids."""

    problem: Problem
    order: GoalOrder
    """The goals that the snapshot asks for."""
    tasks: tuple[str, ...]
    """(T,) ids."""
    clients: tuple[str, ...]
    """(C,) process ids."""
    previous: Placement | None
    """The assignment before, if it is known (R7)."""
    remembered: Placement | None
    """The remembered answer, if all its clients and tasks are these and no client owns a task that it gave to another (R10)."""
    remembered_active: IntArray
    """(T,) the client that the remembered answer made active, if it is here; otherwise −1."""
    in_transit: BoolArray
    """(T,) tasks without an owner that the remembered answer gave to a client that is there."""
    unconfirmed: bool
    """There is no memory, and some tasks have no owner, all of them caught up somewhere, while others have owners: this may be
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
    """(n,) task × C + client of all copies and warm-ups of the remembered answer, sorted."""
    under_way: IntArray
    """(n,) task × C + client of the remembered warm-ups, sorted; none where the options say to replan."""
    progress: Progress
    pace: Pace
    offload_prices: OffloadPrices
    """The seconds that an offload must save, by its moves."""
    paused: bool
    """The options pause the group: only moves that R1 to R5 force are made."""
    forgets_plan: bool
    """The options say that the remembered plan counts for nothing."""
    limits: Limits
    """The operator's limits."""

    def list_clients(
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

    def list_plan(self, plan: Placement) -> tuple[TargetAssignment, ...]:
        """The plan by client."""
        active = self._by_client(np.arange(len(self.tasks)), plan.active)
        standby = self._by_client(plan.standby_task, plan.standby_client)
        return tuple(
            TargetAssignment.model_construct(process_id=process_id, active=active[c], standby=standby[c])
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
    order = goal_order(state)
    tasks = tuple(task.id for task in state.tasks)
    clients = tuple(client.process_id for client in state.clients)
    T, C = len(tasks), len(clients)
    index = {task: t for t, task in enumerate(tasks)}
    owner = {client: c for c, client in enumerate(clients)}
    group, kind = _groups(state)
    logged = kind[group] == LOGGED if T else np.zeros(0, dtype=np.bool_)
    configs = state.configs
    standbys = min(configs.num_standby_replicas, C - 1)

    active_keys = list_keys(index, ((c, client.previous_active) for c, client in enumerate(state.clients)), C)
    listed = list_keys(index, ((c, client.previous_standby) for c, client in enumerate(state.clients)), C)
    listed = listed[logged[listed // C]]
    lag_keys = list_keys(index, ((c, client.lags) for c, client in enumerate(state.clients)), C)
    lags = np.fromiter(chain.from_iterable(client.lags.values() for client in state.clients), np.int64, len(lag_keys))

    memory = Memory.read(state.remembered, index, owner, logged, C)
    end = _ends(state, logged, lag_keys, lags, C)
    remembered_keys = np.concatenate([memory.active, memory.standby, memory.warmup, *memory.plan_keys()])
    keys = sort_unique(np.concatenate([active_keys, listed, lag_keys, remembered_keys[remembered_keys >= 0]]))
    owns, lists = (np.isin(keys, some, assume_unique=True) for some in (active_keys, listed))
    holder = owns | lists

    task = keys // C
    lag = end[task].copy()
    at = np.searchsorted(keys, lag_keys)
    lag[at] = lags
    explicit = np.zeros(len(keys), dtype=np.bool_)
    explicit[at] = True
    has_state = holder | (explicit & (((lag >= 0) & (lag < end[task])) | (lag == RUNNING)))
    unknown = explicit & (lag == UNKNOWN_LAG)
    rank, cost = _rank_and_cost(lag, holder, end[task], logged[task], configs.acceptable_recovery_lag)
    plain_lag = np.where(lag == RUNNING, 0, np.where(unknown, np.where(holder, 0, end[task]), lag))
    pool_rank, pool_cost = _rank_and_cost(end, np.zeros(T, dtype=np.bool_), end, logged, configs.acceptable_recovery_lag)

    # If every client reported a lag, the pool is the class of the least caught-up strangers, as a dense snapshot has them (each
    # client without state reports the whole changelog).
    remembered_pairs = np.isin(keys, remembered_keys)
    stranger = ~has_state & ~remembered_pairs & logged[task]
    dense = logged & (np.bincount(task[explicit], minlength=T) == C)
    candidate = stranger & dense[task]
    last = np.flatnonzero(candidate)[np.lexsort((cost[candidate], rank[candidate], task[candidate]))]
    pool_rank[task[last]] = rank[last]  # the last of each task wins: the greatest rank
    pool_cost[task[last]] = cost[last]
    has_stranger = np.bincount(task[candidate], minlength=T) > 0
    same = stranger & (rank == pool_rank[task]) & (cost == pool_cost[task]) & (~dense[task] | has_stranger[task])
    keep = ~same

    claimed = np.bincount(task[owns], minlength=T)
    in_transit = (claimed == 0) & (memory.active >= 0) if T else np.zeros(0, dtype=np.bool_)
    owners_as_remembered = bool(np.isin(memory.active[claimed > 0], active_keys).all())
    first_rank = rank_for_this_rebalance(
        keys, rank, plain_lag, memory, in_transit, configs.acceptable_recovery_lag, end, C, standbys
    )
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
        remembered_plan=None if state.options.forget_plan else memory.placement_of_plan(standbys, logged, C),
        goal_data=_find_goal_data(state, order),
    )
    assigned_before = sort_unique(np.concatenate([memory.active[memory.active >= 0], memory.standby, memory.warmup]))
    return Arrays(
        problem=problem,
        order=order,
        tasks=tasks,
        clients=clients,
        previous=find_previous(problem, keys, owns, lag, lists, memory),
        remembered=memory.placement_of_answer(standbys, logged, C) if owners_as_remembered else None,
        remembered_active=np.where(memory.active >= 0, memory.active % C, -1),
        in_transit=in_transit,
        unconfirmed=not memory.known and looks_like_second_pass(claimed, task[rank == 0], pool_rank, logged),
        remembered_notes=state.remembered.report.notes if state.remembered is not None else (),
        same_clients=state.remembered is not None and tuple(c.process_id for c in state.remembered.clients) == clients,
        remembered_own_plan=memory.placement_of_plan(standbys, logged, C) if memory.plan_differs else None,
        remembered_plan_lost=memory.placement_of_plan(standbys, logged, C) is None,
        assigned_before=assigned_before,
        under_way=memory.warmup[:0] if state.options.forget_plan else memory.warmup,
        progress=memory.progress,
        pace=read_pace(state, problem, memory.progress, assigned_before),
        offload_prices=state.options.relief,
        paused=state.options.hold != "none",
        forgets_plan=state.options.forget_plan,
        limits=read_limits(state, end),
    )


def _find_goal_data(state: ApplicationState, order: GoalOrder) -> dict[str, object]:
    """Goal → its model's data in addition to the arrays, for the goals (a) for which the snapshot has it."""
    found = {name: goal.find_data(state) for name, goal in order.goals.items() if goal.is_configured}
    return {name: data for name, data in found.items() if data is not None}


def _groups(state: ApplicationState) -> tuple[IntArray, IntArray]:
    """(T,) subtopology of each task and (G,) its kind."""
    groups = state.subtopologies.values()
    kind = [LOGGED if tasks[0].logged else UNLOGGED if tasks[0].stateful else STATELESS for tasks in groups]
    sizes = np.array([len(tasks) for tasks in groups], dtype=np.int64)
    return np.repeat(np.arange(len(sizes)), sizes), np.array(kind, dtype=np.int64)


def _ends(state: ApplicationState, logged: BoolArray, lag_keys: IntArray, lags: IntArray, C: int) -> IntArray:
    """(T,) offsets of the whole changelog, 0 without one (docs/reference/rules.md, "Whole changelog")."""
    T = len(state.tasks)
    most = np.full(T, state.configs.acceptable_recovery_lag, dtype=np.int64)
    np.maximum.at(most, lag_keys // C, lags)
    guess = np.where(most < INT64_MAX, most + 1, most)
    given = np.array([-1 if t.changelog_end_offset is None else t.changelog_end_offset for t in state.tasks], np.int64)
    return np.where(logged, np.where(given >= 0, given, guess), 0) if T else np.zeros(0, dtype=np.int64)


def _rank_and_cost(
    lag: IntArray, holder: BoolArray, end: IntArray, logged: BoolArray, acceptable: int
) -> tuple[IntArray, IntArray]:
    """Rank and restore cost of pairs with the given lags (docs/reference/rules.md, "Rank")."""
    unknown = lag == UNKNOWN_LAG
    caught_up = (lag == RUNNING) | (~unknown & (lag <= acceptable)) | ~logged | (acceptable == INT64_MAX)
    rank = np.where(caught_up, 0, np.where(unknown, np.where(holder, 1, 2), lag))
    cost = np.where(caught_up, 0, np.where(unknown, np.where(holder, 0, end), lag))
    return rank, cost
