"""Tests of the greedy methods: they keep the rules, balance where flows do, restore little more, and import no solver."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from seeds import take_few
from targets import find_answer_now, find_target, make_effort
from tiny import draw_tiny_state

from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.translating.snapshot import read_situation
from optassign_models.flows import find_least_imbalance_actives
from optassign_models.goals import DEFAULT_ORDER, evaluate
from optassign_models.goals.goal import ACTIVE_MOVES, find_active_moves
from optassign_models.greedy.plan import choose_greedy_actives, find_greedy_answer_now, find_greedy_plan
from optassign_models.problem import Placement, Problem, prepare
from optassign_models.rebalance import rebalance
from optassign_models.results import Found
from optassign_models.shares import ShareBounds, ShareFamilies, compute_shares, count_copies
from optassign_models.solving import method
from optassign_models.solving.solver_methods import make_target_method

SEEDS = range(300)
BATCH = 30
"""Seeds per test; a failure names the seed."""


@dataclass(frozen=True, eq=False)
class Case:
    """One snapshot as arrays, and the results of the solver methods."""

    name: str
    problem: Problem
    shares: ShareFamilies
    plan: Found
    now: Placement | None


def snapshot(seed: int) -> ApplicationState:
    """Draw a group: any shape, 2–12 clients, 0–3 standbys, equal or mixed threads and capacities, some draining clients."""
    rng = random.Random(seed)
    several: list[int | tuple[int, int]] = [1, 2, 4, (1, 2), (1, 4), (1, 8)]
    capacities: list[float | tuple[float, float]] = [1.0, 1.0, (0.5, 2.0)]
    while True:
        tasks, clients = rng.randint(4, 60), rng.randint(2, 12)
        try:
            state = generate(
                rng.choice(SHAPES),
                tasks,
                clients,
                rng.choice([0, 1, 1, 2, 3]),
                threads=rng.choice(several),
                seed=seed,
                stateless=rng.choice([0.0, 0.2, 0.4]),
                unlogged=rng.choice([0.0, 0.2]),
                subtopologies=rng.choice([None, 3, 5]),
                tiny=rng.choice([0.0, 0.3]),
                unknown=rng.choice([0.0, 0.0, 0.2]),
                capacity=rng.choice(capacities),
                memory=rng.random() < 0.3,
                dense=rng.random() < 0.3,
            )
            break
        except (ValueError, RuntimeError):  # fewer tasks than subtopologies, or no balanced start exists
            seed += 1_000_000
    if rng.random() < 0.2:
        some = [client.model_copy(update={"draining": rng.random() < 0.3}) for client in state.clients]
        state = state.model_copy(update={"clients": tuple(some)})
    if rng.random() < 0.2:
        state = state.model_copy(update={"options": state.options.model_copy(update={"balance_factor": rng.choice([2, 3])})})
    return state


def make_case(state: ApplicationState, name: str, *, pools: bool = False) -> Case:
    """Return a case. `pools`: the greedy methods get pools of interchangeable clients instead of all pairs."""
    problem = read_situation(state).problem
    written = prepare(problem.with_all_columns(np.flatnonzero(problem.logged)))
    w = compute_shares(written)
    solved = find_target(prepare(problem), w)
    plan = Found(
        solved.placement,
        impossible=solved.is_impossible,
        bounds=dict(zip((goal.name for goal in DEFAULT_ORDER), solved.bounds, strict=False)),
    )
    case = method.make_case(make_target_method(read_situation(state).requests.order, make_effort()), problem)
    now = find_answer_now(case, (ACTIVE_MOVES,))
    if pools:
        written = prepare(problem)
    return Case(name, written, w, plan, now.placement)


@cache
def make_batch(batch: int) -> tuple[Case, ...]:
    seeds = SEEDS[batch * BATCH : (batch + 1) * BATCH]
    random_ones = tuple(make_case(snapshot(seed), f"seed {seed}", pools=seed % 2 == 1) for seed in seeds)
    return (*random_ones, *(make_case(draw_tiny_state(seed), f"tiny seed {seed}", pools=seed % 2 == 1) for seed in seeds))


batches = pytest.mark.parametrize("batch", take_few(range(len(SEEDS) // BATCH), 3))


def list_broken_rules(problem: Problem, placed: Placement) -> list[str]:
    """Return which of R1, R2 and R4 an assignment breaks."""
    C = problem.C
    keys = placed.standby_keys(C)
    number = np.bincount(placed.standby_task, minlength=problem.T)
    checks = {
        "R1": len(placed.active) == problem.T and bool(np.all((placed.active >= 0) & (placed.active < C))),
        "R2": bool(np.all(np.diff(keys) > 0)) and not np.isin(np.arange(problem.T) * C + placed.active, keys).any(),
        "R4": np.array_equal(number, np.where(problem.logged, problem.standbys, 0)),
    }
    return [rule for rule, kept in checks.items() if not kept]


def list_rules_broken_now(problem: Problem, placed: Placement) -> list[str]:
    """Return which of R3 and R5 an assignment breaks in this rebalance."""
    C = problem.C
    actives = np.arange(problem.T) * C + placed.active
    problem = prepare(problem.with_columns(np.concatenate([actives, placed.standby_keys(C)])))
    held = np.isin(problem.col_keys, placed.copy_keys(C, problem.logged))
    checks = {
        "R3": bool(np.all(problem.forced.leading[problem.find(actives)])),
        "R5": bool(np.all(held[problem.forced.mandatory]) and np.all((problem.forced.mandatory | problem.forced.tied)[held])),
    }
    return [rule for rule, kept in checks.items() if not kept]


def is_balanced(problem: Problem, w: ShareFamilies, placed: Placement) -> bool:
    return w.hold(count_copies(problem, placed))


# -------------------------------------------------------------------------------------------------------------------- plan


@batches
def test_a_plan_keeps_the_rules_and_is_balanced_wherever_the_flows_are(batch: int) -> None:
    for case in make_batch(batch):
        plan = find_greedy_plan(case.problem, case.shares)
        assert list_broken_rules(case.problem, plan) == [], case.name
        if case.plan.placement is not None:
            assert is_balanced(case.problem, case.shares, plan), case.name


@batches
def test_a_plan_restores_little_more_than_the_proven_bound(batch: int) -> None:
    ratios = []
    for case in make_batch(batch):
        if case.plan.placement is None or not case.plan.bounds["restore_work"]:
            continue
        work = evaluate(case.problem, find_greedy_plan(case.problem, case.shares))["restore_work"]
        assert work >= case.plan.bounds["restore_work"], case.name
        ratios.append(work / case.plan.bounds["restore_work"])
    assert sorted(ratios)[len(ratios) // 2] <= 1.01
    assert sorted(ratios)[len(ratios) * 9 // 10] <= 1.25


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", take_few([(600, 60, 2), (1200, 20, 3), (1000, 100, 1), (1500, 5, 2)], 1))
def test_larger_plans_are_balanced_too_and_near_the_bound(shape: Shape, size: tuple[int, int, int]) -> None:
    tasks, clients, standbys = size
    case = make_case(generate(shape, tasks, clients, standbys, threads=(1, 4), unlogged=0.1, seed=7), shape)
    plan = find_greedy_plan(case.problem, case.shares)
    assert list_broken_rules(case.problem, plan) == []
    assert is_balanced(case.problem, case.shares, plan)
    work, bound = evaluate(case.problem, plan)["restore_work"], case.plan.bounds["restore_work"]
    assert bound <= work <= 1.15 * bound


@pytest.mark.parametrize("seed", range(60))
def test_no_share_makes_a_plan_break_a_rule(seed: int) -> None:
    """The shares are random, so often no assignment keeps them."""
    rng = np.random.default_rng(seed)
    problem = prepare(read_situation(snapshot(seed)).problem)
    given = compute_shares(problem)

    def spoil(share: ShareBounds) -> ShareBounds:
        low = np.maximum(share.low + rng.integers(-3, 4, share.low.shape), 0)
        return ShareBounds(low, low + rng.integers(0, 3, low.shape))

    spoilt = ShareFamilies(*(spoil(share) if rng.random() < 0.6 else share for share in given))
    assert list_broken_rules(problem, find_greedy_plan(problem, spoilt)) == []
    now = find_greedy_answer_now(problem, spoilt)
    assert now is None or is_balanced(problem, spoilt, now)


@pytest.mark.parametrize(
    ("tasks", "clients", "standbys", "stateless"),
    [(0, 3, 1, 0.0), (1, 1, 0, 0.0), (1, 5, 3, 0.0), (5, 1, 2, 0.0), (6, 2, 3, 0.5), (7, 3, 1, 1.0), (3, 10, 2, 0.0)],
)
def test_odd_sizes(tasks: int, clients: int, standbys: int, stateless: float) -> None:
    problem = prepare(read_situation(generate("cold", tasks, clients, standbys, stateless=stateless)).problem)
    w = compute_shares(problem)
    now = find_greedy_answer_now(problem, w)
    for placed in (find_greedy_plan(problem, w), now):
        assert placed is not None
        assert list_broken_rules(problem, placed) == []
        assert not tasks or is_balanced(problem, w, placed)


# --------------------------------------------------------------------------------------------------------- answer at once


@batches
def test_an_immediate_answer_keeps_all_rules_and_is_mostly_found(batch: int) -> None:
    found = there = 0
    for case in make_batch(batch):
        now = find_greedy_answer_now(case.problem, case.shares)
        if now is not None:
            assert list_broken_rules(case.problem, now) + list_rules_broken_now(case.problem, now) == [], case.name
            assert is_balanced(case.problem, case.shares, now), case.name
            assert case.now is not None, case.name
        found, there = found + (now is not None), there + (case.now is not None)
    assert found >= 0.95 * there


@pytest.mark.parametrize("standbys", range(4))
@pytest.mark.parametrize("shape", ["cold", "steady"])
@pytest.mark.parametrize("threads", [2, (1, 4)])
def test_cold_and_resting_groups_have_an_immediate_answer(shape: str, standbys: int, threads: int | tuple[int, int]) -> None:
    state = generate(shape, 300, 30, standbys, threads=threads, unlogged=0.1, seed=standbys)  # type: ignore[arg-type]
    problem = prepare(read_situation(state).problem)
    now = find_greedy_answer_now(problem, compute_shares(problem))
    assert now is not None
    assert not find_active_moves(problem, now.active).any()


# ---------------------------------------------------------------------------------------------------------------- actives


@batches
def test_actives_of_a_rebalance_have_hardly_more_imbalance_than_the_least(batch: int) -> None:
    total = least = 0
    for case in make_batch(batch):
        plan = find_greedy_plan(case.problem, case.shares)
        answer = rebalance(case.problem, case.shares, plan, choose_greedy_actives).whole
        best = rebalance(case.problem, case.shares, plan, find_least_imbalance_actives).whole
        assert list_broken_rules(case.problem, answer) + list_rules_broken_now(case.problem, answer) == [], case.name
        mine, theirs = compute_active_imbalance(case, answer), compute_active_imbalance(case, best)
        assert theirs <= mine <= theirs + max(3, theirs // 10), case.name
        total, least = total + mine, least + theirs
    assert total <= 1.01 * least


def compute_active_imbalance(case: Case, placed: Placement) -> int:
    active, stateful, _, group_active, _ = case.shares.imbalance(count_copies(case.problem, placed))
    return active + stateful + group_active


# -------------------------------------------------------------------------------------------------------------- no solver


@pytest.mark.parametrize("module", ["optassign_models.greedy.plan", "optassign_models.rebalance"])
def test_no_solver_is_imported(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "ortools" not in loaded
    assert "scipy" not in loaded


def test_the_same_problem_has_the_same_plan() -> None:
    problem = prepare(read_situation(snapshot(5)).problem)
    w = compute_shares(problem)
    assert find_greedy_plan(problem, w).same_as(find_greedy_plan(problem, w))
