"""Short notations for small snapshots and answers in the tests of the judges, and random ones of every kind."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import ApplicationState


def make_snapshot(
    tasks: Mapping[str, Any],
    clients: Mapping[str, Any],
    *,
    remembered: TaskAssignment | None = None,
    options: Mapping[str, Any] | None = None,
    **configs: Any,
) -> ApplicationState:
    """Return a snapshot from short forms; acceptable_recovery_lag is 10 by default.

    A task is its changelog's end offset, "stateless", "unlogged", or a dictionary of its fields. A client is a dictionary of
    its fields, with `active` and `standby` for its previous tasks, or a dictionary of its lags.
    """
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"acceptable_recovery_lag": 10, **configs},
            "options": options,
            "tasks": [{"id": task, **_task(what)} for task, what in tasks.items()],
            "clients": [{"process_id": process_id, **_client(what)} for process_id, what in clients.items()],
            "remembered": remembered,
        }
    )


def _task(what: Any) -> Mapping[str, Any]:
    if isinstance(what, dict):
        return {"stateful": True, **what}
    if isinstance(what, str):
        return {"stateful": what == "unlogged", "logged": False}
    return {"stateful": True, "changelog_end_offset": what}


def _client(what: Mapping[str, Any]) -> Mapping[str, Any]:
    if what and all(key[0].isdigit() for key in what):
        what = {"lags": what}
    fields = {"threads": 1, **what}
    for short, name in (("active", "previous_active"), ("standby", "previous_standby")):
        tasks = fields.pop(short, ())
        fields[name] = tasks.split() if isinstance(tasks, str) else tasks
    return fields


def make_answer(clients: Mapping[str, str], plan: Mapping[str, str] | None = None) -> TaskAssignment:
    """Return an answer with its plan, from "active | standby | warm-ups" per client; a final "!" stands for a follow-up."""
    return TaskAssignment(
        assignor="test",
        clients=tuple(make_client_assignment(process_id, text) for process_id, text in clients.items()),
        plan=None
        if plan is None
        else tuple(
            TargetAssignment(process_id=process_id, active=_roles(text)[0], standby=_roles(text)[1])
            for process_id, text in plan.items()
        ),
    )


def make_client_assignment(process_id: str, text: str) -> KafkaStreamsAssignment:
    """Return the assignment of one client from the same notation."""
    active, standby, warmup = _roles(text.rstrip("!"))
    return KafkaStreamsAssignment(
        process_id=process_id,
        active=active,
        standby=standby,
        warmup=warmup,
        followup_rebalance_ms=60_000 if text.endswith("!") else None,
    )


def _roles(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    active, standby, warmup, *_ = [*(tuple(role.split()) for role in text.split("|")), (), ()]
    return active, standby, warmup


def draw_case(seed: int) -> tuple[ApplicationState, TaskAssignment]:
    """Return a random small snapshot and an answer to it: sensible, slightly broken or nonsensical, with and without memory.

    "quiet": R7 applies; "second pass": no task has an owner, and the memory is complete.
    """
    rng = random.Random(seed)
    mode = rng.choice(["any", "any", "any", "quiet", "quiet", "second pass"])
    names = ["a", "b", "c", "d", "e"][: rng.randint(1, 5)]
    tasks = _tasks(rng, equal_weights=seed % 3 > 0)
    standbys = rng.choice([0, 1, 1, 2])
    before = _deal(rng, tasks, names, standbys)
    clients: dict[str, dict[str, Any]] = {}
    for name in names:
        clients[name] = {
            **_state_on_disk(rng, mode, tasks, *([t for t in tasks if name in before[r][t]] for r in ("active", "standby"))),
            "threads": rng.choice([1, 1, 2, 3]) if seed % 2 else 1,
            "capacity": rng.choice([1.0, 1.0, 0.3, 2.5]) if seed % 5 == 0 else 1.0,
            "draining": rng.random() < 0.1,
            "rack": rng.choice(["r1", "r2", "r3"]) if rng.random() < 0.98 else None,
            "tags": {"zone": rng.choice("xyz")} if rng.random() < 0.9 else {},
        }
    remembers = mode == "second pass" or rng.random() < 0.5
    state = make_snapshot(
        tasks,
        clients,
        remembered=_answer(rng, tasks, [*names, "gone"], standbys, before) if remembers else None,
        options={"balance_factor": rng.choice([1, 1, 1, 2, 3, 4])},
        num_standby_replicas=standbys,
        acceptable_recovery_lag=rng.choice([10, 10, 10, 0, 2**63 - 1]),
        max_warmup_replicas=rng.choice([1, 2]),
        rack_aware_assignment_tags=rng.choice([[], [], [], ["zone"]]) if mode != "quiet" else [],
    )
    return state, _answer(rng, tasks, names, standbys, before)


def _tasks(rng: random.Random, equal_weights: bool) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for subtopology in range(rng.randint(1, 3)):
        kind = rng.choice(["logged", "logged", "unlogged", "stateless"])
        for partition in range(rng.randint(1, 4)):
            tasks[f"{subtopology}_{partition}"] = {
                "stateful": kind != "stateless",
                "logged": kind == "logged",
                "changelog_end_offset": rng.choice([None, 5, 30, 100]),
                "weight": 1.0 if equal_weights else rng.choice([1.0, 1.0, 1.0, 2.0]),
                "partitions": [{"racks": rng.sample(["r1", "r2"], rng.randint(1, 2))} for _ in range(rng.randint(1, 2))],
            }
    return tasks


def _state_on_disk(
    rng: random.Random, mode: str, tasks: Mapping[str, Any], active: list[str], standby: list[str]
) -> dict[str, Any]:
    """Return the directories and lags of a client that had these copies: exactly these, with differences, or (second pass) none
    active."""
    if mode == "quiet":
        return {"active": active, "standby": standby, "lags": dict.fromkeys(active, -2) | dict.fromkeys(standby, 0)}
    if mode == "second pass":
        held = [task for task in tasks if rng.random() < 0.6]
        return {"standby": held, "lags": {task: rng.choice([-3, 0, 11, 14, 17, 20, 25, 30]) for task in held}}
    lags = dict.fromkeys(active, -2) | {task: rng.choice([0, 0, 8, 20]) for task in standby}
    lags |= {task: rng.choice([-3, -2, 0, 9, 10, 11, 20, 30, 31, 200]) for task in tasks if rng.random() < 0.3}
    listed = {task for task in active if rng.random() < 0.9} | {task for task in tasks if rng.random() < 0.05}
    others = {task for task in standby if rng.random() < 0.9} | {task for task in tasks if rng.random() < 0.1}
    return {"active": sorted(listed), "standby": sorted(others - listed), "lags": lags}


_Dealt = dict[str, dict[str, list[str]]]


def _deal(rng: random.Random, tasks: Mapping[str, Any], names: list[str], standbys: int) -> _Dealt:
    """Return role → task → clients, dealt out in turn, so that the result is often balanced."""
    dealt: _Dealt = {"active": {}, "standby": {}, "warmup": {}}
    start = rng.randrange(len(names))
    for i, (task, fields) in enumerate(tasks.items()):
        order = [names[(start + i + k) % len(names)] for k in range(len(names))]
        dealt["active"][task] = order[:1]
        dealt["standby"][task] = order[1 : standbys + 1] if fields["logged"] else []
        dealt["warmup"][task] = []
    return dealt


def _answer(rng: random.Random, tasks: Mapping[str, Any], names: list[str], standbys: int, before: _Dealt) -> TaskAssignment:
    """Return the previous copies, newly dealt ones, or a changed version of either; in some cases with a plan."""
    dealt = rng.choice([before, before, _deal(rng, tasks, names, standbys)])
    dealt = {role: {task: list(clients) for task, clients in of.items()} for role, of in dealt.items()}
    for _ in range(rng.choice([0, 0, 1, 1, 3])):
        clients = dealt[rng.choice(["active", "standby", "warmup", "warmup"])][rng.choice(list(tasks))]
        if clients and rng.random() < 0.6:
            clients.remove(rng.choice(clients))
        if rng.random() < 0.7:
            clients.append(rng.choice(names))
    asks = rng.choice([(), (), (names[0],), (names[-1],), names])
    plan = _deal(rng, tasks, names, standbys) if rng.random() < 0.5 else None
    return make_answer(
        {name: _to_text(dealt, name) + ("!" if name in asks else "") for name in names},
        None if plan is None else {name: _to_text(plan, name) for name in names},
    )


def _to_text(dealt: _Dealt, name: str) -> str:
    return " | ".join(
        " ".join(task for task, clients in dealt[role].items() for client in clients if client == name)
        for role in ("active", "standby", "warmup")
    )
