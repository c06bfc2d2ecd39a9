"""Tests of choosing pairs of tasks and clients within bounds of counts, also where R2 first excludes every task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.greedy.choosing import Level, Wanted, _take_in_order, choose_pairs
from optassign_models.problem import LOGGED, Problem, prepare
from optassign_models.shares import ShareBounds, compute_shares


def read_problem(shape: str, tasks: int, clients: int, standbys: int, seed: int) -> Problem:
    return prepare(read_situation(generate(shape, tasks, clients, standbys, stateless=0.0, seed=seed)).problem)  # type: ignore[arg-type]


def want_copies(problem: Problem, weight: int = 1) -> Wanted:
    """Return a request for all copies within their shares, with the greatest worth on owners."""
    shares, column = compute_shares(problem), np.ones(len(problem.col_task), dtype=np.bool_)
    return Wanted(
        need=np.full(problem.T, problem.standbys + 1),
        worth=1 + problem.col_owner.astype(np.int64),
        allowed=column,
        must=~column,
        pools=np.ones(problem.T, dtype=np.bool_),
        cells=shares.group_copies,
        weight=weight,
        levels=(Level(shares.copies, problem.kind == LOGGED, weight),),
    )


@pytest.mark.parametrize("seed", range(30))
def test_elements_are_taken_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = [(rng.integers(0, size, 60), rng.integers(0, 4, size)) for size in (8, 5, 20)]
    order = rng.permutation(60)
    rooms, taken = [room.copy() for _, room in sides], []
    for each in order.tolist():
        if all(room[side[each]] > 0 for (side, _), room in zip(sides, rooms, strict=True)):
            taken.append(each)
            for (side, _), room in zip(sides, rooms, strict=True):
                room[side[each]] -= 1
    assert sorted(_take_in_order(order, sides).tolist()) == sorted(taken)


@pytest.mark.parametrize(("tasks", "clients", "standbys"), [(40, 3, 1), (60, 4, 2), (200, 5, 3), (900, 30, 2)])
@pytest.mark.parametrize("shape", ["cold", "partial", "scale-out"])
def test_each_task_has_different_clients_and_all_counts_hold(shape: str, tasks: int, clients: int, standbys: int) -> None:
    """Few clients have many copies: a place may first be offered to tasks that are already there."""
    problem = read_problem(shape, tasks, clients, standbys, seed=3)
    wanted = want_copies(problem)
    keys, lost = choose_pairs(problem, wanted)
    assert not len(lost)
    assert len(np.unique(keys)) == len(keys)
    assert np.all(np.bincount(keys // problem.C) == standbys + 1)
    cells = np.bincount(problem.group[keys // problem.C] * problem.C + keys % problem.C, minlength=problem.G * problem.C)
    assert wanted.cells.imbalance(cells.reshape(problem.G, problem.C)) == 0


def test_required_pairs_are_chosen_and_forbidden_ones_are_not() -> None:
    problem = read_problem("partial", 60, 6, 1, seed=2)
    must = problem.col_standby & (problem.col_task % 3 == 0)
    allowed = must | (problem.col_task % 3 != 1)
    wanted = replace(want_copies(problem), must=must, allowed=allowed)
    keys, _ = choose_pairs(problem, wanted)
    assert np.isin(problem.col_keys[must], keys).all()
    assert not np.isin(problem.col_keys[~allowed], keys).any()


def test_nothing_is_chosen_if_strict_bounds_cannot_hold() -> None:
    problem = read_problem("cold", 60, 6, 1, seed=2)
    wanted = want_copies(problem, weight=0)
    assert not len(choose_pairs(problem, wanted)[1])
    none = ShareBounds(np.zeros_like(wanted.cells.low), np.zeros_like(wanted.cells.high))
    keys, lost = choose_pairs(problem, replace(wanted, cells=none))
    assert not len(keys)
    assert len(lost) == 120
