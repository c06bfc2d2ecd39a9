"""Tests whether limits can hold together: the program against enumeration of all placements; and repairs by single moves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from judging import make_snapshot
from targets import choose_solver, make_effort

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.limits import Kind, PlacementLimit, list_broken, mend
from optassign_models.problem import Placement, Problem, make_placement
from optassign_models.shares import allow_any_counts, compute_shares
from optassign_models.solving.solver_methods import can_hold_together


def enumerate_placements(problem: Problem) -> Iterator[Placement]:
    """Yield every placement that keeps R1, R2 and R4."""
    choices = []
    for task in range(problem.T):
        standbys = problem.standbys if problem.logged[task] else 0
        copies = combinations(range(problem.C), standbys + 1)
        choices.append([(lead, tuple(c for c in chosen if c != lead)) for chosen in copies for lead in chosen])
    for chosen in product(*choices):
        keys = [task * problem.C + c for task, (_, others) in enumerate(chosen) for c in others]
        active = np.array([lead for lead, _ in chosen], dtype=np.int64)
        yield make_placement(active, np.array(keys, dtype=np.int64), problem.C)


def draw_limit(dice: random.Random, problem: Problem, name: str) -> PlacementLimit:
    kind = dice.choice(list(Kind))
    tasks = np.array([dice.random() < 0.5 for _ in range(problem.T)])
    clients = np.array([dice.random() < 0.5 for _ in range(problem.C)])
    if dice.random() < 0.5:
        return PlacementLimit(name, kind, tasks, clients, dice.randint(0, 4), np.ones(problem.T, dtype=np.int64))
    return PlacementLimit(name, kind, tasks, clients, int(problem.end.sum()) * dice.randint(0, 4) // 4, problem.end)


@pytest.mark.parametrize("seed", range(40))
def test_the_program_agrees_with_enumeration(seed: int) -> None:
    dice = random.Random(seed)
    state = generate("steady", 4, 3, dice.randint(0, 1), seed=seed)
    problem = read_situation(state).problem
    limits = [draw_limit(dice, problem, str(number)) for number in range(dice.randint(1, 4))]
    found = [placed for placed in enumerate_placements(problem) if not list_broken(limits, placed)]
    assert can_hold_together(problem, limits, make_effort(choose_solver(seed))) is bool(found), seed
    start = next(enumerate_placements(problem))
    mended = mend(problem, compute_shares(problem), limits, start)
    every = {(tuple(p.active), tuple(p.standby_keys(problem.C))) for p in enumerate_placements(problem)}
    assert (tuple(mended.active), tuple(mended.standby_keys(problem.C))) in every, "R1, R2 and R4 hold whatever else gives way"
    assert found or list_broken(limits, mended)


def test_an_active_takes_the_place_of_its_standby_if_no_other_client_may_lead() -> None:
    """Only a and b may be active, with room for one task each: the second active moves to b, and the standbys to c."""
    state = make_snapshot({"0_0": 300, "0_1": 400}, {"a": {}, "b": {}, "c": {}}, num_standby_replicas=1)
    problem = read_situation(state).problem
    both, a_and_b = np.array([True, True]), np.array([True, True, False])
    limits = [
        PlacementLimit("lead", Kind.PIN, both, a_and_b, 0, problem.end),
        PlacementLimit("room", Kind.MOST, both, a_and_b, 500, problem.end),
    ]
    start = make_placement(np.array([0, 0]), np.array([1, 4]), problem.C)  # all actives on a, all standbys on b
    mended = mend(problem, compute_shares(problem), limits, start)
    assert (mended.active.tolist(), mended.standby_keys(problem.C).tolist()) == ([0, 1], [2, 5])


def test_misplaced_copies_spread_over_the_allowed_clients() -> None:
    """Four tasks leave a for b and c, two each: the client with fewest copies takes the next."""
    state = make_snapshot(dict.fromkeys(("0_0", "0_1", "0_2", "0_3"), 300), {"a": {}, "b": {}, "c": {}})
    problem = read_situation(state).problem
    every, only_a = np.ones(4, dtype=np.bool_), np.array([True, False, False])
    limits = [PlacementLimit("empty", Kind.FORBID, every, only_a, 0, problem.end)]
    mended = mend(
        problem, allow_any_counts(problem), limits, make_placement(np.zeros(4, dtype=np.int64), problem.end[:0], problem.C)
    )
    assert sorted(mended.active.tolist()) == [1, 1, 2, 2]
