"""Tests that many clients take over the tasks of a lost one, and that nothing else of a plan changes (docs/reference/rules.md,
"Failover")."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from targets import find_target

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.simulation.successors import make_restored_snapshot
from optassign.translating.snapshot import read_situation
from optassign_models.goals import evaluate
from optassign_models.problem import Placement, Problem, prepare
from optassign_models.shares import compute_shares, count_copies
from optassign_models.ties import spread_failover


def fresh(tasks: int, subtopologies: int, threads: list[int], standbys: int = 1) -> ApplicationState:
    per = tasks // subtopologies
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": standbys},
            "tasks": [{"id": f"{g}_{p}", "stateful": True} for g in range(subtopologies) for p in range(per)],
            "clients": [{"process_id": f"c{n:03d}", "threads": size} for n, size in enumerate(threads)],
        }
    )


def without(state: ApplicationState, gone: str) -> ApplicationState:
    clients = [client for client in state.clients if client.process_id != gone]
    return ApplicationState.model_validate({**dict(state), "clients": clients, "remembered": None})


def count_pairs(problem: Problem, placed: Placement) -> np.ndarray[Any, np.dtype[np.int64]]:
    pairs = np.zeros((problem.C, problem.C), dtype=np.int64)
    np.add.at(pairs, (placed.active[placed.standby_task], placed.standby_client), 1)
    return pairs


def measure(problem: Problem, placed: Placement) -> float:
    return float((count_pairs(problem, placed) ** 2 / problem.units).sum())


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
@pytest.mark.parametrize(
    ("tasks", "subtopologies", "threads"),
    [(12, 1, [1, 1, 1]), (24, 3, [1, 1, 1, 1]), (100, 5, [1] * 10), (240, 2, [1] * 16), (100, 1, [2] * 10)],
)
def test_clients_are_balanced_at_once_after_any_loss(assignor: str, tasks: int, subtopologies: int, threads: list[int]) -> None:
    state = fresh(tasks, subtopologies, threads)
    state = make_restored_snapshot(state, assign(state, assignor), memory=False)
    for client in state.clients:
        answer = assign(without(state, client.process_id), assignor)
        count = [len(each.active) for each in answer.clients]
        assert sum(count) == tasks
        assert max(count) <= -(-tasks // len(count)), f"without {client.process_id}: {count}"


def test_larger_clients_take_over_more() -> None:
    threads = [1, 1, 1, 2, 2, 3, 4]
    state = fresh(280, 2, threads)
    answer: TaskAssignment = assign(state, "cp-sat")
    owner = {task: client.process_id for client in answer.clients for task in client.active}
    for gone in (0, 3, 6):
        taken = [sum(owner[task] == f"c{gone:03d}" for task in client.standby) for client in answer.clients]
        sizes = [0 if n == gone else size for n, size in enumerate(threads)]
        fair = [sum(taken) * size / sum(sizes) for size in sizes]
        away = [abs(a - b) for a, b in zip(taken, fair, strict=True)]
        assert max(away) <= 0.1 * sum(taken) + 1, f"without c{gone:03d}: {taken}, fair {fair}"


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_a_tag_with_a_single_value_keeps_copies_spread(assignor: str) -> None:
    made = fresh(100, 1, [2] * 10)
    clients = [client.model_copy(update={"tags": {"zone": "a"}}) for client in made.clients]
    configs = {"num_standby_replicas": 1, "rack_aware_assignment_tags": ["zone"]}
    state = ApplicationState.model_validate({**dict(made), "configs": configs, "clients": clients})
    answer = assign(state, assignor)
    owner = {task: client.process_id for client in answer.clients for task in client.active}
    taken = Counter((owner[task], client.process_id) for client in answer.clients for task in client.standby)
    assert max(taken.values()) <= 2, taken


@pytest.mark.parametrize("shape", SHAPES)
def test_goals_counts_and_copies_with_state_stay(shape: str) -> None:
    changed = 0
    for seed in range(12):
        rng = random.Random(f"{shape} {seed}")
        settings = {"stateless": rng.choice([0.0, 0.3]), "unlogged": rng.choice([0.0, 0.1]), "seed": seed}
        standbys, clients = rng.choice([1, 1, 2]), rng.choice([3, 7, 20])
        state = generate(shape, 60, clients, standbys, threads=rng.choice([1, (1, 4)]), **settings)  # type: ignore[arg-type]
        before = read_situation(state).problem
        problem = prepare(before)
        shares = compute_shares(problem)
        placed = find_target(problem, shares).placement
        if placed is None:
            continue
        found = spread_failover(before, placed)
        assert evaluate(problem, found) == evaluate(problem, placed), f"seed {seed}"
        counts = [count_copies(problem, each) for each in (placed, found)]
        assert shares.imbalance(counts[1]) == shares.imbalance(counts[0]), f"seed {seed}"
        past = before.col_keys
        had, has = placed.standby_keys(problem.C), found.standby_keys(problem.C)
        assert np.array_equal(np.intersect1d(had, past), np.intersect1d(has, past)), f"seed {seed}"
        assert np.all(found.active[found.standby_task] != found.standby_client), f"seed {seed}"
        assert np.array_equal(found.standby_task, placed.standby_task), f"seed {seed}"
        assert len(np.unique(has)) == len(had), f"seed {seed}"
        assert measure(problem, found) <= measure(problem, placed), f"seed {seed}"
        changed += not found.same_as(placed)
    assert changed or shape in ("steady", "restart"), "no plan had standbys to spread"
