"""Random tiny groups for the enumeration: at most six tasks and three clients, with all kinds of options.

Clients of one rank of a task never differ in restore cost, since the rules leave open whose copy counts as restore work first.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from group_facts import EVERYTHING, RUNNING, UNKNOWN, Snapshot, read_group

GOAL_NAMES = (
    "active_migrations",
    "active_moves",
    "actives_not_caught_up",
    "copies_not_caught_up",
    "disk",
    "load",
    "rack_cost",
    "rack_traffic",
    "restore_work",
    "standby_migrations",
    "tag_spread",
)
NAMES = ("a", "b", "c")
WEIGHTS = (1e-6, 1e-3, 0.01, 0.05, 0.3, 1.0, 1.5, 7.0, 100.0, 1000.0, 1e6)
"""Weights of tasks and of preset weighted."""
SCALES = (20, 1_000, 10**6, 10**12, 2**60)
"""Greatest changelogs, in offsets."""
LARGEST = 12_000
"""The greatest number of placements of a group; one in twenty larger groups is kept."""


def make_group(rng: Random) -> Snapshot:
    """Return a random snapshot."""
    while True:
        snapshot = _make_group(rng)
        if _is_small(snapshot, rng) and not read_group(snapshot).has_equal_ranks_of_unequal_cost:
            return snapshot


def _is_small(snapshot: Snapshot, rng: Random) -> bool:
    width = len(snapshot["clients"])
    s = min(snapshot["configs"]["num_standby_replicas"], width - 1)
    copies = width * (width - 1) if s else width
    placements = 1
    for task in snapshot["tasks"]:
        placements *= copies if task.get("logged", task["stateful"]) else width
    return placements <= LARGEST or rng.random() < 0.05


def _make_group(rng: Random) -> Snapshot:
    scale = rng.choice(SCALES)
    clients = [_make_client(rng, name) for name in NAMES[: rng.choice((1, 2, 2, 3, 3, 3, 3))]]
    tasks = _make_tasks(rng, scale)
    configs: dict[str, Any] = {
        "num_standby_replicas": rng.choice((0, 0, 1, 1, 1, 2)),
        "max_warmup_replicas": rng.choice((1, 2, 5)),
        "acceptable_recovery_lag": rng.choice((0, 3, 10, 10_000, scale // 10, EVERYTHING)),
    }
    for task in tasks:
        _place_before(rng, task, clients, scale)
    options: dict[str, Any] = {}
    snapshot = {
        "format": 1,
        "application": "tiny",
        "configs": configs,
        "options": options,
        "tasks": tasks,
        "clients": clients,
    }
    _add_options(rng, snapshot)
    return snapshot


def _make_client(rng: Random, name: str) -> dict[str, Any]:
    client: dict[str, Any] = {"process_id": name, "threads": rng.choice((1, 1, 1, 2, 3))}
    if rng.random() < 0.2:
        client["capacity"] = rng.choice((0.5, 2.0, 0.333333, 1.7, 1e-6, 1e6))
    if rng.random() < 0.12:
        client["draining"] = True
    if rng.random() < 0.03:
        client["tags"] = {"optassign.drain": "true"}
    return client | {"previous_active": [], "previous_standby": [], "lags": {}}


def _make_tasks(rng: Random, scale: int) -> list[dict[str, Any]]:
    wanted = rng.randint(1, 6)
    tasks: list[dict[str, Any]] = []
    topology = rng.choice(("", "", "", "named__"))
    for number in range(wanted):
        kind = rng.choice(("stateless", "unlogged", "logged", "logged", "logged"))
        has_ends = rng.random() < 0.9
        for partition in range(rng.randint(1, wanted)):
            if len(tasks) == wanted:
                return tasks
            task: dict[str, Any] = {"id": f"{topology}{number}_{partition}", "stateful": kind != "stateless"}
            if kind == "unlogged":
                task["logged"] = False
            if kind == "logged" and has_ends:
                task["changelog_end_offset"] = _make_offset(rng, scale)
            tasks.append(task)
    return tasks


def _make_offset(rng: Random, scale: int) -> int:
    """Return a random offset, 0 or at least 3: ranks 1 and 2 stand for unknown lags."""
    return 0 if rng.random() < 0.05 else rng.choice((scale, 3 * (scale // 6) + 3, rng.randint(3, scale)))


def _place_before(rng: Random, task: dict[str, Any], clients: Sequence[dict[str, Any]], scale: int) -> None:
    """Spread the previous copies and lags of the task over the clients."""
    name = task["id"]
    logged = task.get("logged", task["stateful"])
    order = rng.sample(list(clients), len(clients))
    owners = 0 if rng.random() < 0.15 else 2 if rng.random() < 0.04 else 1
    for place, client in enumerate(order):
        if place < owners:
            client["previous_active"].append(name)
            if logged and rng.random() < 0.95:
                client["lags"][name] = RUNNING if rng.random() < 0.9 else rng.choice((UNKNOWN, _make_offset(rng, scale)))
        elif logged and rng.random() < 0.45:
            client["previous_standby"].append(name)
            end = task.get("changelog_end_offset", scale)
            lag = rng.choice((0, 0, end, _make_offset(rng, max(3, end))))
            client["lags"][name] = UNKNOWN if rng.random() < 0.04 else lag
            if rng.random() < 0.03:
                del client["lags"][name]
        elif logged and rng.random() < 0.08:
            client["lags"][name] = rng.choice((UNKNOWN, 0, _make_offset(rng, scale)))


def _add_options(rng: Random, snapshot: Snapshot) -> None:
    configs, options = snapshot["configs"], snapshot["options"]
    tasks, clients = snapshot["tasks"], snapshot["clients"]
    if rng.random() < 0.15:
        options["balance_factor"] = rng.choice((2, 3, 4))
    if rng.random() < 0.25:
        configs["rack_aware_assignment_tags"] = rng.choice((["zone"], ["zone", "kind"]))
        for client in clients:
            client.setdefault("tags", {})["zone"] = rng.choice("xyz")
            if rng.random() < 0.7:
                client["tags"]["kind"] = rng.choice("uv")
    if rng.random() < 0.25:
        _add_racks(rng, snapshot)
    if rng.random() < 0.3:
        options["limits"] = _make_limits(rng, snapshot)
    if rng.random() < 0.2:
        options["preset"] = "weighted"
        options["weights"] = {name: rng.choice(WEIGHTS) for name in ("instance", "subtopology", "stickiness")}
    elif rng.random() < 0.3:
        options["goals"] = rng.sample(GOAL_NAMES, rng.randint(1, len(GOAL_NAMES)))
    if rng.random() < 0.2:
        for task in tasks:
            task["weight"] = rng.choice(WEIGHTS) if rng.random() < 0.3 else rng.randint(1, 9)
        if rng.random() < 0.2:
            options["task_weights"] = {tasks[0]["id"].rpartition("_")[0]: rng.choice(WEIGHTS)}
    if rng.random() < 0.05:
        options["drain"] = [rng.choice(clients)["process_id"]]


def _add_racks(rng: Random, snapshot: Snapshot) -> None:
    configs = snapshot["configs"]
    configs["rack_aware_assignment_strategy"] = rng.choice(("min_traffic", "balance_subtopology"))
    if rng.random() < 0.5:
        configs["rack_aware_traffic_cost"] = rng.choice((0, 1, 10, 2**31 - 1))
        configs["rack_aware_non_overlap_cost"] = rng.choice((0, 1, 10, 2**31 - 1))
    for client in snapshot["clients"]:
        client["rack"] = rng.choice(("r1", "r2"))
    for number, task in enumerate(snapshot["tasks"]):
        rows = [("source", False), ("other", False)][: rng.choice((1, 1, 2))]
        if task.get("logged", task["stateful"]):
            rows.append(("store", True))
        task["partitions"] = [
            {"topic": topic, "partition": number, "changelog": is_log, "racks": rng.choice((["r1"], ["r2"], ["r1", "r2"]))}
            for topic, is_log in rows
        ]


def _make_limits(rng: Random, snapshot: Snapshot) -> list[dict[str, Any]]:
    names = [client["process_id"] for client in snapshot["clients"]]
    tasks = [task["id"] for task in snapshot["tasks"]]
    ends = [task.get("changelog_end_offset", 10_000) for task in snapshot["tasks"] if task["stateful"]]
    limits: list[dict[str, Any]] = []
    for number in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("pin", "forbid", "most_copies", "most_state", "most_active_moves"))
        limit: dict[str, Any] = {"kind": kind, "name": f"limit {number}"}
        some = rng.sample(names, rng.randint(1, len(names)))
        if kind in {"pin", "forbid"}:
            limit["clients"] = some
            if rng.random() < 0.6:
                limit["tasks"] = rng.sample(tasks, rng.randint(1, len(tasks)))
            else:
                limit["subtopologies"] = [rng.choice(tasks).rpartition("_")[0]]
        elif kind == "most_active_moves":
            limit["most"] = rng.randint(1, 2)
        else:
            if rng.random() < 0.5:
                limit["clients"] = some
            limit["most"] = rng.randint(0, 6) if kind == "most_copies" else sum(rng.sample(ends, rng.randint(0, len(ends))))
        limits.append(limit)
    return limits
