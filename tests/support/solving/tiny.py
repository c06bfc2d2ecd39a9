"""Tiny random snapshots: small enough for enumeration, varied enough for every special case."""

from __future__ import annotations

import random
from typing import Any

from optassign.formats.state import ApplicationState


def draw_tiny_state(seed: int, most: int = 6000) -> ApplicationState:
    """Return a random snapshot of 1–3 subtopologies, 1–4 clients and 0–3 standbys, with at most `most` combinations of copies.
    It may have mixed threads and capacities, unknown lags, draining clients, tiny changelogs and tasks with two owners."""
    while True:
        rng = random.Random(seed)
        seed += 1_000_000
        clients = rng.randint(1, 4)
        standbys = rng.choice([0, 1, 1, 1, 2, 3])
        groups = rng.randint(1, 3)
        tasks: list[dict[str, Any]] = []
        combinations = 1
        for g in range(groups):
            kind = rng.choice(["logged", "logged", "logged", "unlogged", "stateless"])
            for partition in range(rng.randint(1, 4)):
                task: dict[str, Any] = {"id": f"{g}_{partition}", "stateful": kind != "stateless", "logged": kind == "logged"}
                if kind == "logged" and rng.random() < 0.7:
                    task["changelog_end_offset"] = rng.choice([5, 100, 100, 200, 500])
                tasks.append(task)
                s = min(standbys, clients - 1) if kind == "logged" else 0
                ways = clients
                for i in range(s):
                    ways = ways * (clients - 1 - i) // (i + 1)
                combinations *= ways
        if combinations > most:
            continue
        rows: list[dict[str, Any]] = [
            {
                "process_id": f"c{i}",
                "threads": rng.choice([1, 1, 2, 3]),
                "previous_active": [],
                "previous_standby": [],
                "lags": {},
                "draining": rng.random() < 0.05,
                "capacity": rng.choice([1.0, 1.0, 1.0, 0.5]),
            }
            for i in range(clients)
        ]
        dense = rng.random() < 0.2
        for task in tasks:
            end = task.get("changelog_end_offset", 300)
            owner = rng.choice([*range(clients), None])
            for i, row in enumerate(rows):
                draw = rng.random()
                if i == owner or draw < 0.02:
                    row["previous_active"].append(task["id"])
                    if task["logged"]:
                        row["lags"][task["id"]] = -2 if rng.random() < 0.9 else rng.randint(3, end)
                elif task["logged"] and draw < 0.35:
                    row["previous_standby"].append(task["id"])
                    row["lags"][task["id"]] = rng.choice([0, 3, rng.randint(3, end), -3 if rng.random() < 0.2 else 4])
                elif task["logged"] and draw < 0.4:
                    row["lags"][task["id"]] = rng.choice([-3, rng.randint(3, end)])
                elif task["logged"] and dense:
                    row["lags"][task["id"]] = end
        configs = {
            "num_standby_replicas": standbys,
            "max_warmup_replicas": rng.randint(1, 3),
            "acceptable_recovery_lag": rng.choice([10, 10, 10, 0, 2**63 - 1]),
        }
        options = {"balance_factor": rng.choice([1, 1, 1, 1, 2, 3])}
        return ApplicationState.model_validate(
            {"format": 1, "configs": configs, "options": options, "tasks": tasks, "clients": rows}
        )


def put_in_racks(state: ApplicationState, rng: random.Random) -> ApplicationState:
    """Return the snapshot with each client in one of two random racks, and each partition's replica in one of three."""
    clients = [c.model_copy(update={"rack": rng.choice(["r1", "r2"])}) for c in state.clients]

    def place(topic: str) -> dict[str, Any]:
        return {"topic": topic, "changelog": topic == "changelog", "racks": [rng.choice(["r1", "r2", "r3"])]}

    tasks = [
        task.model_copy(update={"partitions": [place("in"), *([place("changelog")] if task.logged else [])]})
        for task in state.tasks
    ]
    racked = state.model_copy(update={"clients": clients, "tasks": tasks})
    return ApplicationState.model_validate_json(racked.model_dump_json())
