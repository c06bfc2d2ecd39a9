"""Prices of active copies against every choice of standbys."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.forced import prepare
from optassign_models.load.loads import read_loads
from optassign_models.load.prices import price_restoring


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_an_active_costs_what_it_restores_with_the_cheapest_standbys(seed: int, standbys: int) -> None:
    state = generate("partial", 10, 4, standbys, weights=0.5, stateless=0.0, seed=seed)
    problem, forced = prepare(read_situation(state).problem)
    problem = problem.with_all_columns()
    problem, forced = prepare(problem)
    loads = read_loads(problem)
    prices = price_restoring(problem, forced, loads)
    free = forced.mandatory | (forced.tied & forced.tie_not_caught_up[problem.col_task])
    cost = np.where(free, 0, problem.col_cost).reshape(problem.T, problem.C)
    for at, (task, client) in enumerate(zip(prices.task.tolist(), prices.client.tolist(), strict=True)):
        others = [c for c in range(problem.C) if c != client]
        beside = min(sum(int(cost[task, c]) for c in chosen) for chosen in itertools.combinations(others, problem.standbys))
        assert prices.column[at] // 2 == cost[task, client] + beside
