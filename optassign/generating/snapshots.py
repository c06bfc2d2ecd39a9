"""Generate seeded snapshots of any size and shape, for tests, benchmarks and trials.

Equal arguments give equal snapshots with the same version of numpy, whose random streams may change between versions.
"""

from collections.abc import Callable
from typing import Any, Literal, get_args
from uuid import UUID

import numpy as np

from optassign.errors import ArgumentError
from optassign.formats.base import INT64_MAX
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.formats.task_id import INT32_MAX
from optassign.generating.application import MAKE_HISTORY, GroupPast, PastSettings, Topology, draw_topology
from optassign_models.problem import IntArray

MOST_GENERATED_TASKS = 1_000_000
"""The most tasks: more take gigabytes; no known application has a tenth."""
MOST_GENERATED_CLIENTS = 100_000
"""The most clients, racks and clusters: more take minutes; no known application has a tenth."""
MOST_GENERATED_STANDBYS = 100
"""The most standbys of each task: more take minutes; three are many."""
MOST_GENERATED_LAGS = 20_000_000
"""The most tasks × clients with all lags reported: a lag takes about 100 bytes."""


Shape = Literal["cold", "steady", "scale-out", "scale-in", "restart", "partial"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
_BOUNDS = {
    "tasks": (0, MOST_GENERATED_TASKS),
    "clients": (1, MOST_GENERATED_CLIENTS),
    "standbys": (0, MOST_GENERATED_STANDBYS),
    "warmups": (1, INT32_MAX),
    "seed": (0, INT64_MAX),
    "racks": (0, MOST_GENERATED_CLIENTS),
    "clusters": (0, MOST_GENERATED_CLIENTS),
}
"""Argument → least and greatest allowed value."""


def generate(
    shape: Shape,
    tasks: int,
    clients: int,
    standbys: int = 1,
    warmups: int = 2,
    threads: int | tuple[int, int] = 1,
    seed: int = 0,
    *,
    stateless: float = 0.2,
    unlogged: float = 0.0,
    subtopologies: int | None = None,
    tiny: float = 0.0,
    unknown: float = 0.0,
    acceptable_recovery_lag: int = 10_000,
    capacity: float | tuple[float, float] = 1.0,
    weights: float = 0.0,
    states: float = 1.2,
    racks: int = 0,
    clusters: int = 0,
    memory: bool = False,
    dense: bool = False,
    consumers: bool = False,
) -> ApplicationState:
    """Return a snapshot of `tasks` tasks and `clients` clients.

    shape:
        `cold`: all clients empty. `steady`: balanced, stable, standbys caught up. `scale-out`: a quarter of the clients has
        just joined a stable group of three quarters. `scale-in`: a quarter of a stable group of four thirds has left with all
        its state. `restart`: one client is back with lagging state, and the others have taken over its actives. `partial`:
        uneven previous actives, and state with random lags on random clients.
    threads, capacity: the same for all clients, or drawn for each from (lowest, highest).
    stateless, unlogged: shares of stateless and of unlogged stateful tasks; each kind has subtopologies of its own.
    subtopologies: how many; by default half the square root of the number of tasks, at most 50.
    tiny: share of the logged tasks whose whole changelog is within the acceptable lag.
    unknown: share of unknown lags (−3) in the reported lags, except those of running actives.
    weights: spread of the tasks' weights (sigma of a lognormal distribution around 1); 0 for no weights.
    states: spread of the changelogs' lengths, and so of the tasks' state (sigma of a lognormal distribution).
    racks: number of racks; each client is in one rack (also its tag `zone`), each partition's replicas in two.
    clusters: number of values of a second tag, `cluster`, which goes across racks: each rack has clients of every cluster.
    memory: the snapshot remembers the last answer (cold and partial have none).
    dense: every client reports a lag for every logged task, as Kafka does; otherwise only for tasks of which it has state.
    consumers: previous actives are also listed per consumer; each thread has a consumer.

    ArgumentError for arguments out of range or an impossible `subtopologies`, TypeError for a wrong type,
    `optassign.generating.dealing.NotBalancedError` if no balanced group could be dealt.

    Examples:
        >>> import optassign
        >>> len(optassign.generate("scale-out", tasks=100, clients=10, standbys=1, seed=7).tasks)
        100
    """
    _check_arguments(locals())
    for_tasks, for_clients, for_history, for_lags, for_racks = (
        np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(5)
    )
    topology = draw_topology(tasks, stateless, unlogged, subtopologies, tiny, acceptable_recovery_lag, states, for_tasks)
    # Clients that left before the snapshot are drawn like the others.
    ever = max(clients + 1, round(clients * 4 / 3)) if shape == "scale-in" else clients
    number_of_threads = _draw_for_each(
        threads, ever, lambda low, high: for_clients.integers(low, high, size=ever, endpoint=True)
    )
    capacities = _draw_for_each(capacity, ever, lambda low, high: for_clients.uniform(low, high, ever).round(3))
    names = [str(UUID(bytes=for_clients.bytes(16), version=4)) for _ in range(ever)]
    units = number_of_threads * np.rint(np.asarray(capacities) * 1e6).astype(np.int64)
    history = MAKE_HISTORY[shape](
        PastSettings(topology, units // np.gcd.reduce(units), clients, standbys, acceptable_recovery_lag, for_history)
    )

    ids = [f"{g}_{p}" for g, size in enumerate(topology.sizes.tolist()) for p in range(size)]
    lags = _list_lags(history, topology, clients, dense, unknown, for_lags)
    previous = _list_by_client(history.active, np.arange(tasks), clients, ids)
    listed = _list_by_client(history.client, history.task, clients, ids)
    task_rows = _make_task_rows(topology, ids, weights, for_tasks)
    client_rows: list[dict[str, Any]] = [
        {
            "process_id": names[c],
            "threads": int(number_of_threads[c]),
            "capacity": float(capacities[c]),
            "previous_active": previous[c],
            "previous_standby": listed[c],
            "lags": {ids[task]: lag for task, lag in lags[c]},
        }
        for c in range(clients)
    ]
    if consumers:
        for row in client_rows:
            count = row["threads"]
            row["consumers"] = {f"{row['process_id']}-{i}": row["previous_active"][i::count] for i in range(count)}
    if racks:
        _add_racks(task_rows, client_rows, racks, for_racks)
    for c, row in enumerate(client_rows if clusters else ()):
        row["tags"] = {**row.get("tags", {}), "cluster": f"c{c // max(1, racks) % clusters + 1}"}
    return ApplicationState.model_validate(
        {
            "format": 1,
            "application": f"{shape}-{tasks}x{clients}-seed-{seed}",
            "configs": {
                "acceptable_recovery_lag": acceptable_recovery_lag,
                "max_warmup_replicas": warmups,
                "num_standby_replicas": standbys,
            },
            "tasks": task_rows,
            "clients": client_rows,
            "remembered": _make_remembered(history, names, ids) if memory else None,
        }
    )


def _check_arguments(given: dict[str, Any]) -> None:
    """Raise ArgumentError for an argument out of range, and TypeError for one of a wrong type."""

    def need(name: str, allowed: str, fine: bool) -> None:
        """Raise ArgumentError for this argument unless it is `fine`."""
        if not fine:
            raise ArgumentError(name, repr(given[name]), allowed)

    need("shape", ", ".join(SHAPES), given["shape"] in SHAPES)
    for name, (least, most) in _BOUNDS.items():
        if not isinstance(given[name], int):
            raise TypeError(f"{name}: found {type(given[name]).__name__}; allowed: int")
        need(name, f"an integer from {least} to {most:,}", least <= given[name] <= most)
    if given["dense"]:
        allowed = f"at most {MOST_GENERATED_LAGS:,} tasks × clients, as each has a lag"
        need("tasks", allowed, given["tasks"] * given["clients"] <= MOST_GENERATED_LAGS)
    need("acceptable_recovery_lag", "0 to 2^63 - 1", 0 <= given["acceptable_recovery_lag"] < 1 << 63)
    for name in ("stateless", "unlogged", "tiny", "unknown"):
        need(name, "0 to 1", 0 <= given[name] <= 1)
    need("unlogged", "at most 1 - stateless", given["stateless"] + given["unlogged"] <= 1 + 1e-9)
    for name in ("weights", "states"):
        need(name, "0 to 3", 0 <= given[name] <= 3)
    for name, lowest in (("threads", 1), ("capacity", 0.001)):
        low, high = given[name] if isinstance(given[name], tuple) else (given[name], given[name])
        need(name, f"a number from {lowest} to 1000, or (lowest, highest) of such", lowest <= low <= high <= 1000)


def _draw_for_each(value: Any, number: int, draw: Callable[[Any, Any], Any]) -> Any:
    """Return `number` copies of the value, or the result of `draw` if the value is a pair (lowest, highest)."""
    return draw(*value) if isinstance(value, tuple) else np.full(number, value)


def _make_task_rows(topology: Topology, ids: list[str], weights: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the tasks as JSON. `weights`: sigma of a lognormal distribution around 1; 0 for no weights."""
    stateful = np.repeat(topology.group_stateful, topology.sizes).tolist()
    logged = topology.logged.tolist()
    rows: list[dict[str, Any]] = [{"id": task, "stateful": stateful[t], "logged": logged[t]} for t, task in enumerate(ids)]
    for row, end in zip(rows, topology.end.tolist(), strict=True):
        if row["logged"]:
            row["changelog_end_offset"] = end
    if weights:
        for row, weight in zip(rows, np.exp(rng.normal(0.0, weights, len(ids))).round(4).tolist(), strict=True):
            row["weight"] = max(weight, 0.0001)
    return rows


def _list_lags(
    history: GroupPast, topology: Topology, clients: int, dense: bool, unknown: float, rng: np.random.Generator
) -> list[list[tuple[int, int]]]:
    """Return each client's reports: pairs (task, lag), lags in offsets.

    Args:
        dense: every client reports a lag for every logged task.
        unknown: share of unknown lags, running actives excluded.
    """
    running = np.flatnonzero(topology.logged & (history.active >= 0))
    if dense:
        table = np.repeat(topology.end[:, None], clients, axis=1)
        table[history.task, history.client] = history.lag
        table[running, history.active[running]] = RUNNING
        task, client = np.nonzero(np.broadcast_to(topology.logged[:, None], table.shape))
        lag = table[task, client]
    else:
        task = np.concatenate([running, history.task])
        client = np.concatenate([history.active[running], history.client])
        lag = np.concatenate([np.full(len(running), RUNNING), history.lag])
    lag = np.where((lag != RUNNING) & (rng.random(len(lag)) < unknown), UNKNOWN_LAG, lag)
    reported: list[list[tuple[int, int]]] = [[] for _ in range(clients)]
    for t, c, value in zip(task.tolist(), client.tolist(), lag.tolist(), strict=True):
        reported[c].append((t, value))
    return reported


def _list_by_client(client: IntArray, task: IntArray, clients: int, ids: list[str]) -> list[list[str]]:
    """Return the ids of each client's tasks, from pairs (task, client) in two arrays; client −1 means no client."""
    listed: list[list[str]] = [[] for _ in range(clients)]
    for c, t in zip(client.tolist(), task.tolist(), strict=True):
        if c >= 0:
            listed[c].append(ids[t])
    return listed


def _make_remembered(history: GroupPast, names: list[str], ids: list[str]) -> dict[str, Any] | None:
    """Return the last answer as JSON, with clients that have left since, without new clients; None without a last answer."""
    if history.remembered is None:
        return None
    dealt = history.remembered.dealt
    task, column = np.nonzero(dealt.standby >= 0)
    active = _list_by_client(dealt.active, np.arange(len(ids)), len(names), ids)
    standby = _list_by_client(dealt.standby[task, column], task, len(names), ids)
    return {
        "format": 1,
        "assignor": "generated",
        "clients": [
            {"process_id": names[c], "active": active[c], "standby": standby[c]} for c in history.remembered.clients.tolist()
        ],
    }


def _add_racks(tasks: list[dict[str, Any]], clients: list[dict[str, Any]], racks: int, rng: np.random.Generator) -> None:
    """Add racks in place: one for each client, in turn, and partitions with replicas on two racks for each task."""
    names = [f"r{i + 1}" for i in range(racks)]
    for i, client in enumerate(clients):
        client["rack"] = names[i % racks]
        client["tags"] = {"zone": names[i % racks]}
    for task, first in zip(tasks, rng.integers(racks, size=len(tasks)).tolist(), strict=True):
        subtopology, partition = task["id"].split("_")
        replicas = sorted({names[first], names[(first + 1) % racks]})
        task["partitions"] = [{"topic": f"in-{subtopology}", "partition": int(partition), "source": True, "racks": replicas}]
        if task["logged"]:
            task["partitions"].append(
                {"topic": f"changelog-{subtopology}", "partition": int(partition), "changelog": True, "racks": replicas}
            )
