"""Tests of KIP-441's examples: each cell of the tables of "Example Scenarios", and X_0..2, Y_0..2 on three nodes."""

from __future__ import annotations

import pytest
from judging import make_snapshot

from optassign.assignor import assign
from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot

Table = dict[str, tuple[str, str]]
"""Client → (active, standby), such as "T1 T4", with warm-ups among the standbys, as Kafka sees them."""
END = 100_000
LAGGING = 20_000


def task_id(name: str) -> str:
    """Return the task id of a name: T3 → 0_3; X_1 → 0_1; Y_1 → 1_1."""
    return f"0_{name[1:]}" if name[0] == "T" else f"{'XY'.index(name[0])}_{name[2:]}"


def table_of(clients: tuple[KafkaStreamsAssignment, ...] | tuple[TargetAssignment, ...]) -> Table:
    return {
        client.process_id: (
            named(client.active),
            named((*client.standby, *(client.warmup if isinstance(client, KafkaStreamsAssignment) else ()))),
        )
        for client in clients
    }


def named(tasks: tuple[str, ...]) -> str:
    return " ".join(sorted("T" + task.removeprefix("0_") for task in tasks))


def warmups_of(answer: TaskAssignment) -> dict[str, str]:
    return {client.process_id: named(client.warmup) for client in answer.clients if client.warmup}


def asks(answer: TaskAssignment) -> dict[str, int]:
    return {c.process_id: c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None}


def state_of(before: Table, tasks: str, standby_lag: int = 0, standbys: int = 1) -> ApplicationState:
    clients = {}
    for process_id, (active, standby) in before.items():
        actives, others = ([task_id(name) for name in role.split()] for role in (active, standby))
        lags = dict.fromkeys(actives, -2) | dict.fromkeys(others, standby_lag)
        clients[process_id] = {"active": actives, "standby": others, "lags": lags}
    ends = {task_id(name): END for name in tasks.split()}
    return make_snapshot(ends, clients, num_standby_replicas=standbys, acceptable_recovery_lag=10_000, max_warmup_replicas=2)


def second_pass_changes_nothing(state: ApplicationState, answer: TaskAssignment, assignor: str) -> bool:
    """Return whether the second pass repeats the answer (KIP-441: a rebalance "will technically itself be composed of two")."""
    again = assign(make_second_pass_snapshot(state, answer), assignor)
    return again.clients == answer.clients and again.plan == answer.plan


def assert_reaches(target: Table, state: ApplicationState, assignor: str) -> None:
    """Assert that the answer is the target, needs no follow-up, and stays."""
    answer = assign(state, assignor)
    assert table_of(answer.clients) == target
    assert (warmups_of(answer), asks(answer), answer.plan) == ({}, {}, None), "no subsequent rebalance is necessary"
    assert second_pass_changes_nothing(state, answer, assignor)
    assert table_of(assign(make_restored_snapshot(state, answer), assignor).clients) == target


both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])


@both
def test_scaling_out(assignor: str) -> None:
    initial: Table = {"I1": ("T1 T3", "T2"), "I2": ("T2", "T1 T3"), "I3": ("", "")}
    catching_up: Table = {"I1": ("T1 T3", "T2"), "I2": ("T2", "T1 T3"), "I3": ("", "T1 T3")}
    stable: Table = {"I1": ("T1", "T2"), "I2": ("T2", "T3"), "I3": ("T3", "T1")}

    state = state_of(initial, "T1 T2 T3")
    first = assign(state, assignor)
    assert table_of(first.clients) == catching_up
    assert warmups_of(first) == {"I3": "T1 T3"}
    assert table_of(first.plan or ()) == stable
    assert asks(first) == {"I1": 600_000}

    caught_up = make_restored_snapshot(state, first)
    assert_reaches(stable, caught_up, assignor)


@both
def test_scaling_in_with_standbys_in_sync(assignor: str) -> None:
    without_i1: Table = {"I2": ("T2", "T1 T4"), "I3": ("T3", "T2")}
    first: Table = {"I2": ("T1 T4", "T2 T3"), "I3": ("T2 T3", "T1 T4")}

    state = state_of(without_i1, "T1 T2 T3 T4")
    assert_reaches(first, state, assignor)


@pytest.mark.parametrize("assignor", ["cp-sat"])  # greedy finds another target with equal goals
def test_scaling_in_with_standbys_lagging(assignor: str) -> None:
    without_i1: Table = {"I2": ("T2", "T1 T4"), "I3": ("T3", "T2")}
    catching_up: Table = {"I2": ("T1 T2 T4", "T3"), "I3": ("T3", "T1 T2 T4")}
    stable: Table = {"I2": ("T1 T2", "T3 T4"), "I3": ("T3 T4", "T1 T2")}

    state = state_of(without_i1, "T1 T2 T3 T4", standby_lag=LAGGING)
    first = assign(state, assignor)
    assert table_of(first.clients) == catching_up
    assert warmups_of(first) == {}
    assert table_of(first.plan or ()) == stable
    assert asks(first) == {"I2": 600_000}

    restored = make_restored_snapshot(state, first)
    assert_reaches(stable, restored, assignor)


# ------------------------------------------------------------------------- data parallel workload balance: X_0..2 and Y_0..2

INSTEAD_OF: Table = {"A": ("X_0 X_1", ""), "B": ("X_2 Y_0", ""), "C": ("Y_1 Y_2", "")}


@both
def test_each_node_is_planned_one_x_and_one_y(assignor: str) -> None:
    state = state_of(INSTEAD_OF, "X_0 X_1 X_2 Y_0 Y_1 Y_2", standbys=0)
    first = assign(state, assignor)
    assert first.plan is not None
    planned = {client.process_id: client.active for client in first.plan}
    assert planned == {"A": ("0_0", "1_2"), "B": ("0_2", "1_0"), "C": ("0_1", "1_1")}, "each gives away its greatest"
    assert {c.process_id: c.active for c in first.clients} == {"A": ("0_0", "0_1"), "B": ("0_2", "1_0"), "C": ("1_1", "1_2")}
    assert {c.process_id: c.warmup for c in first.clients} == {"A": ("1_2",), "B": (), "C": ("0_1",)}
    second = assign(make_restored_snapshot(state, first), assignor)
    assert {client.process_id: client.active for client in second.clients} == planned
    assert (second.plan, asks(second)) == (None, {})


@both
@pytest.mark.parametrize("kind", [END, "unlogged", "stateless"])
def test_a_cold_start_gives_each_node_one_x_and_one_y(assignor: str, kind: int | str) -> None:
    tasks = {f"{subtopology}_{partition}": kind for subtopology in range(2) for partition in range(3)}
    answer = assign(make_snapshot(tasks, {"A": {}, "B": {}, "C": {}}, acceptable_recovery_lag=10_000), assignor)
    assert {c.process_id: [task[0] for task in c.active] for c in answer.clients} == {node: ["0", "1"] for node in "ABC"}
    assert (answer.plan, asks(answer)) == (None, {})


# -------------------------------------------------------------------------------------------------------------- the last tie


@both
@pytest.mark.parametrize("kind", ["stateless", "unlogged", "cold", "caught up"])
@pytest.mark.parametrize(("each", "olds", "joined"), [(2, 1, 1), (3, 1, 1), (5, 1, 2), (4, 2, 1), (6, 2, 2), (7, 2, 3)])
def test_a_client_keeps_its_smallest_ids(assignor: str, kind: str, each: int, olds: int, joined: int) -> None:
    """With `olds` clients of `each` tasks and `joined` new ones, clients keep the beginning of their lists.

    Greedy keeps as many tasks; it chooses the first in its search once flow uses paths of several arcs.
    """
    tasks = [f"0_{partition}" for partition in range(each * olds)]
    logged = kind in ("cold", "caught up")
    clients: dict[str, dict[str, object]] = {}
    for old in range(olds):
        mine = tasks[old * each : (old + 1) * each]
        clients[f"c{old}"] = {"active": mine, "lags": dict.fromkeys(mine, -2) if logged else {}}
    for new in range(joined):
        clients[f"new{new}"] = {"lags": dict.fromkeys(tasks, 0)} if kind == "caught up" else {}
    state = make_snapshot(dict.fromkeys(tasks, END if logged else kind), clients)
    answer = assign(state, assignor)
    assert (answer.plan is None) == (kind != "cold")
    where = {client.process_id: client.active for client in answer.plan or answer.clients}
    for old in range(olds):
        kept = where[f"c{old}"]
        assert set(kept) <= set(tasks[old * each : (old + 1) * each]), where
        if assignor == "cp-sat" or len(clients) < 5:
            assert kept == tuple(tasks[old * each : old * each + len(kept)]), where
        assert len(kept) in {each * olds // (olds + joined), -(-each * olds // (olds + joined))}
