"""What a group has behind it when a rebalance comes: who ran what, and whose disk holds how much of which changelog.

The shapes of `generate.py` as arrays. T tasks, C clients in the order they are made; −1 is nobody. Lags are offsets.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from optassign.generate.dealing import BoolArray, Dealt, IntArray, deal_assignment


@dataclass(frozen=True, eq=False)
class Topology:
    """The tasks, subtopology by subtopology."""

    sizes: IntArray
    """(G,) tasks of each subtopology."""
    group_stateful: BoolArray
    """(G,)"""
    group_logged: BoolArray
    """(G,)"""
    end: IntArray
    """(T,) changelog end offsets; 0 for tasks that are not logged."""

    @property
    def logged(self) -> BoolArray:
        """(T,) whether the task has a changelog."""
        return np.repeat(self.group_logged, self.sizes)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a history is made for."""

    topology: Topology
    units: IntArray
    """(C,) relative capacity of each client, those that have gone included."""
    clients: int
    """How many there are in the snapshot: the first of them."""
    standbys: int
    acceptable_lag: int
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer before the snapshot."""

    dealt: Dealt
    clients: IntArray
    """Who was in the group."""


@dataclass(frozen=True, eq=False)
class History:
    """What the clients report, and the answer before that (`remembered`), where there was one."""

    active: IntArray
    """(T,) previous owner."""
    task: IntArray
    """(P,) the task directories that are not a previous active's: task,"""
    client: IntArray
    """(P,) client,"""
    lag: IntArray
    """(P,) lag."""
    remembered: Answer | None = None


def cold(s: Settings) -> History:
    """All clients empty."""
    nothing = np.zeros(0, dtype=np.int64)
    return History(np.full(int(s.topology.sizes.sum()), -1, dtype=np.int64), nothing, nothing, nothing)


def settled(s: Settings, clients: int) -> History:
    """The first `clients` hold a balanced assignment and are at rest: standbys are caught up."""
    t = s.topology
    dealt = deal_assignment(t.sizes, t.group_stateful, t.group_logged, s.units[:clients], s.standbys, s.rng)
    task, column = np.nonzero(dealt.standby >= 0)
    return History(dealt.active, task, dealt.standby[task, column], _small_lags(s, task), Answer(dealt, np.arange(clients)))


def steady(s: Settings) -> History:
    """All clients are settled."""
    return settled(s, s.clients)


def scale_out(s: Settings) -> History:
    """Three quarters of the clients are settled, the others have just joined, with nothing."""
    return settled(s, max(1, s.clients * 3 // 4))


def scale_in(s: Settings) -> History:
    """Four thirds of the clients were settled; those after the first `s.clients` have gone with all they had."""
    before = settled(s, len(s.units))
    here = before.client < s.clients
    return replace(
        before,
        active=np.where(before.active < s.clients, before.active, -1),
        task=before.task[here],
        client=before.client[here],
        lag=before.lag[here],
    )


def restart(s: Settings) -> History:
    """One settled client was away for a while and is back, with a disk that lags. The others have taken over its
    actives, on standbys where there were any, and have begun to restore standbys in place of those it held.
    """
    t, logged = s.topology, s.topology.logged
    before = settled(s, s.clients)
    away = int(s.rng.integers(s.clients))
    if s.clients == 1:
        task = np.flatnonzero(logged)
        return History(np.full(len(logged), -1), task, np.zeros_like(task), _disk_lags(s, task), before.remembered)
    copies = _copies(before)
    load = np.bincount(before.active, minlength=s.clients) + np.bincount(before.client, minlength=s.clients)
    active = before.active.copy()
    standby = {(int(a), int(c)): int(lag) for a, c, lag in zip(before.task, before.client, before.lag, strict=True)}
    held = np.union1d(np.flatnonzero(active == away), before.task[before.client == away])

    def least_loaded(among: set[int] | None, but: set[int]) -> int:
        burden = load / s.units
        if among is not None:
            return min(among, key=lambda c: (burden[c], c))
        burden[list(but)] = np.inf
        return int(np.argmin(burden))

    for task in held.tolist():
        others = copies[task] - {away}
        if active[task] == away:
            owner = least_loaded(others or None, {away})
            active[task] = owner
            if standby.pop((task, owner), None) is None:
                load[owner] += 1
            others.add(owner)
        standby.pop((task, away), None)
        if logged[task] and len(others) < min(s.standbys + 1, s.clients - 1):
            client = least_loaded(None, others | {away})
            standby[task, client] = int(s.rng.integers(0, t.end[task], endpoint=True))
            load[client] += 1
    keys = np.array(list(standby), dtype=np.int64).reshape(-1, 2)
    disk = held[logged[held]]
    return History(
        active,
        np.concatenate([keys[:, 0], disk]),
        np.concatenate([keys[:, 1], np.full(len(disk), away)]),
        np.concatenate([np.array(list(standby.values()), dtype=np.int64), _disk_lags(s, disk)]),
        Answer(_dealt(active, keys, s.standbys), np.delete(np.arange(s.clients), away)),
    )


def partial(s: Settings) -> History:
    """Chance has been at it: some clients ran far more than others, some tasks nobody, disks hold this and that."""
    T, C = int(s.topology.sizes.sum()), s.clients
    favour = s.rng.dirichlet(np.full(C, 0.7)) * s.units
    active = s.rng.choice(C, size=T, p=favour / favour.sum())
    active[s.rng.random(T) < 0.05] = -1
    task = np.flatnonzero(s.topology.logged)
    task = np.repeat(task, s.rng.integers(0, s.standbys + 3, size=len(task)))
    keys = np.unique(task * C + s.rng.integers(0, C, size=len(task)))
    keys = keys[active[keys // C] != keys % C]
    task = keys // C
    lag = (s.topology.end[task] * s.rng.random(len(task)) ** 2).astype(np.int64)
    near = s.rng.random(len(task)) < 0.25
    return History(active, task, keys % C, np.where(near, _small_lags(s, task), lag))


SHAPES: dict[str, Callable[[Settings], History]] = {
    "cold": cold,
    "steady": steady,
    "scale-out": scale_out,
    "scale-in": scale_in,
    "restart": restart,
    "partial": partial,
}


def _copies(history: History) -> dict[int, set[int]]:
    """Task -> the clients of its copies."""
    copies = {task: {client} for task, client in enumerate(history.active.tolist())}
    for task, client in zip(history.task.tolist(), history.client.tolist(), strict=True):
        copies[task].add(client)
    return copies


def _dealt(active: IntArray, keys: IntArray, standbys: int) -> Dealt:
    """Actives and the standbys' (task, client) as `Dealt`."""
    standby = np.full((len(active), standbys), -1, dtype=np.int64)
    at = [0] * len(active)
    for task, client in keys.tolist():
        standby[task, at[task]] = client
        at[task] += 1
    return Dealt(active, standby)


def _small_lags(s: Settings, task: IntArray) -> IntArray:
    """Lags of standbys that keep up: within the acceptable lag and the changelog, a third of them 0."""
    scale = min(s.acceptable_lag, 1_000_000) / 8
    lag = np.where(s.rng.random(len(task)) < 1 / 3, 0, s.rng.exponential(1.0, len(task)) * scale)
    return np.minimum(lag.astype(np.int64), np.minimum(s.topology.end[task], s.acceptable_lag))


def _disk_lags(s: Settings, task: IntArray) -> IntArray:
    """Lags of a disk that was away for a while: up to a tenth of each changelog."""
    return (s.topology.end[task] * s.rng.uniform(0.005, 0.1, len(task))).astype(np.int64)
