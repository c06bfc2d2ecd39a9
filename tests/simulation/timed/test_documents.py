"""Tests of the tables of source documents, cell by cell: KIP-441's examples over time, and the learners of the incremental
rebalancing draft."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate

Cells = dict[str, tuple[str, str]]


Objects = Sequence[Mapping[str, Any]]


def play(
    group: dict[str, Any], tasks: int, clients: Objects, events: Objects, start: Objects = (), **configs: Any
) -> SimulatedRun:
    scenario = Scenario.model_validate(
        {
            "name": "document",
            "start": start,
            "options": {"followup": "interval"},
            "duration_s": 10_000,
            "group": group,
            "configs": configs,
            "subtopologies": [{"partitions": tasks, "state": 100_000}],
            "clients": clients,
            "events": events,
        }
    )
    return simulate(scenario, "cp-sat")


def list_cells(played: SimulatedRun, others: tuple[str, ...]) -> list[tuple[str, Cells]]:
    """Return for each rebalance its reason, and client → (active tasks, tasks in the roles `others`); T1 is partition 0."""

    def name(roles: dict[str, list[str]], *which: str) -> str:
        return " ".join(sorted(f"T{int(task[2:]) + 1}" for role in which for task in roles.get(role, ())))

    return [
        (event["reason"], {c: (name(roles, "active"), name(roles, *others)) for c, roles in event["clients"].items()})
        for event in played.events
        if event["event"] == "rebalance"
    ]


def start_with(prefix: str, suffix: str = "") -> Objects:
    """Return the start of the incremental rebalancing draft: S1 has T1 T2, S2 T3 T4, S3 T5."""
    owned = {1: ["0_0", "0_1"], 2: ["0_2", "0_3"], 3: ["0_4"]}
    return [{"client": f"{prefix}{number}{suffix}", "active": tasks} for number, tasks in owned.items()]


def one_each(number: int, **more: Any) -> Objects:
    return [{"name": "S", "count": number, **more}]


def test_kip_415_scaling_up() -> None:
    """S1 to S3 run T1 to T5. S4 joins and learns T1, S5 joins and learns T3; each takes over when it is ready."""
    clients = [
        *one_each(3),
        {"name": "S4-", "joins": True, "restore_per_s": 1_000},
        {"name": "S5-", "joins": True, "restore_per_s": 500},
    ]
    events = [{"at": 10, "do": "join", "clients": ["S4-1"]}, {"at": 30, "do": "join", "clients": ["S5-1"]}]
    cells = list_cells(play({"protocol": "learner"}, 5, clients, events, start=start_with("S")), ("warmup",))
    owned = {"S1": ("T1 T2", ""), "S2": ("T3 T4", ""), "S3": ("T5", "")}
    assert cells[0] == ("join", {**owned, "S4-1": ("", "T1")})
    assert cells[1] == ("join", {**owned, "S4-1": ("", "T1"), "S5-1": ("", "T3")})
    third = {"S1": ("T2", ""), "S2": ("T3 T4", ""), "S3": ("T5", ""), "S4-1": ("T1", ""), "S5-1": ("", "T3")}
    assert cells[2] == ("learner ready", third)
    assert cells[3] == ("second pass", third), "KIP-429: T1 is given up before it is given"
    fourth = {**third, "S2": ("T4", ""), "S5-1": ("T3", "")}
    assert cells[4:] == [("learner ready", fourth), ("second pass", fourth)]


def test_kip_415_scaling_down() -> None:
    """S2 drains: S1 learns one task, and S3 another and is ready first; S2 leaves when it has no task.

    With a sixth task, which the document lacks, only three tasks per instance are balanced.
    """
    clients: Objects = [{"name": "S1-", "restore_per_s": 500}, {"name": "S2-"}, {"name": "S3-", "restore_per_s": 1_000}]
    events = [{"at": 10, "do": "leave", "clients": ["S2-1"]}]
    start = [*start_with("S", "-1")[:2], {"client": "S3-1", "active": ["0_4", "0_5"]}]
    played = play({"protocol": "learner"}, 6, clients, events, start=start)
    cells = [each for each in list_cells(played, ("warmup",)) if each[0] != "second pass"]
    one, other = cells[0][1]["S1-1"][1], cells[0][1]["S3-1"][1]
    assert sorted([one, other]) == ["T3", "T4"], "the document has S1 learn T3: another one of equals"
    assert cells[0] == ("leaving", {"S1-1": ("T1 T2", one), "S2-1": ("T3 T4", ""), "S3-1": ("T5 T6", other)})
    assert cells[1] == ("learner ready", {"S1-1": ("T1 T2", one), "S2-1": (one, ""), "S3-1": (f"{other} T5 T6", "")})
    assert cells[2] == ("learner ready", {"S1-1": (f"T1 T2 {one}", ""), "S2-1": ("", ""), "S3-1": (f"{other} T5 T6", "")})
    assert [event["clients"] for event in played.events if event["event"] == "left"] == [["S2-1"]]
    assert played.measures.longest_down_s < 3, "nothing waits for a restoration"


def test_kip_415_an_empty_group_has_no_learners() -> None:
    events = [{"at": 0.5, "do": "join", "clients": ["late1"]}]
    clients = [*one_each(1), {"name": "late", "joins": True}]
    scenario = play({"protocol": "learner"}, 4, clients, events).scenario.model_copy(update={"warm_start": False})
    cells = list_cells(simulate(scenario, "cp-sat"), ("warmup",))
    assert sorted(len(active.split()) for active, _ in cells[0][1].values()) == [2, 2]
    assert all(learning == "" for _, table in cells for _, learning in table.values())


@pytest.mark.parametrize("protocol", ["probing", "heartbeat"])
def test_kip_441_scaling_out(protocol: str) -> None:
    """Three tasks with a standby each run on two instances; the third instance catches up and then takes its share."""
    clients = [{"name": "I", "count": 2}, {"name": "new", "joins": True}]
    configs: dict[str, Any] = {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 60_000}
    played = play({"protocol": protocol}, 3, clients, [{"at": 10, "do": "join", "clients": ["new1"]}], **configs)
    cells = list_cells(played, ("standby", "warmup"))
    before = {c: roles[0] for c, roles in cells[0][1].items()}
    assert before["new1"] == "", "no task moves to an instance that has to restore first"
    catching_up = cells[0][1]["new1"][1].split()
    assert len(catching_up) == 2
    final = cells[-1][1]
    assert sorted(len(active.split()) for active, _ in final.values()) == [1, 1, 1]
    assert sorted(len(standby.split()) for _, standby in final.values()) == [1, 1, 1]
    assert [reason for reason, _ in cells if reason != "second pass"] == [
        "join",
        "follow-up" if protocol == "probing" else "heartbeat",
    ]


def test_heartbeats_and_learners_do_not_wait_for_the_timer() -> None:
    clients = [{"name": "I", "count": 2}, {"name": "new", "joins": True}]
    configs: dict[str, Any] = {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 600_000}
    join = {"at": 10, "do": "join", "clients": ["new1"]}
    balanced = {
        p: play({"protocol": p}, 12, clients, [join], **configs).measures.balanced_since()
        for p in ("probing", "heartbeat", "learner")
    }
    assert balanced["heartbeat"] < balanced["probing"] / 5
    assert balanced["learner"] < balanced["probing"] / 5


def test_kip_1071_moves_before_restoring() -> None:
    """Without warm-ups and follow-ups, a moved task is down until it is restored."""
    clients = [{"name": "I", "count": 2}, {"name": "new", "joins": True}]
    join = {"at": 10, "do": "join", "clients": ["new1"]}
    scenario = play({"protocol": "streams"}, 12, clients, [join], num_standby_replicas=1).scenario
    played = simulate(scenario, "sticky")
    assert played.measures.followups == 0
    assert [event["reason"] for event in played.events if event["event"] == "rebalance"] == ["join"]
    assert played.measures.longest_down_s > 3
    assert not any(
        "warmup" in roles for event in played.events if event["event"] == "rebalance" for roles in event["clients"].values()
    )


def test_emulated_warmups_wait_for_a_trigger() -> None:
    """In contrast to plain KIP-1071, no task waits for its state; the group is balanced only with a watcher."""
    clients = [{"name": "I", "count": 2}, {"name": "new", "joins": True}]
    join: dict[str, Any] = {"at": 10, "do": "join", "clients": ["new1"]}
    group = {"protocol": "streams", "emulated_warmups": True, "offset_interval_s": 15}
    alone, watched = (
        play({**group, "watch_s": watch_s}, 12, clients, [join], num_standby_replicas=1, max_warmup_replicas=20)
        for watch_s in (None, 10)
    )
    assert [event["reason"] for event in alone.events if event["event"] == "rebalance"] == ["join"]
    assert alone.measures.balanced_since() == math.inf
    reasons = [event["reason"] for event in watched.events if event["event"] == "rebalance"]
    assert set(reasons) == {"join", "watcher"}
    assert watched.measures.followups == reasons.count("watcher") <= 4
    restoring = 8 * 10
    assert watched.measures.balanced_since() <= join["at"] + restoring + 15 + 10 + 5, "a report, a look, and the handing over"
    for played in (alone, watched):
        assert played.measures.longest_down_s <= 4, "a heartbeat, not a restoration"


def test_kip_441_one_rebalance_from_cold_and_few_after_a_join() -> None:
    """Kafka's convergence test: 1 rebalance from cold; at most stateful ÷ warm-ups + 1 after a join; subtopology skew ≤ 1."""
    clients = [*one_each(3), {"name": "late", "joins": True}]
    events = [{"at": 2_000, "do": "join", "clients": ["late1"]}]
    configs: dict[str, Any] = {"num_standby_replicas": 1, "max_warmup_replicas": 2, "probing_rebalance_interval_ms": 60_000}
    scenario = play({}, 12, clients, events, **configs).scenario.model_copy(update={"warm_start": False})
    cells = list_cells(simulate(scenario, "cp-sat"), ("standby",))
    rebalances = [reason for reason, _ in cells if reason != "second pass"]
    assert rebalances[0] == "start"
    assert rebalances.count("start") + rebalances.index("join") == 2, "one rebalance before the join"
    assert len(rebalances) - 1 <= 12 // 2 + 1
    counts = [len(active.split()) for active, _ in cells[-1][1].values()]
    assert max(counts) - min(counts) <= 1
