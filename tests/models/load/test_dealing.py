"""Tests of dealing, trades, the search among candidates and the relaxation for load, against all placements of tiny groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optassign.generating import generate
from optassign.translating.snapshot import read_situation
from optassign_models.goals import evaluate, find_goals
from optassign_models.load.loads import LoadArrays, bound_greatest_load, read_loads
from optassign_models.load.placing import deal, even_out, leave_actives_alone
from optassign_models.load.under_load import improve_actives, make_question_under_load, relax_under_load
from optassign_models.problem import IntArray, Problem, make_placement, prepare
from optassign_models.results import Deadline, Effort


def make_loads(weight: list[float], threads: list[int]) -> LoadArrays:
    each, size = np.array(weight), np.array(threads, dtype=np.float64)
    even = each.sum() / size.sum()
    none = np.zeros(len(weight), dtype=np.bool_)
    threads_of = np.array(threads, dtype=np.int64)
    nothing = np.zeros(len(weight))
    return LoadArrays(each / even, none, size, np.ones(len(threads)), threads_of, nothing, 0, threads_of[:0])


def make_problem(seed: int, standbys: int, standby_load: float) -> tuple[Problem, LoadArrays]:
    state = generate("partial", 7, 3, standbys, weights=0.8, stateless=0.0, seed=seed)
    options = state.options.model_copy(update={"standby_load": standby_load})
    problem = prepare(read_situation(state.model_copy(update={"options": options})).problem)
    return problem, read_loads(problem)


@pytest.mark.parametrize("seed", range(20))
def test_no_deal_is_below_the_bound_and_trading_never_makes_it_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.choice([1.0, 3.0, 7.0, 20.0], 7) if seed % 2 else rng.uniform(1.0, 3.0, 7)
    loads = make_loads(weight.tolist(), rng.integers(1, 4, 3).tolist())
    least = min(loads.greatest(np.array(choice)) for choice in itertools.product(range(3), repeat=7))
    dealt = deal(loads, np.full(7, -1))
    traded = even_out(loads, dealt, np.ones(7, dtype=np.bool_), 0.0)
    assert bound_greatest_load(loads) <= least * (1 + 1e-9), f"{weight}"
    assert loads.greatest(traded) <= loads.greatest(dealt) + 1e-12
    assert loads.greatest(traded) >= least * (1 - 1e-9)


@pytest.mark.parametrize("standbys", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_trades_of_copies_keep_each_task_on_different_clients(seed: int, standbys: int) -> None:
    problem, loads = make_problem(seed, standbys, 0.5)
    client = deal(loads, np.full(len(loads.copy_task), -1))
    traded = even_out(loads, client, np.ones(len(client), dtype=np.bool_), 0.0)
    dealt, placed = loads.read(client), loads.read(traded)
    keys = loads.copy_task * problem.C + traded
    assert len(np.unique(keys)) == len(keys)
    assert np.array_equal(loads.locate(placed)[: problem.T], placed.active)
    assert loads.greatest(loads.locate(placed)) <= loads.greatest(loads.locate(dealt)) + 1e-12
    of_standbys = np.bincount(placed.standby_client, loads.standby[placed.standby_task], problem.C)
    assert np.allclose(loads.sum_up(traded), loads.sum_up(placed.active) + of_standbys)


@pytest.mark.parametrize("standbys", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_among_candidates_costs_less_within_the_same_loads(seed: int, standbys: int) -> None:
    problem, loads = make_problem(seed, standbys, 0.0)
    start = deal(loads.actives_alone, np.full(problem.T, -1))
    level = loads.greatest(start) * 1.3
    found = improve_actives(problem, loads, level, start, Deadline.after(None))
    least = measure_least_work(problem)
    before, after = (int(least[np.arange(problem.T), active].sum()) for active in (start, found))
    assert after <= before
    assert loads.greatest(found) <= level * (1 + 1e-6)
    assert loads.count_idle(found) <= loads.count_idle(start)


def test_a_search_among_candidates_may_have_no_finite_load() -> None:
    """A task that is pinned to a draining client makes the least load infinite."""
    problem, loads = make_problem(0, 1, 0.0)
    start = deal(loads.actives_alone, np.full(problem.T, -1))
    found = improve_actives(problem, loads, np.inf, start, Deadline.after(None))
    least = measure_least_work(problem)
    assert least[np.arange(problem.T), found].sum() <= least[np.arange(problem.T), start].sum()


def measure_least_work(problem: Problem) -> IntArray:
    """Return (T, C) the least restore work of placements with the task active on the client, other tasks on client 0."""
    least = np.zeros((problem.T, problem.C), dtype=np.int64)
    active, clients = np.zeros(problem.T, dtype=np.int64), range(problem.C)
    for task, client in itertools.product(range(problem.T), clients):
        active[task] = client
        values = []
        for standbys in itertools.combinations([one for one in clients if one != client], problem.standbys):
            keys = find_first(problem)
            own = [task * problem.C + one for one in standbys if problem.logged[task]]
            placed = make_placement(active, np.append(keys[keys // problem.C != task], own).astype(np.int64), problem.C)
            values.append(evaluate(problem, placed)["restore_work"])
        least[task, client] = min(values)
        active[task] = 0
    return least


@pytest.mark.parametrize("standbys", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_the_relaxation_is_no_more_than_any_placement(seed: int, standbys: int) -> None:
    problem, loads = make_problem(seed, standbys, 0.0)
    choices = [np.array(choice) for choice in itertools.product(range(problem.C), repeat=problem.T)]
    choices = [active for active in choices if not loads.count_idle(active)]
    level = 1.1 * min(loads.greatest(active) for active in choices)
    allowed = [active for active in choices if loads.greatest(active) <= level]
    none = np.zeros(problem.T, dtype=np.int64)
    others = int(evaluate(problem, make_placement(none, find_first(problem), problem.C))["restore_work"])
    each = measure_least_work(problem) - others
    work = [others + int(each[np.arange(problem.T), active].sum()) for active in allowed]
    best = allowed[int(np.argmin(work))]
    alone, goals = leave_actives_alone(problem), find_goals(["restore_work"])
    start = make_placement(best, best[:0], problem.C)
    question = make_question_under_load(alone, loads, level, goals, (), start, has_pools=True)
    relaxed = relax_under_load(question, loads, Effort("auto", Deadline.after(None)))
    assert relaxed is not None
    assert problem.forced.forced_work <= relaxed[0] + problem.forced.forced_work <= min(work)


def find_first(problem: Problem) -> IntArray:
    """Return the keys of standbys of each logged task on clients 1, 2 and so on."""
    tasks = np.flatnonzero(problem.logged)
    return np.concatenate([tasks * problem.C + 1 + at for at in range(problem.standbys)] or [tasks[:0]])
