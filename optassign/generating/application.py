"""Generate an application: tasks, changelogs, and the group's past before the rebalance."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from optassign.errors import ArgumentError
from optassign.generating.dealing import Dealt, deal_assignment
from optassign_models.problem import BoolArray, IntArray

SMALLEST_END = 11_000
"""The least end offset of a changelog that is not tiny. It is a bit more than Kafka's default acceptable lag of 10,000."""
LARGEST_END = 20_000_000
"""The greatest end offset of a changelog. It takes half an hour to restore at the assumed rate."""
MEDIAN_END = 300_000
"""The median end offset of a changelog. It takes half a minute to restore at the assumed rate."""


@dataclass(frozen=True, eq=False)
class Topology:
    """The tasks of an application, by subtopology."""

    sizes: IntArray
    """(G,) number of tasks of each subtopology."""
    group_stateful: BoolArray
    """(G,) whether its tasks are stateful."""
    group_logged: BoolArray
    """(G,) whether its tasks have a changelog."""
    end: IntArray
    """(T,) changelog end offsets; 0 for tasks that are not logged."""

    @property
    def logged(self) -> BoolArray:
        """Return (T,) whether each task has a changelog."""
        return np.repeat(self.group_logged, self.sizes)


def draw_topology(
    tasks: int,
    stateless: float,
    unlogged: float,
    subtopologies: int | None,
    tiny: float,
    acceptable: int,
    spread: float,
    rng: np.random.Generator,
) -> Topology:
    """Draw a topology with mixed kinds of subtopologies. ArgumentError for fewer subtopologies than kinds, or more than tasks.

    Args:
        tasks: the number of tasks.
        stateless, unlogged: shares of stateless tasks, and of stateful tasks without a changelog.
        subtopologies: their number; by default half the square root of the number of tasks, at most 50.
        tiny: share of the logged tasks whose whole changelog is within the acceptable lag.
        acceptable: the acceptable lag, offsets.
        spread: sigma of the logarithms of the changelogs' lengths.
        rng: the random numbers.
    """
    without, own = round(tasks * stateless), min(round(tasks * unlogged), tasks - round(tasks * stateless))
    of_kind = np.array([tasks - without - own, own, without])  # logged, unlogged, stateless
    kinds = int(np.count_nonzero(of_kind))
    G = max(kinds, min(50, round(tasks**0.5 / 2))) if subtopologies is None else subtopologies
    if not kinds <= G <= tasks:
        raise ArgumentError("subtopologies", str(G), f"{kinds} (one for each kind of task) to {tasks}")
    groups = _split(G, of_kind, np.minimum(of_kind, 1))
    sizes = np.concatenate(
        [
            _split(int(of_kind[k]), rng.choice([1, 1, 1, 2, 2, 4], n), np.ones(n, dtype=np.int64))
            for k, n in enumerate(groups.tolist())
        ]
    )
    order = rng.permutation(G)
    kind = np.repeat([0, 1, 2], groups)[order]
    sizes, logged = sizes[order], kind == 0
    T = int(sizes.sum())
    end = (SMALLEST_END + np.exp(rng.normal(np.log(MEDIAN_END), spread, T))).clip(max=LARGEST_END)
    # A changelog that is not tiny exceeds the acceptable lag, if that is at most 2⁵⁰.
    end = (end * max(1.0, min(acceptable, 1 << 50) * 1.05 / SMALLEST_END)).astype(np.int64)
    small = rng.random(T) < tiny
    end[small] = rng.integers(0, min(acceptable, LARGEST_END), T, endpoint=True)[small]
    end[~np.repeat(logged, sizes)] = 0
    return Topology(sizes, kind <= 1, logged, end)


def _split(total: int, weights: IntArray, least: IntArray) -> IntArray:
    """Return (n,) parts of `total`: `least` (n,), and the rest in proportion to `weights` (n,) by largest remainders."""
    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    spare = total - int(least.sum())
    share = weights * spare / max(int(weights.sum()), 1)
    parts = np.floor(share).astype(np.int64)
    largest_remainders = np.argsort(parts - share, kind="stable")[: spare - int(parts.sum())]
    parts[largest_remainders] += 1
    return parts + least


@dataclass(frozen=True, eq=False)
class PastSettings:
    """The parameters from which a `GroupPast` is drawn."""

    topology: Topology
    """The tasks."""
    units: IntArray
    """(C,) relative capacity of each client, including clients that have left."""
    clients: int
    """The number of clients in the snapshot; they come first."""
    standbys: int
    """Number of standbys of each logged task."""
    acceptable_lag: int
    """Offsets."""
    rng: np.random.Generator
    """The random numbers."""


@dataclass(frozen=True, eq=False)
class LastAnswer:
    """The answer before the snapshot."""

    dealt: Dealt
    """The assignment."""
    clients: IntArray
    """(n,) the clients of the group at that time."""


@dataclass(frozen=True, eq=False)
class GroupPast:
    """The clients' reports, and the answer before them (`remembered`), if there was one."""

    active: IntArray
    """(T,) previous owner of each task, or −1 if no client owned the task."""
    task: IntArray
    """(P,) task of each task directory; directories of previous actives are left out."""
    client: IntArray
    """(P,) client of each directory."""
    lag: IntArray
    """(P,) lag of each directory, in offsets."""
    remembered: LastAnswer | None = None


def make_cold(s: PastSettings) -> GroupPast:
    """Return a past in which all clients are empty."""
    nothing = np.zeros(0, dtype=np.int64)
    return GroupPast(np.full(int(s.topology.sizes.sum()), -1, dtype=np.int64), nothing, nothing, nothing)


def make_settled(s: PastSettings, clients: int) -> GroupPast:
    """Return a past in which the first `clients` hold a balanced assignment with caught-up standbys."""
    t = s.topology
    dealt = deal_assignment(t.sizes, t.group_stateful, t.group_logged, s.units[:clients], s.standbys, s.rng)
    task, column = np.nonzero(dealt.standby >= 0)
    return GroupPast(
        dealt.active, task, dealt.standby[task, column], _draw_small_lags(s, task), LastAnswer(dealt, np.arange(clients))
    )


def make_steady(s: PastSettings) -> GroupPast:
    """Return a past in which all clients of the snapshot are settled."""
    return make_settled(s, s.clients)


def make_scale_out(s: PastSettings) -> GroupPast:
    """Return a past in which three quarters of the clients are settled and the others have just joined, empty."""
    return make_settled(s, max(1, s.clients * 3 // 4))


def make_scale_in(s: PastSettings) -> GroupPast:
    """Return a past in which `s.clients` clients of a settled group have stayed; the rest of `s.units` left with its state."""
    before = make_settled(s, len(s.units))
    here = before.client < s.clients
    return replace(
        before,
        active=np.where(before.active < s.clients, before.active, -1),
        task=before.task[here],
        client=before.client[here],
        lag=before.lag[here],
    )


def make_restart(s: PastSettings) -> GroupPast:
    """Return a past in which one settled client was away for a while and is back with a lagging disk.

    The other clients took over its active tasks, on standbys where possible, and began to restore the missing standbys.
    """
    t, logged = s.topology, s.topology.logged
    before = make_settled(s, s.clients)
    away = int(s.rng.integers(s.clients))
    if s.clients == 1:
        task = np.flatnonzero(logged)
        return GroupPast(np.full(len(logged), -1), task, np.zeros_like(task), _draw_disk_lags(s, task), before.remembered)
    copies = _list_copies(before)
    load = np.bincount(before.active, minlength=s.clients) + np.bincount(before.client, minlength=s.clients)
    active = before.active.copy()
    standby = {(int(a), int(c)): int(lag) for a, c, lag in zip(before.task, before.client, before.lag, strict=True)}
    held = np.union1d(np.flatnonzero(active == away), before.task[before.client == away])

    def find_least_loaded(among: set[int] | None, but: set[int]) -> int:
        """Return the client with the fewest copies per capacity, from `among` if given, otherwise from all outside `but`."""
        burden = load / s.units
        if among is not None:
            return min(among, key=lambda c: (burden[c], c))
        burden[list(but)] = np.inf
        return int(np.argmin(burden))

    for task in held.tolist():
        others = copies[task] - {away}
        if active[task] == away:
            owner = find_least_loaded(others or None, {away})
            active[task] = owner
            if standby.pop((task, owner), None) is None:
                load[owner] += 1
            others.add(owner)
        standby.pop((task, away), None)
        if logged[task] and len(others) < min(s.standbys + 1, s.clients - 1):
            client = find_least_loaded(None, others | {away})
            standby[task, client] = int(s.rng.integers(0, t.end[task], endpoint=True))
            load[client] += 1
    keys = np.array(list(standby), dtype=np.int64).reshape(-1, 2)
    disk = held[logged[held]]
    return GroupPast(
        active,
        np.concatenate([keys[:, 0], disk]),
        np.concatenate([keys[:, 1], np.full(len(disk), away)]),
        np.concatenate([np.array(list(standby.values()), dtype=np.int64), _draw_disk_lags(s, disk)]),
        LastAnswer(_convert_to_dealt(active, keys, s.standbys), np.delete(np.arange(s.clients), away)),
    )


def make_partial(s: PastSettings) -> GroupPast:
    """Return a random past: uneven active tasks, tasks without owner, and random state on random disks."""
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
    return GroupPast(active, task, keys % C, np.where(near, _draw_small_lags(s, task), lag))


MAKE_HISTORY: dict[str, Callable[[PastSettings], GroupPast]] = {
    "cold": make_cold,
    "steady": make_steady,
    "scale-out": make_scale_out,
    "scale-in": make_scale_in,
    "restart": make_restart,
    "partial": make_partial,
}


def _list_copies(history: GroupPast) -> dict[int, set[int]]:
    """Return task → clients of its copies."""
    copies = {task: {client} for task, client in enumerate(history.active.tolist())}
    for task, client in zip(history.task.tolist(), history.client.tolist(), strict=True):
        copies[task].add(client)
    return copies


def _convert_to_dealt(active: IntArray, keys: IntArray, standbys: int) -> Dealt:
    """Return the assignment with the actives (T,), and with the pairs (task, client) of `keys` (S, 2) as standbys."""
    standby = np.full((len(active), standbys), -1, dtype=np.int64)
    at = [0] * len(active)
    for task, client in keys.tolist():
        standby[task, at[task]] = client
        at[task] += 1
    return Dealt(active, standby)


def _draw_small_lags(s: PastSettings, task: IntArray) -> IntArray:
    """Return lags of standbys that keep up: within the acceptable lag and the changelog, a third of them 0."""
    scale = min(s.acceptable_lag, 1_000_000) / 8
    lag = np.where(s.rng.random(len(task)) < 1 / 3, 0, s.rng.exponential(1.0, len(task)) * scale)
    return np.minimum(lag.astype(np.int64), np.minimum(s.topology.end[task], s.acceptable_lag))


def _draw_disk_lags(s: PastSettings, task: IntArray) -> IntArray:
    """Return lags of a disk that was away for a while: 0.5% to 10% of each changelog."""
    return (s.topology.end[task] * s.rng.uniform(0.005, 0.1, len(task))).astype(np.int64)
