"""The first reader: tasks, clients, and the copies that each client says it has, by indices in place of ids.

Tasks and clients are sorted in the state, so index order is id order. Work and memory are proportional to what the snapshot
lists, never to tasks × clients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from optassign.formats.base import INT64_MAX
from optassign.formats.state import ApplicationState
from optassign_models.problem import LOGGED, STATELESS, UNLOGGED, BoolArray, IntArray

_CAPACITY_UNIT = 10**6
"""Capacities count in millionths of a thread: shares are then exact fractions."""


@dataclass(frozen=True, eq=False)
class Inventory:
    """T tasks, C clients, G subtopologies, and what clients list; keys are task × C + client."""

    tasks: tuple[str, ...]
    """(T,) ids."""
    clients: tuple[str, ...]
    """(C,) process ids."""
    task_at: Mapping[str, int]
    client_at: Mapping[str, int]
    subtopology: IntArray
    """(T,) subtopology of each task."""
    kind: IntArray
    """(G,) STATELESS, UNLOGGED or LOGGED."""
    logged: BoolArray
    """(T,) whether the task has a changelog."""
    end: IntArray
    """(T,) offsets of the whole changelog, 0 without one."""
    threads: IntArray
    """(C,) stream threads."""
    units: IntArray
    """(C,) threads × capacity, in millionths."""
    draining: BoolArray
    """(C,) about to leave."""
    standbys: int
    """Standbys of each logged task."""
    max_warmups: int
    acceptable_lag: int
    owned: IntArray
    """(n,) keys of the tasks that clients list as active."""
    had_standby: IntArray
    """(n,) keys of the logged tasks that they list as standbys."""
    lag_keys: IntArray
    """(n,) keys of the lags that they report, and"""
    lags: IntArray
    """(n,) these lags."""
    spokesman: int
    """The client that asks for follow-ups: the least process id that does not say that it drains (R8)."""

    @property
    def T(self) -> int:  # noqa: N802 - the formulation's own letters
        """Number of tasks."""
        return len(self.tasks)

    @property
    def C(self) -> int:  # noqa: N802
        """Number of clients."""
        return len(self.clients)

    def count_owners(self) -> IntArray:
        """(T,) how many clients list each task as active."""
        return np.bincount(self.owned // self.C, minlength=self.T)


def read_inventory(state: ApplicationState) -> Inventory:
    """Read tasks, clients, and what clients list."""
    tasks, clients = tuple(task.id for task in state.tasks), state.clients
    subtopologies = state.subtopologies.values()
    kind = [LOGGED if of[0].logged else UNLOGGED if of[0].stateful else STATELESS for of in subtopologies]
    subtopology = np.repeat(np.arange(len(kind)), np.array([len(of) for of in subtopologies], dtype=np.int64))
    kinds = np.array(kind, dtype=np.int64)
    logged = kinds[subtopology] == LOGGED if tasks else np.zeros(0, dtype=np.bool_)
    task_at = {task: t for t, task in enumerate(tasks)}
    C = len(clients)

    def keys_of(rows: Iterable[Collection[str]]) -> IntArray:
        return list_keys(task_at, enumerate(rows), C)

    had_standby = keys_of(client.previous_standby for client in clients)
    lag_keys = keys_of(client.lags for client in clients)
    lags = np.fromiter(chain.from_iterable(client.lags.values() for client in clients), np.int64, len(lag_keys))
    staying = [c for c, client in enumerate(clients) if not client.says_draining]
    return Inventory(
        tasks=tasks,
        clients=tuple(client.process_id for client in clients),
        task_at=task_at,
        client_at={client.process_id: c for c, client in enumerate(clients)},
        subtopology=subtopology,
        kind=kinds,
        logged=logged,
        end=_find_ends(state, logged, lag_keys, lags),
        threads=np.array([client.threads for client in clients], dtype=np.int64),
        units=np.array([c.threads * round(c.capacity * _CAPACITY_UNIT) for c in clients], dtype=np.int64),
        draining=np.array([client.draining for client in clients], dtype=np.bool_),
        standbys=min(state.configs.num_standby_replicas, C - 1),
        max_warmups=state.configs.max_warmup_replicas,
        acceptable_lag=state.configs.acceptable_recovery_lag,
        owned=keys_of(client.previous_active for client in clients),
        had_standby=had_standby[logged[had_standby // C]],
        lag_keys=lag_keys,
        lags=lags,
        spokesman=staying[0] if staying else 0,
    )


def list_keys(task_at: Mapping[str, int], rows: Iterable[tuple[int, Collection[str]]], clients: int) -> IntArray:
    """(n,) the keys of what rows (client, tasks) list, in their order."""
    listed = list(rows)
    client, number = np.array([(c, len(tasks)) for c, tasks in listed], dtype=np.int64).reshape(-1, 2).T
    task = np.fromiter(map(task_at.__getitem__, chain.from_iterable(tasks for _, tasks in listed)), dtype=np.int64)
    return np.asarray(task * clients + np.repeat(client, number))


def _find_ends(state: ApplicationState, logged: BoolArray, lag_keys: IntArray, lags: IntArray) -> IntArray:
    """(T,) offsets of the whole changelog, 0 without one (docs/reference/rules.md, "Whole changelog")."""
    T, C = len(state.tasks), len(state.clients)
    most = np.full(T, state.configs.acceptable_recovery_lag, dtype=np.int64)
    np.maximum.at(most, lag_keys // C, lags)
    guess = np.where(most < INT64_MAX, most + 1, most)
    given = np.array([-1 if t.changelog_end_offset is None else t.changelog_end_offset for t in state.tasks], np.int64)
    return np.where(logged, np.where(given >= 0, given, guess), 0) if T else np.zeros(0, dtype=np.int64)
