"""Where no balanced assignment exists, and the preset that makes shares a cost."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from enumeration import Copies, Tiny
from tiny import tiny_state

from optassign.translating.reading import read_situation
from optassign_models.cp_sat.model import FAMILIES
from optassign_models.cp_sat.plan import compute_weighted_cost, solve_least_imbalance, solve_weighted
from optassign_models.deadline import Deadline
from optassign_models.flows import decomposition
from optassign_models.problem import Placement, Problem, make_placement
from optassign_models.results import Found
from optassign_models.shares import FamilyCounts, ShareBounds, compute_shares, count_copies

NO_DEADLINE = Deadline.after(None)


def as_placement(tiny: Tiny, copies: Copies) -> Placement:
    index = {client: c for c, client in enumerate(tiny.clients)}
    active = np.array([index[copies[task.id][0]] for task in tiny.state.tasks])
    keys = [t * len(index) + index[s] for t, task in enumerate(tiny.state.tasks) for s in copies[task.id][1]]
    return make_placement(active, np.array(keys, dtype=np.int64), len(index))


def counted(problem: Problem, placed: Placement) -> FamilyCounts:
    return count_copies(problem, placed)


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_least_imbalance_family_by_family(seed: int) -> None:
    tiny = Tiny(tiny_state(seed, most=400))
    problem, forced = decomposition.write_out_pairs(read_situation(tiny.state).problem)
    within = compute_shares(problem)
    # Shares that no assignment keeps: one active more is wanted of everyone.
    shut = replace(within, active=ShareBounds(within.active.high + 1, within.active.high + 1))
    solved = solve_least_imbalance(problem, forced, shut, NO_DEADLINE, 20.0)
    assert solved.placement is not None
    best = min(
        shut.imbalance(counted(problem, as_placement(tiny, copies)))
        for copies in tiny.all_of([tiny.placements_of(t) for t in tiny.state.tasks])
    )
    assert tuple(solved.bounds[name] for name in FAMILIES) == best, f"seed {seed}"


@pytest.mark.parametrize("seed", range(1, 60, 2))
@pytest.mark.parametrize("weights", [(1000, 100, 1), (1, 1, 1), (1, 5, 50)])
def test_weighted_sum_is_least(seed: int, weights: tuple[int, int, int]) -> None:
    tiny = Tiny(tiny_state(seed, most=400))
    problem, _ = decomposition.write_out_pairs(read_situation(tiny.state).problem)
    within = compute_shares(problem)
    solved = solve_weighted(problem, within, weights, NO_DEADLINE, 20.0)
    assert solved.placement is not None
    best = min(
        compute_weighted_cost(problem, within, weights, as_placement(tiny, copies))
        for copies in tiny.all_of([tiny.placements_of(t) for t in tiny.state.tasks])
    )
    bound = solved.bounds["weighted_cost"]
    assert compute_weighted_cost(problem, within, weights, solved.placement) == bound == best, f"seed {seed}"
    assert solved.proved == {"weighted_cost"}


def test_a_start_is_never_made_worse() -> None:
    tiny = Tiny(tiny_state(7, most=400))
    problem, _ = decomposition.write_out_pairs(read_situation(tiny.state).problem)
    within = compute_shares(problem)
    for copies in itertools.islice(tiny.all_of([tiny.placements_of(t) for t in tiny.state.tasks]), 10):
        start = as_placement(tiny, copies)
        solved = solve_weighted(problem, within, (10, 10, 10), NO_DEADLINE, 1e-9, Found(start))
        assert solved.placement is not None
        assert compute_weighted_cost(problem, within, (10, 10, 10), solved.placement) <= compute_weighted_cost(
            problem, within, (10, 10, 10), start
        )
