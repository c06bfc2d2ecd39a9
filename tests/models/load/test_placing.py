"""Tests of placing copies by price under a greatest load, against all placements of tiny groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.load.loads import LoadArrays, read_loads
from optassign_models.load.placing import choose_least_loaded, place_actives, place_standbys, price_actives
from optassign_models.problem import LOGGED, Problem, prepare
from optassign_models.shares import compute_shares

SEEDS = pytest.mark.parametrize("seed", range(20))


def make_problem(seed: int, standbys: int = 0, weights: float = 0.8) -> tuple[Problem, LoadArrays]:
    state = generate("partial", 7, 3, standbys, weights=weights, stateless=0.0, seed=seed)
    problem = prepare(read_situation(state).problem)
    return problem, read_loads(problem)


def list_actives(problem: Problem) -> list[np.ndarray]:
    return [np.array(choice) for choice in itertools.product(range(problem.C), repeat=problem.T)]


def list_busy(problem: Problem, loads: LoadArrays) -> tuple[np.ndarray, np.ndarray]:
    """Return all actives (n, T) that leave no thread idle, and (n,) the greatest load of each."""
    every = np.stack(list_actives(problem))
    on = every[:, :, None] == np.arange(problem.C)
    busy = np.all(on.sum(axis=1) >= loads.least_number, axis=1)
    thread = np.where(loads.is_oversized[:, None], np.maximum(loads.weight[:, None], loads.capacity), loads.weight[:, None])
    carried = on[busy] * thread  # an oversized task has a thread for itself
    load = np.maximum(carried.sum(axis=1) / loads.size, carried.max(axis=1) / loads.capacity)
    return every[busy], load.max(axis=1)


def price_copies(problem: Problem) -> np.ndarray:
    """Return (T, C) restore costs; copies that R3 to R5 force cost nothing."""
    cost = problem.cost_of(np.arange(problem.T * problem.C)).reshape(problem.T, problem.C)
    cost[problem.col_task[problem.forced.mandatory], problem.col_client[problem.forced.mandatory]] = 0
    return cost


@SEEDS
def test_actives_stay_with_their_owners_within_the_level_of_load(seed: int) -> None:
    problem, loads = make_problem(seed)
    cost = price_copies(problem)
    anywhere = place_actives(problem, loads, np.inf)
    if not loads.count_idle(cost.argmin(axis=1)):
        assert cost[np.arange(problem.T), anywhere].sum() == cost.min(axis=1).sum()
    level = 1.2 * list_busy(problem, loads)[1].min()
    placed = place_actives(problem, loads, level)
    assert loads.greatest(placed) <= level * (1 + 1e-6)
    assert loads.count_idle(placed) == 0


@pytest.mark.parametrize("seed", range(40))
def test_no_client_is_above_a_tight_level(seed: int) -> None:
    problem, loads = make_problem(seed)
    level = 1.1 * list_busy(problem, loads)[1].min()
    assert loads.greatest(place_actives(problem, loads, level)) <= level * (1 + 1e-6)


def test_tasks_of_equal_weight_leave_full_clients_at_nearly_the_least_price() -> None:
    """In 40 groups the actives of 30 cost what the cheapest do. Knapsacks of unequal weights would hide what shedding costs."""
    optimal = 0
    for seed in range(40):
        problem, loads = make_problem(seed, weights=0.0)
        price, keys = price_actives(problem), np.arange(problem.T * problem.C)
        of_pair = problem.look_up(keys, price.columns, np.repeat(price.pools, problem.C)).reshape(problem.T, problem.C)
        busy, greatest = list_busy(problem, loads)
        level = 1.1 * greatest.min()
        placed = place_actives(problem, loads, level)
        sums = of_pair[np.arange(problem.T), np.vstack([placed, busy[greatest <= level]])].sum(axis=1)
        optimal += int(sums[0] == sums[1:].min())
    assert optimal >= 30


@SEEDS
def test_the_heaviest_tasks_choose_the_least_loaded_of_their_columns(seed: int) -> None:
    problem, loads = make_problem(seed)
    problem = problem.with_all_columns()
    every = np.ones(len(problem.col_task), dtype=np.bool_)
    found, _ = choose_least_loaded(loads, problem, compute_shares(problem), every)
    # Longest processing time first: at most 4/3 of the optimum on equal machines, twice on unequal ones (Gonzalez et al.).
    assert loads.greatest(found) <= 2 * min(loads.greatest(active) for active in list_actives(problem))


@SEEDS
def test_standbys_are_the_cheapest_without_the_active(seed: int) -> None:
    problem, loads = make_problem(seed, standbys=1)
    active = np.arange(problem.T) % problem.C
    placed = place_standbys(problem, loads, active, np.inf)
    assert placed.standby_task.tolist() == np.flatnonzero(problem.kind[problem.group] == LOGGED).tolist()
    assert not np.any(placed.active[placed.standby_task] == placed.standby_client)
    cost = price_copies(problem)
    cost[np.arange(problem.T), active] = np.iinfo(np.int64).max
    chosen = cost[placed.standby_task, placed.standby_client]
    assert chosen.tolist() == cost[placed.standby_task].min(axis=1).tolist()


@SEEDS
def test_standbys_that_weigh_something_stay_within_the_room_of_their_cheapest_clients(seed: int) -> None:
    state = generate("partial", 7, 3, 1, weights=0.8, stateless=0.0, seed=seed)
    options = state.options.model_copy(update={"standby_load": 1.0})
    problem = prepare(read_situation(state.model_copy(update={"options": options})).problem)
    loads = read_loads(problem)
    active = np.arange(problem.T) % problem.C
    level = 1.3 * loads.greatest(loads.locate(place_standbys(problem, loads, active, 1.0)))
    placed = place_standbys(problem, loads, active, level)
    assert loads.greatest(loads.locate(placed)) <= level * (1 + 1e-6)
