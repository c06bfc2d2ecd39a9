"""Tests of dealing, trades, neighbourhoods and the relaxation for load, against all placements of tiny groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.deadline import Deadline
from optassign_models.forced import Forced, prepare
from optassign_models.goals import evaluate, find_goals
from optassign_models.load.dealing import Copies, deal, even_out
from optassign_models.load.loads import LoadArrays, bound_greatest_load, read_loads
from optassign_models.load.neighbourhoods import Neighbourhoods
from optassign_models.load.under_load import make_question_under_load, relax_under_load
from optassign_models.problem import Problem
from optassign_models.target.solver import Effort, Solver


def make_loads(weight: list[float], threads: list[int]) -> LoadArrays:
    each, size = np.array(weight), np.array(threads, dtype=np.float64)
    even = each.sum() / size.sum()
    none = np.zeros(len(weight), dtype=np.bool_)
    return LoadArrays(each / even, none, size, np.ones(len(threads)), np.array(threads, dtype=np.int64))


def make_problem(seed: int, standbys: int, standby_load: float) -> tuple[Problem, Forced, LoadArrays]:
    state = generate("partial", 7, 3, standbys, weights=0.8, stateless=0.0, seed=seed)
    options = state.options.model_copy(update={"standby_load": standby_load})
    problem, forced = prepare(read_situation(state.model_copy(update={"options": options})).problem)
    return problem, forced, read_loads(problem)


@pytest.mark.parametrize("seed", range(20))
def test_no_deal_is_below_the_bound_and_trading_never_makes_it_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.choice([1.0, 3.0, 7.0, 20.0], 7) if seed % 2 else rng.uniform(1.0, 3.0, 7)
    loads = make_loads(weight.tolist(), rng.integers(1, 4, 3).tolist())
    copies = Copies.of_actives(loads)
    least = min(loads.greatest(np.array(choice)) for choice in itertools.product(range(3), repeat=7))
    dealt = deal(copies, np.full(7, -1))
    traded = even_out(copies, dealt, np.ones(7, dtype=np.bool_), 0.0)
    assert bound_greatest_load(loads) <= least * (1 + 1e-9), f"{weight}"
    assert loads.greatest(traded) <= loads.greatest(dealt) + 1e-12
    assert loads.greatest(traded) >= least * (1 - 1e-9)


@pytest.mark.parametrize("standbys", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_trades_of_copies_keep_each_task_on_different_clients(seed: int, standbys: int) -> None:
    problem, _, loads = make_problem(seed, standbys, 0.5)
    copies = Copies.of(problem, loads)
    client = deal(copies, np.full(len(copies.task), -1))
    traded = even_out(copies, client, np.ones(len(client), dtype=np.bool_), 0.0)
    dealt, placed = copies.read(client), copies.read(traded)
    keys = copies.task * problem.C + traded
    assert len(np.unique(keys)) == len(keys)
    assert np.array_equal(copies.locate(placed)[: problem.T], placed.active)
    assert loads.greatest_of(placed) <= loads.greatest_of(dealt) + 1e-12
    assert np.allclose(copies.sum_up(traded), loads.sum_up_all(placed))


@pytest.mark.parametrize(("standbys", "standby_load"), [(0, 0.0), (1, 0.0), (1, 0.5)])
@pytest.mark.parametrize("seed", range(6))
def test_neighbourhoods_cost_less_within_the_same_loads(seed: int, standbys: int, standby_load: float) -> None:
    problem, forced, loads = make_problem(seed, standbys, standby_load)
    every = Copies.of(problem, loads)
    start = every.read(deal(every, np.full(len(every.task), -1)))
    if standbys and loads.standby is None:
        other = (start.active + 1) % problem.C
        start = type(start)(start.active, np.arange(problem.T), other)
    level = loads.greatest_of(start) * 1.3
    found = Neighbourhoods(problem, forced, loads, level, start).improve(Deadline.after(None))
    before, after = (evaluate(problem, forced, placed)["restore_work"] for placed in (start, found))
    assert after <= before or forced.tie_not_caught_up.any()  # among cold ties the search does not know the forced copies
    assert loads.greatest_of(found) <= level * (1 + 1e-6)
    assert loads.count_idle(found.active) <= loads.count_idle(start.active)
    assert np.array_equal(
        np.bincount(found.standby_task, minlength=problem.T), np.bincount(start.standby_task, minlength=problem.T)
    )
    assert not np.any(found.active[found.standby_task] == found.standby_client)


@pytest.mark.parametrize("seed", range(8))
def test_the_relaxation_is_no_more_than_any_placement(seed: int) -> None:
    problem, forced, loads = make_problem(seed, 0, 0.0)
    every = Copies.of(problem, loads)
    choices = [np.array(choice) for choice in itertools.product(range(problem.C), repeat=problem.T)]
    choices = [active for active in choices if not loads.count_idle(active)]
    level = 1.1 * min(loads.greatest(active) for active in choices)
    allowed = [every.read(active) for active in choices if loads.greatest(active) <= level]
    work = [evaluate(problem, forced, placed)["restore_work"] for placed in allowed]
    least, best = min(work), allowed[int(np.argmin(work))]
    goals = find_goals(["restore_work"])
    question = make_question_under_load(problem, loads, level, goals, (), best, has_pools=True)
    relaxed = relax_under_load(question, loads, Effort(Solver.AUTO, Deadline.after(None)))
    assert relaxed is not None
    assert 0 <= relaxed[0] <= least
