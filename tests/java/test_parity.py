"""Tests of our high-availability and sticky assignors against Kafka's own classes, copy by copy."""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from optassign.assignor import create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import Spec

RECORDED = sorted((Path(__file__).parent.parent / "data" / "kafka-4.3.1").glob("*.json"))
THREADS: tuple[int | tuple[int, int], ...] = (1, 1, 2, (1, 2), (1, 4))
PARTS = 10
"""Ten tests share the 500 snapshots."""


def specs(part: int) -> Iterable[Spec]:
    """Yield fifty specs: all shapes, 0 to 3 standbys, few or many clients, all kinds of tasks, unknown or dense lags."""
    rng = Random(part)
    for i in range(500 // PARTS):
        clients = 1 if i % 17 == 0 else rng.randint(2, 12)
        tasks = rng.randint(3, 60)
        yield Spec(
            SHAPES[i % len(SHAPES)],
            tasks,
            clients,
            standbys=rng.choice([0, 1, 1, 2, 3]),
            warmups=rng.choice([1, 2, 2, 5, 20]),
            threads=rng.choice(THREADS),
            seed=1000 * part + i,
            stateless=rng.choice([0.0, 0.2, 0.5]),
            unlogged=rng.choice([0.0, 0.0, 0.2]),
            subtopologies=3 if tasks > 20 else None,
            tiny=rng.choice([0.0, 0.0, 0.2]),
            unknown=rng.choice([0.0, 0.0, 0.1, 0.3]),
            dense=rng.random() < 0.3,
        )


def many_caught_up(seed: int) -> ApplicationState:
    """Draw a group with much state and one warm-up slot, in which Kafka's priority queue of clients may lose its order."""
    rng = Random(seed)
    tasks, clients, share, threads = (
        rng.randint(10, 80),
        rng.randint(4, 40),
        rng.choice([0.1, 0.2, 0.3, 0.5]),
        rng.choice([1, 2, 4]),
    )
    ids = [f"0_{i}" for i in range(tasks)]
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": rng.choice([0, 1, 2, 3]), "max_warmup_replicas": 1},
            "tasks": [{"id": task, "stateful": True, "changelog_end_offset": 100_000} for task in ids],
            "clients": [
                {
                    "process_id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
                    "threads": rng.randint(1, threads),
                    "lags": {task: rng.choice([0, 0, 20_000, 50_000]) for task in ids if rng.random() < share},
                }
                for _ in range(clients)
            ],
        }
    )


def difference(name: str, state: ApplicationState) -> str:
    """Return a pair of lines for each client whose copies differ between our answer and Kafka's; empty if none differ."""
    ours, kafkas = (create(n).assign(state) for n in (name, f"kafka-{name}"))
    pairs = zip(copies(ours), copies(kafkas), strict=True)
    return "\n".join(f"  ours  {one}\n  kafka {other}" for one, other in pairs if one != other)


def copies(answer: TaskAssignment) -> list[tuple[object, ...]]:
    return [(c.process_id, c.active, c.standby, c.warmup, c.followup_rebalance_ms) for c in answer.clients]


@pytest.mark.parametrize("name", ["high-availability", "sticky"])
@pytest.mark.parametrize("part", range(PARTS))
def test_generated(name: str, part: int) -> None:
    for spec in specs(part):
        found = difference(name, spec.generate())
        assert not found, f"{spec}:\n{found}"


@pytest.mark.parametrize("name", ["high-availability", "sticky"])
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recorded(name: str, file: Path) -> None:
    state = ApplicationState.model_validate_json(file.read_text())
    for standbys in (state.configs.num_standby_replicas, 0, 2):
        configs = state.configs.model_copy(update={"num_standby_replicas": standbys})
        found = difference(name, state.model_copy(update={"configs": configs}))
        assert not found, f"{file.name} with {standbys} standbys:\n{found}"


@pytest.mark.parametrize("keep_state", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_convergences(shape: Shape, keep_state: bool) -> None:
    spec = replace(Spec("cold", 40, 6, 1, 5, threads=(1, 2), seed=7), shape=shape)
    ours = create("high-availability")
    state = spec.generate()
    for step in range(30):
        found = difference("high-availability", state)
        assert not found, f"{spec}, keep_state={keep_state}, step {step}:\n{found}"
        answer = ours.assign(state)
        if all(client.followup_rebalance_ms is None for client in answer.clients):
            return
        state = make_restored_snapshot(state, answer, keep_state=keep_state, memory=False)
    pytest.fail("never settled")


@pytest.mark.parametrize("seed", [297, 302])  # of the first 1,500 seeds, those for which a queue in order gives another answer
def test_a_queue_that_loses_its_order(seed: int) -> None:
    found = difference("high-availability", many_caught_up(seed))
    assert not found, f"many_caught_up({seed}):\n{found}"


@pytest.mark.parametrize("name", ["high-availability", "sticky"])
def test_ids_that_are_no_uuids(name: str) -> None:
    state = Spec("scale-out", 30, 7, 2, seed=3, threads=(1, 3)).generate()
    names = {client.process_id: f"client-{n}" for n, client in enumerate(state.clients)}
    clients = tuple(client.model_copy(update={"process_id": names[client.process_id]}) for client in state.clients)
    found = difference(name, state.model_copy(update={"clients": clients}))
    assert not found, found


def test_sticky_with_tasks_that_share_hash_codes() -> None:
    # 0_31 has the hash code of 1_0: with many partitions buckets become trees, whose order decides which client keeps a task.
    spec = Spec("scale-out", 4000, 20, 0, threads=(1, 4), seed=1, stateless=0.0, subtopologies=12)
    found = difference("sticky", spec.generate())
    assert not found, f"{spec}:\n{found[:2000]}"
