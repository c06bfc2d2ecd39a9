"""Tests of former errors that enumeration found: weights, hundredths, limits and pins are exact."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from optassign.assignor import assign
from optassign.formats.assignment import GoalReport
from optassign.formats.json_input import read_state
from optassign.formats.state import ApplicationState
from optassign.judging.metrics import measure_weighted_cost
from optassign.judging.validation import validate

DATA = Path(__file__).parents[2] / "data" / "exact"
SOLVERS = ("auto", "cp-sat", "highs")


def read(name: str, solver: str = "auto") -> ApplicationState:
    state = read_state(DATA / f"{name}.json")
    return state.model_copy(update={"options": state.options.model_copy(update={"solver": solver})})


def find_sum(state: ApplicationState) -> GoalReport:
    given = assign(state)
    assert validate(state, given) == []
    (row,) = [goal for goal in given.report.goals if goal.name == "weighted_cost"]
    assert row.value == measure_weighted_cost(state, given)
    return row


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("weighted-5145", 101.0),  # hundredths of the mean changelog; floating point gave 102 with a bound of 102
        ("weighted-5872", 203.0),
        ("weighted-5894", 508.0),
        ("weights-rounded-milli", 0.4052),  # thousandths gave 0.4242, and reported 0.303
        ("weights-rounded-x10000", 4052.0),
    ],
)
def test_the_weighted_sum_is_the_least_and_its_bound_is_its_value(name: str, least: float, solver: str) -> None:
    row = find_sum(read(name, solver))
    assert row.value == row.bound == least
    assert row.proven


@pytest.mark.parametrize("scale", ["0.0004", "0.001", "0.01", "1"])
def test_weights_count_by_their_ratio_however_small_they_are(scale: str) -> None:
    row = find_sum(read(f"ratio-{scale}"))
    assert Fraction(repr(row.value)) == 60 * Fraction(scale)
    assert row.proven


def test_weights_beyond_62_bits_are_refused_with_a_note() -> None:
    """A third with sixteen digits and a millionth together: no weight is rounded silently."""
    state = read("weighted-5451")
    given = assign(state)
    assert validate(state, given) == []
    assert any("has no room in 62 bits" in note for note in given.report.notes)
    assert "weighted_cost" not in [goal.name for goal in given.report.goals]


@pytest.mark.parametrize("name", ["limits-208", "limits-236", "limits-285", "limits-341"])
def test_an_answer_that_is_balanced_at_once_and_keeps_the_limits_ends_the_search(name: str) -> None:
    state = read(name)
    given = assign(state)
    assert validate(state, given) == []
    assert given.plan is None
    assert given.report.balanced
    assert all(goal.proven for goal in given.report.goals)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["order-with-limits-2039", "order-with-limits-2053"])
def test_another_order_with_limits_is_proven(name: str, solver: str) -> None:
    state = read(name, solver)
    given = assign(state)
    assert validate(state, given) == []
    assert all(goal.proven for goal in given.report.goals if goal.name in (state.options.goals or ("restore_work",)))


@pytest.mark.parametrize("name", ["load-pin-drain", "load-pin-drain-2"])
def test_a_pin_to_a_draining_client_under_load_needs_no_fallback(name: str) -> None:
    state = read(name)
    given = assign(state)
    assert validate(state, given) == []
    assert given.report.termination.reason != "fallback"
    assert all(row.kept or row.gave_way for row in given.report.limits)


def test_a_bound_of_load_counts_a_draining_client_that_a_limit_keeps_in_use() -> None:
    """Of 13 weights the other client can have the heaviest alone: 10 / 13 of an even spread, less than a whole one."""
    state = read("load-limit-drain")
    given = assign(state)
    assert validate(state, given) == []
    (row,) = [goal for goal in given.report.goals if goal.name == "load"]
    assert row.bound is not None
    assert row.bound <= 10 / 13
