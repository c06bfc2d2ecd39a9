"""Tests of generated snapshots: their shapes, shares and balance, and equal snapshots for equal seeds.
They test `optassign.generating.application` and `optassign.generating.snapshots`."""

from typing import Any

import numpy as np
import pytest

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.generating.dealing import deal_assignment
from optassign.judging.validation import validate
from optassign.measuring.balance import is_balanced, measure_imbalance
from optassign.measuring.placement import TaskPlacement, previous_assignment
from optassign.measuring.ranks import Ranks
from optassign.utilities import identity_assignment
from optassign_benchmarks.grid import GRID, LARGE, Grid, Spec

SETTLED = [spec for _, spec in GRID if spec.shape == "steady" and spec.clients <= 25]


def as_it_was(state: ApplicationState) -> TaskAssignment:
    return TaskAssignment(assignor="identity", clients=tuple(identity_assignment(state).values()))


@pytest.mark.parametrize("spec", SETTLED, ids=lambda spec: spec.name)
def test_a_steady_group_is_balanced_and_at_rest(spec: Spec) -> None:
    state = spec.generate()
    before = previous_assignment(state)
    assert before.complete
    assert is_balanced(state, before.placement(state)), measure_imbalance(state, before.placement(state))
    if not spec.unknown:
        assert validate(state, as_it_was(state)) == []


@pytest.mark.parametrize("seed", range(40))
def test_dealt_assignments_are_balanced_and_keep_copies_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clients, groups, standbys = int(rng.integers(1, 30)), int(rng.integers(1, 9)), int(rng.integers(0, 4))
    state = generate(
        "steady",
        tasks=int(rng.integers(groups * 3, 120)),
        clients=clients,
        standbys=standbys,
        threads=(1, int(rng.integers(1, 6))),
        capacity=(0.5, 2.0) if seed % 3 == 0 else 1.0,
        stateless=float(rng.choice([0.0, 0.3])),
        unlogged=float(rng.choice([0.0, 0.2])),
        subtopologies=None if seed % 2 else max(3, groups),
        seed=seed,
    )
    answer = as_it_was(state)
    assert not any(measure_imbalance(state, answer).values()), (seed, measure_imbalance(state, answer))
    assert [str(v) for v in validate(state, answer)] == []


def test_two_hard_deals() -> None:
    # Dealing actives first fails for every order of ties; dealing copies first succeeds.
    for sizes, threads in (
        ([19, 2, 1, 6, 15, 9, 15, 16, 19], [4, 1, 3, 1, 3, 1, 4, 1, 1, 4, 4, 3, 3, 1, 2]),
        ([51, 16, 40, 17], [int(c) for c in "3331433331123413132313211233234233142"]),
    ):
        all_ = np.ones(len(sizes), dtype=np.bool_)
        dealt = deal_assignment(np.array(sizes), all_, all_, np.array(threads), 1, np.random.default_rng(486))
        clients = [{"process_id": f"{c:02}", "threads": n} for c, n in enumerate(threads)]
        tasks = [f"{g}_{p}" for g, size in enumerate(sizes) for p in range(size)]
        state = ApplicationState.model_validate(
            {
                "format": 1,
                "configs": {"num_standby_replicas": 1},
                "tasks": [{"id": task, "stateful": True} for task in tasks],
                "clients": clients,
            }
        )
        placement = TaskPlacement(
            {task: (f"{c:02}",) for task, c in zip(tasks, dealt.active.tolist(), strict=True)},
            {task: (f"{c:02}",) for task, (c,) in zip(tasks, dealt.standby.tolist(), strict=True)},
            dict.fromkeys(tasks, ()),
        )
        assert not any(measure_imbalance(state, placement).values())
        assert not np.any(dealt.active == dealt.standby[:, 0])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_arguments_give_the_same_snapshot(shape: Shape) -> None:
    def make(seed: int) -> ApplicationState:
        return generate(shape, 60, 7, standbys=2, threads=(1, 3), unlogged=0.1, unknown=0.1, seed=seed, memory=True)

    assert make(5).model_dump_json() == make(5).model_dump_json()
    assert make(5).model_dump_json() != make(6).model_dump_json()


def test_another_shape_keeps_the_tasks_and_clients_of_a_seed() -> None:
    cold, partial = (generate(shape, 60, 7, seed=3) for shape in ("cold", "partial"))
    assert cold.tasks == partial.tasks
    assert [c.process_id for c in cold.clients] == [c.process_id for c in partial.clients]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("memory", [False, True])
def test_a_snapshot_survives_json(shape: Shape, memory: bool) -> None:
    state = generate(shape, 40, 5, memory=memory, dense=True, consumers=True, racks=2, weights=0.5, seed=2)
    assert ApplicationState.model_validate_json(state.model_dump_json()) == state


def test_kinds_have_their_shares_and_own_subtopologies() -> None:
    state = generate("cold", 200, 5, stateless=0.25, unlogged=0.1, tiny=0.3, subtopologies=9, seed=1)
    kinds = [task.kind for task in state.tasks]
    assert (kinds.count("stateless"), kinds.count("unlogged"), kinds.count("logged")) == (50, 20, 130)
    assert {task.task_id.subtopology for task in state.tasks} == set(range(9))
    ends = [task.changelog_end_offset for task in state.tasks if task.logged]
    tiny = sum(end is not None and end <= 10_000 for end in ends)
    assert 20 <= tiny <= 60
    assert all(end is not None and 0 <= end <= 20_000_000 for end in ends)
    assert all(task.changelog_end_offset is None for task in state.tasks if not task.logged)


def test_cold_clients_have_nothing() -> None:
    state = generate("cold", 40, 5, memory=True)
    assert not any(c.previous_active or c.previous_standby or c.lags for c in state.clients)
    assert state.remembered is None


def test_scale_out_adds_empty_clients_to_a_settled_group() -> None:
    state = generate("scale-out", 100, 20, threads=(1, 3), seed=4, memory=True)
    new = [c for c in state.clients if not c.previous_active and not c.lags]
    assert len(new) == 5
    assert state.remembered is not None
    known = {c.process_id for c in state.remembered.clients}
    assert known == {c.process_id for c in state.clients} - {c.process_id for c in new}


def test_scale_in_loses_what_the_gone_clients_held() -> None:
    state = generate("scale-in", 100, 15, seed=4, memory=True)
    assert state.remembered is not None
    gone = {c.process_id for c in state.remembered.clients} - set(state.kafka_streams_states)
    assert len(gone) == 5
    owned = {task for c in state.clients for task in c.previous_active}
    lost = {task for c in state.remembered.clients if c.process_id in gone for task in c.active}
    assert lost
    assert owned == set(state.all_tasks) - lost
    assert state.dropped.remembered == 0


def test_a_restarted_client_is_back_with_its_state() -> None:
    state = generate("restart", 100, 10, seed=4, memory=True)
    assert state.remembered is not None
    (back,) = set(state.kafka_streams_states) - {c.process_id for c in state.remembered.clients}
    client = state.kafka_streams_states[back]
    assert not client.previous_active
    assert set(client.previous_standby) == set(client.lags)
    assert all(lag >= 0 for lag in client.lags.values())
    owners = [task for c in state.clients for task in c.previous_active]
    assert sorted(owners) == sorted(state.all_tasks)  # other clients have taken over all tasks
    before = TaskPlacement.of(state, state.remembered)
    assert all(len(before.active[task]) == 1 for task in state.all_tasks)
    assert all(len(set(before.copies(task))) == 2 for task, info in state.all_tasks.items() if info.logged)


def test_partial_state_is_uneven() -> None:
    state = generate("partial", 200, 10, standbys=2, seed=4)
    counts = sorted(len(c.previous_active) for c in state.clients)
    assert counts[-1] > 2 * (counts[0] + 1)
    ranked = Ranks(state)
    lags = [ranked.of(task, c.process_id) for c in state.clients for task in c.lags]
    assert any(lags)
    assert not all(lags)


@pytest.mark.parametrize("dense", [False, True])
def test_unknown_lags_are_never_those_of_running_tasks(dense: bool) -> None:
    state = generate("steady", 50, 5, unknown=1.0, dense=dense)
    for client in state.clients:
        assert {t for t, lag in client.lags.items() if lag == RUNNING} == {
            t for t in client.previous_active if state.all_tasks[t].logged
        }
        assert set(client.lags.values()) <= {RUNNING, UNKNOWN_LAG}


def test_dense_and_sparse_snapshots_mean_the_same() -> None:
    sparse, dense = (generate("scale-out", 60, 8, dense=dense, seed=9) for dense in (False, True))
    for a, b in zip(sparse.clients, dense.clients, strict=True):
        assert a.stateful_tasks_to_lag_sums == b.stateful_tasks_to_lag_sums
    assert {len(c.lags) for c in dense.clients} == {sum(task.logged for task in dense.tasks)}


def test_changelogs_are_more_or_less_alike() -> None:
    def spread(states: float) -> float:
        ends = [task.changelog_end_offset or 0 for task in generate("cold", 60, 4, states=states, seed=1).tasks if task.logged]
        return max(ends) / min(ends)

    assert spread(0.0) == 1.0 < spread(0.5) < spread(2.0)
    assert generate("cold", 60, 4, states=1.2, seed=1) == generate("cold", 60, 4, seed=1)


def test_racks_weights_and_consumers() -> None:
    state = generate("steady", 40, 6, racks=3, weights=1.0, consumers=True, threads=2)
    assert {c.rack for c in state.clients} == {"r1", "r2", "r3"}
    assert all(c.tags["zone"] == c.rack for c in state.clients)
    assert len({task.weight for task in state.tasks}) > 20
    for client in state.clients:
        assert len(client.consumers) == 2
        assert sorted(task for tasks in client.consumers.values() for task in tasks) == sorted(client.previous_active)
    logged = next(task for task in state.tasks if task.logged)
    assert [p.changelog for p in logged.partitions] == [True, False]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"shape": "warm"}, "shape: found 'warm'; allowed: cold, steady"),
        ({"tasks": -1}, "tasks: found -1"),
        ({"clients": 0}, "clients: found 0"),
        ({"standbys": -1}, "standbys: found -1"),
        ({"warmups": 0}, "warmups: found 0"),
        ({"seed": -1}, "seed: found -1"),
        ({"threads": 0}, "threads: found 0"),
        ({"threads": (3, 2)}, "threads: found (3, 2)"),
        ({"capacity": 0.0}, "capacity: found 0.0"),
        ({"stateless": 1.5}, "stateless: found 1.5"),
        ({"stateless": 0.6, "unlogged": 0.6}, "unlogged: found 0.6"),
        ({"tiny": -0.1}, "tiny: found -0.1"),
        ({"unknown": 2.0}, "unknown: found 2.0"),
        ({"subtopologies": 1}, "subtopologies: found 1; allowed: 2"),
        ({"subtopologies": 11}, "subtopologies: found 11"),
        ({"acceptable_recovery_lag": -1}, "acceptable_recovery_lag: found -1"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], named: str) -> None:
    arguments: dict[str, Any] = {"shape": "cold", "tasks": 10, "clients": 2}
    with pytest.raises(ValueError) as error:
        generate(**(arguments | wrong))
    assert named in str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("tasks", "clients"), [(0, 1), (0, 3), (1, 1), (1, 4), (5, 2)])
def test_odd_sizes(shape: Shape, tasks: int, clients: int) -> None:
    state = generate(shape, tasks, clients, standbys=3, memory=True)
    assert (len(state.tasks), len(state.clients)) == (tasks, clients)


def test_the_acceptable_lag_may_be_at_either_limit() -> None:
    none = generate("steady", 20, 4, acceptable_recovery_lag=0)
    assert {lag for c in none.clients for lag in c.lags.values()} == {RUNNING, 0}
    everything = generate("partial", 20, 4, acceptable_recovery_lag=2**63 - 1)
    ranked = Ranks(everything)
    assert not any(ranked.of(task.id, c.process_id) for task in everything.tasks for c in everything.clients)


def test_the_grid_has_all_documented_cases() -> None:
    specs = [spec for _, spec in GRID]
    assert {spec.shape for spec in specs} == set(SHAPES)
    assert {(spec.shape, spec.standbys) for spec in specs} >= {(s, n) for s in SHAPES for n in range(4)}
    assert {1, 2, 3, 4, (1, 4)} <= {spec.threads for spec in specs}
    assert {1, 2, 3, 5, 10, 25, 100} <= {spec.clients for spec in specs}
    for field in ("stateless", "unlogged", "tiny", "unknown", "memory", "dense"):
        assert len({getattr(spec, field) for spec in specs}) > 1, field
    assert any(spec.standbys >= spec.clients for spec in specs)
    assert len(GRID) == len(specs)
    assert GRID[specs[3].name] is specs[3]
    assert {spec.tasks for _, spec in LARGE} == {6_000, 10_000, 100_000}


def test_a_grid_refuses_repeats() -> None:
    with pytest.raises(ValueError, match="twice"):
        Grid([Spec("cold", 1, 1), Spec("cold", 1, 1)])
