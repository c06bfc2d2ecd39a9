"""Tests of failing solvers and missing time: the answer is valid, and its report says how it was found."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tiny import draw_tiny_state

from optassign.assignor import assign
from optassign.assignors import cp_sat
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.judging.validation import validate
from optassign.simulation.convergence import converge
from optassign_models.flows import Network
from optassign_models.policy import constants as policy
from optassign_models.problem import IntArray
from optassign_models.results import Effort, Found
from optassign_models.solving import heuristic_methods, solver_methods
from optassign_models.solving.method import Case, Method
from optassign_models.target import search, solver
from optassign_models.target.arrays import Decided
from optassign_models.target.question import Question
from optassign_models.target.search import TargetAnswer

LOGGER = "optassign.assignors.cp_sat"


def several() -> list[ApplicationState]:
    """Return a snapshot of each shape that is not at rest, and one with goals (a)."""
    states = [generate(shape, 24, 5, 1, threads=(1, 3), seed=3) for shape in SHAPES if shape != "steady"]
    tagged = generate("scale-out", 12, 4, 1, racks=2, seed=4)
    configs = tagged.configs.model_copy(update={"rack_aware_assignment_tags": ("zone",)})
    return [*states, tagged.model_copy(update={"configs": configs})]


def the_same_copies(one: TaskAssignment, other: TaskAssignment) -> bool:
    return (one.clients, one.plan) == (other.clients, other.plan)


# --------------------------------------------------------------------------------------------------------- a solver fails


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("not optimal"),
        ValueError("a negative supply"),
        AssertionError("surprise"),
        MemoryError("arcs"),
        OverflowError("a cost"),
        IndexError("column 7"),
        KeyError("restore_work"),
        TypeError("None"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_greedy_answers_if_a_solver_fails(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*anything: object) -> None:
        raise error

    states = several()
    expected = [assign(state, "greedy") for state in states]
    monkeypatch.setattr(search, "minimise_in_order", fails)
    for state, greedy in zip(states, expected, strict=True):
        caplog.clear()
        with caplog.at_level(logging.ERROR):
            given = assign(state, "cp-sat")
        assert validate(state, given) == []
        assert the_same_copies(given, greedy)
        assert given.assignor == "cp-sat"
        assert given.report.found_by == greedy.report.found_by
        termination = given.report.termination
        assert (termination.reason, termination.limit) == ("fallback", "none")
        assert type(error).__name__ in termination.detail
        assert str(error.args[0]) in termination.detail
        (record,) = [record for record in caplog.records if record.name == LOGGER]
        assert "greedy answers instead" in record.getMessage()
        assert termination.detail in record.getMessage()
        assert not any(goal.proven for goal in given.report.goals if goal.stage == "rebalance")


def test_greedy_calls_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*anything: object, **more: object) -> None:
        raise RuntimeError("greedy asked a solver")

    monkeypatch.setattr(Network, "solve", fails)
    monkeypatch.setattr(search, "minimise_in_order", fails)
    for state in several():
        assert validate(state, assign(state, "greedy")) == []


# ------------------------------------------------------------------------------------------------------- the answer is broken


def all_on_the_first(problem: Any, *anything: object) -> tuple[IntArray, int]:
    return np.zeros(problem.T, dtype=np.int64), 0


def test_an_answer_that_breaks_a_rule_never_goes_out(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The flow of this rebalance makes every task active on the first client, regardless of state."""
    state = generate("scale-out", 24, 5, 1, seed=3)
    greedy = assign(state, "greedy")
    monkeypatch.setattr(solver_methods, "find_least_imbalance_actives", all_on_the_first)
    with caplog.at_level(logging.ERROR):
        given = assign(state, "cp-sat")
    assert validate(state, given) == []
    assert the_same_copies(given, greedy)
    assert given.report.termination.reason == "fallback"
    assert "greedy answers instead" in caplog.text


def test_a_balanced_answer_that_breaks_a_rule_never_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state = generate("scale-in", 24, 5, 1, seed=3)
    greedy = assign(state, "greedy")
    honest = cp_sat.choose_method

    def choose(*arguments: Any) -> Method:
        method = honest(*arguments)

        def lies(case: Case) -> Found:
            found = method.find_balanced_now(case)
            assert found.placement is not None
            broken = replace(found.placement, active=np.zeros_like(found.placement.active))
            return replace(found, placement=broken)

        return replace(method, find_balanced_now=lies)

    monkeypatch.setattr(cp_sat, "choose_method", choose)
    given = assign(state, "cp-sat")
    assert validate(state, given) == []
    assert the_same_copies(given, greedy)
    assert given.report.termination.reason == "fallback"
    assert given.report.termination.detail.startswith("the answer broke a rule: R")


# --------------------------------------------------------------------------------------------------- CP-SAT finds nothing


def finds_nothing(*anything: object, presolves: bool = False) -> Decided:
    return Decided(None, None)


@pytest.mark.parametrize("preset", ["lexicographic", "weighted"])
@pytest.mark.parametrize("weights", [0.0, 0.5], ids=["without goals (a)", "with a goal (a)"])
def test_the_relaxations_answer_goes_out_if_cp_sat_finds_none(
    preset: str, weights: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver, "decide", finds_nothing)
    for shape in SHAPES:
        state = generate(shape, 16, 4, 1, threads=(1, 3), weights=weights, seed=3)
        state = state.model_copy(update={"options": state.options.model_copy(update={"preset": preset})})
        given = assign(state)
        assert validate(state, given) == []
        assert given.report.termination.reason != "fallback"


@pytest.mark.parametrize("seed", range(120))
def test_the_relaxations_answer_goes_out_in_tiny_snapshots(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = draw_tiny_state(seed)
    monkeypatch.setattr(solver, "decide", finds_nothing)
    given = assign(state)
    assert validate(state, given) == []
    assert given.report.termination.reason != "fallback"
    for goal in given.report.goals:
        assert goal.bound is not None or not goal.proven


# ----------------------------------------------------------------------------------- no balanced assignment is to be found


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_the_least_imbalance_is_enough_if_no_answer_is_balanced(assignor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is patched to find no balanced assignment; the report notes it, and probing ends."""
    impossible = Found(None, impossible=True)
    honest = search.find_best

    def find(question: Question, effort: Effort) -> TargetAnswer:
        return honest(question, effort) if not question.shares_bind else TargetAnswer(None, (), is_impossible=True)

    state = generate("scale-out", 16, 4, 1, seed=3)
    if assignor == "cp-sat":
        monkeypatch.setattr(solver_methods, "find_best", find)
    else:
        made = heuristic_methods.make_greedy_method
        nothing: dict[str, Any] = dict.fromkeys(("find_balanced_now", "search_free_plan"), lambda _: impossible)
        monkeypatch.setattr("optassign.assignors.greedy.make_greedy_method", lambda order: replace(made(order), **nothing))
    given = assign(state, assignor)
    assert validate(state, given) == []
    assert any("least imbalance" in note for note in given.report.notes)
    assert given.report.termination.reason != "fallback"
    result = converge(state, assignor)
    assert result.settled, f"\n{result}"
    assert result.violations == {}, f"\n{result}"


# ------------------------------------------------------------------------------------------------------------------- no time


@pytest.mark.parametrize("limit", [0.0, 0.05])
@pytest.mark.parametrize("tasks", [24, 400])
def test_without_time_the_answer_is_valid_with_a_note(limit: float, tasks: int) -> None:
    for shape in SHAPES:
        state = generate(shape, tasks, max(4, tasks // 10), 1, threads=(1, 3), seed=1)
        given = assign(state, time_limit=limit)
        assert validate(state, given) == []
        assert given.assignor == "cp-sat"
        termination = given.report.termination
        assert termination.reason in ({"limit"} if not limit else {"limit", "optimal", "feasible", "rest"})
        # The search for an immediate answer may end before a target is proven: the limit is then named next to "optimal".
        assert termination.limit == "time" or termination.reason != "limit"
        if termination.reason == "limit":
            assert termination.detail
            assert given.report.found_by in ("greedy", "remembered")


def test_without_time_for_the_program_a_large_group_has_the_greedy_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    state = generate("scale-out", 600, 60, 1, 8, seed=1)
    monkeypatch.setattr(policy, "SECONDS_PER_VARIABLE", 1.0)
    given = assign(state)
    assert validate(state, given) == []
    assert (given.report.termination.limit, given.report.found_by) == ("time", "greedy")


def test_a_group_settles_without_time() -> None:
    for shape in SHAPES:
        result = converge(generate(shape, 24, 5, 1, threads=(1, 3), seed=1), time_limit=0.0)
        assert (result.settled, result.rests, result.violations) == (True, True, {}), f"{shape}\n{result}"


def test_lack_of_time_does_not_disturb_a_group_at_rest() -> None:
    state = generate("steady", 24, 5, 1, seed=1, memory=True)
    given = assign(state, time_limit=0.0)
    assert {c.process_id: c.active for c in given.clients} == {c.process_id: c.previous_active for c in state.clients}
    assert validate(state, given) == []
