"""Tests of goal `disk`: it spreads state over clients by size, standbys included. They test `optassign.goals.plan.disk`."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from enumeration import Tiny
from judging import make_snapshot
from tiny import draw_tiny_state
from tiny_placements import to_placement

from optassign.assignor import assign
from optassign.formats.configs import GoalName, Limit, Options
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.judging.explain import explain_answer, explain_client
from optassign.judging.explanation_text import answer_to_lines, client_to_lines
from optassign.judging.validation import validate
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign.measuring.spread import measure_greatest_state
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot
from optassign.translating.snapshot import read_situation
from optassign_models.goals.disk import DISK, bound_state, even_out_state
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.policy import constants as policy
from optassign_models.problem import Placement, Problem, make_placement
from optassign_models.results import Effort
from optassign_models.shares import compute_shares, count_copies
from optassign_models.solving import solver_methods
from optassign_models.target import search
from optassign_models.target.question import Question
from optassign_models.target.search import TargetAnswer

GOALS: tuple[GoalName, ...] = (
    "disk",
    "restore_work",
    "copies_not_caught_up",
    "actives_not_caught_up",
    "active_migrations",
    "standby_migrations",
)


def count_state(problem: Problem, placed: Placement) -> int:
    return DISK.evaluate(problem, placed)


def ask_for_disk(state: ApplicationState) -> ApplicationState:
    return state.model_copy(update={"options": Options(goals=GOALS)})


def lopsided() -> ApplicationState:
    """Return a snapshot in which client a has both large states, so that one has to warm up on b."""
    clients = {
        "a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}},
        "b": {"active": "0_2 0_3", "lags": {"0_2": -2, "0_3": -2}},
    }
    return make_snapshot({"0_0": 900_000, "0_1": 900_000, "0_2": 100_000, "0_3": 100_000}, clients, max_warmup_replicas=4)


def test_two_large_states_do_not_stay_on_one_client() -> None:
    state = lopsided()
    counted, spread = assign(state), assign(ask_for_disk(state))
    assert measure_greatest_state(state, planned_placement(state, counted)) == 1.8
    assert measure_greatest_state(state, planned_placement(state, spread)) == 1.0
    (row,) = [goal for goal in spread.report.goals if goal.name == "disk"]
    assert (row.value, row.proven) == (1.0, True)


def test_explain_shows_the_state_of_each_client_with_warmups() -> None:
    state = ask_for_disk(lopsided())
    answer = assign(state)
    (warm,) = [client.process_id for client in answer.clients if any(t in ("0_0", "0_1") for t in client.warmup)]
    kept = explain_client(state, answer, warm).state
    assert kept is not None
    warmups = sum(state.full_lags[task] for client in answer.clients for task in client.warmup if client.process_id == warm)
    assert (kept.before, kept.after, kept.of_warmups, kept.planned) == (200_000, 200_000 + warmups, warmups, 1_000_000)
    assert kept.even == 1_000_000
    (line,) = [line for line in client_to_lines(explain_client(state, answer, warm)) if "state:" in line]
    assert f"200,000 → {kept.after:,} ({warmups:,} of warm-ups)" in line
    assert any(line.startswith("most state: a: 1,800,000") for line in answer_to_lines(explain_answer(state, answer)))
    assert explain_client(lopsided(), answer, warm).state is None, "nobody asks"


def test_a_limit_of_state_counts_warmups() -> None:
    """The plan keeps the limit; the answer does not while the warm-up and the copy that leaves are on the same client."""
    limit = Limit(kind="most_state", most=1_050_000)
    state = lopsided()
    state = state.model_copy(update={"options": Options(limits=(limit,))})
    answer = assign(state)
    (row,) = answer.report.limits
    assert validate(state, answer) == []
    assert (row.kept, row.gave_way) == (False, False)
    assert "not yet" in row.why
    full = Limit(kind="most_state", most=1_050_000, clients=("b",))
    state = state.model_copy(update={"options": Options(goals=GOALS, limits=(full,))})
    answer = assign(state)
    (row,) = answer.report.limits
    kept = explain_client(state, answer, "b").state
    assert kept is not None
    assert (kept.allowed, kept.of_warmups, kept.planned) == (1_050_000, 0, 1_000_000)
    assert row.kept
    assert any("wait for room" in note for note in answer.report.notes), "0_3 leaves b first"
    assert validate(state, answer) == []
    clients = [
        client.model_copy(update={"warmup": ("0_0",) if client.process_id == "b" else client.warmup})
        for client in answer.clients
    ]
    broken = validate(state, answer.model_copy(update={"clients": tuple(clients)}))
    assert [violation.rule for violation in broken] == ["limit"]


@pytest.mark.long
@pytest.mark.parametrize("shape", ["scale-out", "scale-in", "partial"])
def test_a_group_comes_to_rest_by_it(shape: str) -> None:
    state = ask_for_disk(generate(shape, 24, 4, 1, warmups=8, seed=2))  # type: ignore[arg-type]
    assert validate(state, assign(state)) == []
    result = converge(state)
    assert (result.settled, result.violations) == (True, {}), f"\n{result}"
    counted = converge(state.model_copy(update={"options": Options()}))
    mine, theirs = (measure_greatest_state(state, TaskPlacement.of(state, each.final)) for each in (result, counted))
    assert mine <= theirs + 0.002


@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_trades_leave_counts_as_they_are_and_the_fullest_client_less(standbys: int) -> None:
    less = 0
    for seed in range(12):
        state = generate("cold", 40, 6, standbys, seed=seed)
        problem, rng = read_situation(state).problem, random.Random(seed)
        where = [rng.sample(range(problem.C), 1 + problem.standbys * int(problem.logged[t])) for t in range(problem.T)]
        keys = [t * problem.C + c for t, others in enumerate(where) for c in others[1:]]
        placed = make_placement(np.array([own[0] for own in where]), np.array(keys, dtype=np.int64), problem.C)
        traded = even_out_state(problem, placed)
        before, after = count_copies(problem, placed), count_copies(problem, traded)
        assert np.array_equal(before[3], after[3]), f"seed {seed}"
        assert np.array_equal(before[4], after[4]), f"seed {seed}"
        assert not np.isin(np.arange(problem.T) * problem.C + traded.active, traded.standby_keys(problem.C)).any(), "R2"
        assert len(np.unique(traded.standby_keys(problem.C))) == len(placed.standby_task), "R2 and R4"
        assert bound_state(problem) <= count_state(problem, traded) <= count_state(problem, placed), f"seed {seed}"
        assert even_out_state(problem, traded).same_as(traded), f"seed {seed}"
        less += count_state(problem, traded) < count_state(problem, placed)
    assert less == 12


def test_clients_with_many_copies_trade_some_of_all_sizes() -> None:
    """All pairs of 3,000 copies and 9,000 others would take gigabytes."""
    problem = read_situation(generate("cold", 6_000, 4, 1, stateless=0.0, seed=3)).problem
    rng = np.random.default_rng(1)
    problem = replace(problem, end=rng.lognormal(12, 2, problem.T).astype(np.int64))
    placed = find_greedy_plan(problem, compute_shares(problem))
    traded = even_out_state(problem, placed)
    greatest, bound = DISK.evaluate(problem, traded), bound_state(problem)
    assert greatest <= max(1.01 * bound, DISK.evaluate(problem, placed) - 1), (greatest, bound)


def test_no_plan_keeps_less_than_the_bound() -> None:
    for seed in range(30):
        state = draw_tiny_state(seed, most=400)
        tiny, problem = Tiny(state), read_situation(state).problem
        for copies in tiny.enumerate_all():
            placed = to_placement(tiny, problem, copies)
            assert bound_state(problem) <= count_state(problem, placed), f"seed {seed}: {copies}"


@pytest.mark.parametrize("shape", ["scale-out", "scale-in", "partial"])
def test_it_is_optimised_beyond_the_joint_model(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate(shape, 60, 6, 1, warmups=8, seed=2)  # type: ignore[arg-type]
    counted = measure_greatest_state(made, planned_placement(made, assign(made)))
    monkeypatch.setattr(policy, "SMALL_PAIRS", 10)
    state = ask_for_disk(made)
    given = assign(state)
    assert validate(state, given) == []
    spread = measure_greatest_state(state, planned_placement(state, given))
    assert spread < counted
    (row,) = [goal for goal in given.report.goals if goal.name == "disk"]
    assert row.value == pytest.approx(spread, abs=1e-6)
    assert row.bound is not None
    assert row.bound <= row.value
    assert any("disk" in note and "trade places" in note for note in given.report.notes) == (row.value > 1.02 * row.bound)
    result = converge(state)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"


def test_a_group_stays_on_its_way_if_a_later_search_finds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under goal `disk` a limit of work ends most searches. Later ones must not give up a better plan that is remembered."""
    state = ask_for_disk(lopsided())
    answer = assign(state)
    honest = search.find_best

    def find_worse(question: Question, effort: Effort) -> TargetAnswer:
        found = honest(question, effort)
        if question.is_now or found.placement is None:
            return found
        by_counts = find_greedy_plan(question.problem, question.shares)
        return TargetAnswer(by_counts, (), question.evaluate(by_counts))

    monkeypatch.setattr(solver_methods, "find_best", find_worse)
    monkeypatch.setattr(solver_methods, "even_out_state", lambda problem, placed: placed)
    for after in (make_second_pass_snapshot(state, answer), make_restored_snapshot(state, answer)):
        assert measure_greatest_state(after, planned_placement(after, assign(after))) == 1.0
