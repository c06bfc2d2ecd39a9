"""Tests that values called proven are optimal, and that bounds are valid, where solvers and memory meet."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from altering import with_configs, with_options
from enumeration import Tiny
from judging import make_answer, make_snapshot
from tiny import draw_tiny_state
from tiny_placements import to_copies

from optassign.assignor import assign, create
from optassign.formats.assignment import TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.goals.order import measure_goals
from optassign.measuring.placement import planned_placement
from optassign.simulation.convergence import play_until_stable
from optassign.simulation.successors import make_second_pass_snapshot
from optassign.translating.snapshot import read_situation
from optassign_models.flows import find_least_imbalance_actives
from optassign_models.goals import DEFAULT_ORDER
from optassign_models.greedy.plan import find_greedy_plan
from optassign_models.problem import make_placement, prepare
from optassign_models.rebalance import rebalance, rebalance_values
from optassign_models.results import OWNERS_HELD, Effort
from optassign_models.shares import compute_shares
from optassign_models.solving import solver_methods
from optassign_models.solving.solver_methods import read_answer
from optassign_models.target.question import Question, list_in_order
from optassign_models.target.search import TargetAnswer, find_best

ORDERED = tuple(goal.name for goal in DEFAULT_ORDER)


def bounds_of(given: TaskAssignment, stage: str) -> dict[str, float | None]:
    return {goal.name: goal.bound for goal in given.report.goals if goal.stage == stage}


# ----------------------------------------------------------------------------------------------------- bounds with conditions


def test_bounds_are_valid_up_to_the_first_goal_above_its_bound() -> None:
    """A bound is valid given the values of the goals before it."""
    problem = read_situation(generate("scale-out", 16, 4, 1, seed=1)).problem
    placed = find_greedy_plan(prepare(problem), compute_shares(problem))
    found = read_answer(TargetAnswer(placed, (5, 3, 2), (5, 4, 2)), list_in_order(DEFAULT_ORDER))
    assert found.bounds == {"restore_work": 5, "copies_not_caught_up": 3}


def test_bounds_follow_the_order_of_goals() -> None:
    state = with_options(generate("scale-out", 24, 5, 1, seed=2), goals=["active_moves", "restore_work"])
    rows = [goal for goal in assign(state).report.goals if goal.stage == "plan"]
    assert [goal.name for goal in rows[:2]] == ["active_moves", "restore_work"]
    assert all(goal.proven for goal in rows[:2])
    assert all(goal.bound is None or goal.value == 0 for goal in rows[2:])


def test_a_convergence_has_no_bound_if_other_goals_come_first() -> None:
    """An answer without these goals may restore less."""
    state = generate("scale-out", 12, 4, 1, weights=0.5, seed=1)
    given = assign(state)
    assert given.plan is not None
    assert bounds_of(given, "plan")["restore_work"] is not None
    assert restore_work_bound(given) is None
    plain = assign(with_options(state, goals=list(ORDERED)))
    assert restore_work_bound(plain) == bounds_of(plain, "plan")["restore_work"] is not None
    at_once = assign(generate("steady", 12, 4, 1, weights=0.5, seed=1, memory=True))
    if at_once.plan is None:
        assert restore_work_bound(at_once) == bounds_of(at_once, "now")["restore_work"]


# ---------------------------------------------------------------------------------------------------------- this rebalance


@pytest.mark.parametrize("seed", range(60))
def test_ties_of_unequal_cost_prove_no_later_goal(seed: int) -> None:
    """Lags of 1 and 2 occur next to unknown ones, and only lag 0 is caught up: a reported bound is the optimum."""
    rng, state = random.Random(seed), draw_tiny_state(seed, most=150)
    clients = [
        client.model_copy(
            update={"lags": {task: lag if lag == -2 else rng.choice([0, 1, 2, -3, 3]) for task, lag in client.lags.items()}}
        )
        for client in state.clients
    ]
    state = with_configs(state.model_copy(update={"clients": clients}), acceptable_recovery_lag=0)
    given = assign(state)
    if given.plan is None:
        return
    best = Tiny(state).find_best_rebalance(to_copies(planned_placement(state, given)))
    rows = [goal for goal in given.report.goals if goal.stage == "rebalance"]
    for i, goal in enumerate(rows):
        if not goal.proven:
            break
        value = -best[i] if goal.name in ("copies_on_target", "actives_on_target") else best[i]
        assert goal.value == value, f"seed {seed}: {goal}"


def test_the_cheapest_of_tied_places_off_target_is_taken() -> None:
    """Lags of 1 on b tie with unknown lags of a, which cost a holder nothing; b was the standby."""
    ids = [f"0_{i}" for i in range(4)]
    clients = {
        "a": {"standby": ids, "lags": dict.fromkeys(ids, -3)},
        "b": {"standby": ids, "lags": dict.fromkeys(ids, 1)},
        "c": {"active": ids, "lags": dict.fromkeys(ids, -2)},
        "d": {},
    }
    memory = make_answer({"a": "", "b": f"| {' '.join(ids)}", "c": " ".join(ids), "d": ""})
    tasks = dict.fromkeys(ids, 1000)
    state = make_snapshot(tasks, clients, remembered=memory, acceptable_recovery_lag=0, num_standby_replicas=1)
    problem = read_situation(state).problem
    plan = make_placement(np.array([2, 3, 0, 1]), np.array([3, 6, 9, 12]), 4)
    given = rebalance(problem, compute_shares(problem), plan, find_least_imbalance_actives)
    values = {"copies_on_target": 4, "restore_work_off_target": 0, "actives_on_target": 1, "active_moves": 0}
    assert rebalance_values(problem, given.whole, plan) == values
    assert given.bounds == {"copies_on_target": 4}, "what comes later is not decided task by task"


def test_only_the_first_goal_has_a_bound_if_owners_are_held_back() -> None:
    """Without memory no client owns 0_5; b could take over some tasks of a at once, and does not."""
    owned = ["0_0", "0_1", "0_2", "0_3", "0_4"]
    clients = {
        "a": {"active": owned, "standby": "0_5", "lags": dict.fromkeys(owned, -2) | {"0_5": 0}},
        "b": {"standby": [*owned, "0_5"], "lags": dict.fromkeys([*owned, "0_5"], 0)},
        "c": {},
    }
    held = assign(make_snapshot(dict.fromkeys([*owned, "0_5"], 1000), clients, num_standby_replicas=1))
    assert OWNERS_HELD in held.report.notes
    assert set(owned) <= set(held.by_process_id["a"].active)
    rows = {goal.name: goal for goal in held.report.goals if goal.stage == "rebalance"}
    first = rows.pop("copies_on_target")
    assert first.bound is not None
    assert first.bound >= first.value
    assert rows["actives_on_target"].value > 0
    assert rows["active_imbalance"].value > 0
    assert all(goal.bound is None or goal.value == 0 for goal in rows.values()), rows


# ------------------------------------------------------------------------------------------------------------ a confirmation


def confirming() -> tuple[ApplicationState, TaskAssignment]:
    """Return the snapshot of a second pass, and its answer, which repeats the first."""
    for seed in range(20):
        state = generate("scale-out", 20, 5, 1, warmups=4, tiny=0.5, seed=seed, memory=True)
        between = make_second_pass_snapshot(state, assign(state))
        given = assign(between)
        if given.report.termination.reason == "confirmed" and given.plan is not None:
            return between, given
    raise AssertionError("no second pass with a plan was met")


def test_proofs_are_repeated_for_the_same_values() -> None:
    between, given = confirming()
    assert between.remembered is not None
    assert given.report.goals == between.remembered.report.goals
    assert given.report.proved_by == between.remembered.report.proved_by


def test_proofs_of_other_values_are_not_repeated() -> None:
    """Warm-ups and standbys were restored between the passes, or the memory has wrong values."""
    between, given = confirming()
    restored = {c.process_id: dict.fromkeys((*c.warmup, *c.standby), 0) for c in given.clients}
    clients = [c.model_copy(update={"lags": {**c.lags, **restored[c.process_id]}}) for c in between.clients]
    remembered = between.remembered
    assert remembered is not None
    other = tuple(
        goal.model_copy(update={"value": 7, "bound": 7}) if goal.name == "restore_work" else goal
        for goal in remembered.report.goals
    )
    forged = remembered.model_copy(update={"report": remembered.report.model_copy(update={"goals": other})})
    for changes in ({"clients": clients}, {"remembered": forged}):
        state = between.model_copy(update=changes)
        again = assign(state)
        assert again.report.termination.reason == "confirmed"
        values = measure_goals(state, again)
        for goal in again.report.goals:
            assert goal.value == values[goal.stage][goal.name], goal
            assert goal.bound is None or goal.bound == goal.value == 0, goal


# --------------------------------------------------------------------------------------- time limits and sources of proofs


def test_a_search_cut_short_at_rest_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lack of time leaves open whether a settled group is at the optimum of its racks."""
    state = generate("steady", 12, 4, 1, racks=3, tiny=1.0, seed=6, memory=True)
    state = with_configs(state, rack_aware_assignment_strategy="min_traffic")
    *_, last = play_until_stable(create("cp-sat"), state, limit=20)
    assert last.following is not None
    monkeypatch.setattr(solver_methods, "find_best", lambda *_: TargetAnswer(None, (), is_cut_short=True))
    given = assign(last.following)
    assert given.report.termination.reason == "rest"
    assert given.report.termination.limit == "time"


def test_a_bound_below_the_value_names_no_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is not proven, so the prover is that of this rebalance."""
    state = generate("scale-out", 20, 5, 1, seed=3)

    def leave_open(question: Question, effort: Effort) -> TargetAnswer:
        answer = find_best(question, effort)
        return replace(answer, bounds=tuple(value - 1 for value in answer.values[:1]))

    monkeypatch.setattr(solver_methods, "find_best", leave_open)
    report = assign(state).report
    assert not any(goal.proven for goal in report.goals if goal.stage == "plan")
    assert report.proved_by == "flow"


def test_an_answer_without_a_proof_has_no_prover() -> None:
    report = assign(generate("scale-out", 20, 5, 1, seed=3), "greedy").report
    assert not any(goal.proven for goal in report.goals)
    assert report.proved_by is None


def test_greedy_proves_values_by_the_rules() -> None:
    state = generate("steady", 20, 5, 1, seed=3, tiny=1.0)
    given = assign(with_configs(state, num_standby_replicas=2), "greedy")
    assert given.report.termination.reason == "optimal"
    assert any(goal.proven for goal in given.report.goals)
    assert given.report.proved_by == "rules"
    assert assign(generate("scale-out", 20, 5, 1, seed=3)).report.proved_by == "cp-sat"
