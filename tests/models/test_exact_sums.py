"""Tests that sums of weights, the weighted sum and capacities are exact, or are reported as too large."""

from __future__ import annotations

import pytest
from judging import make_snapshot

from optassign.assignor import assign
from optassign.judging.validation import validate


@pytest.mark.parametrize(
    "weights",
    [
        (0.0009, 0.0009, 0.0001, 0.0001),
        (0.0010, 0.0005, 0.0005),
        (0.0004, 0.0014, 0.0014, 0.0004, 0.0004, 0.0004),
        (9e-9, 9e-9, 1e-9, 1e-9),
        (9e8, 9e8, 1e8, 1e8),
    ],
)
def test_small_weights_count_as_much_as_great_ones(weights: tuple[float, ...]) -> None:
    ids = [f"0_{i}" for i in range(len(weights))]
    tasks = {task: {"changelog_end_offset": 100_000, "weight": weight} for task, weight in zip(ids, weights, strict=True)}
    state = make_snapshot(tasks, {"a": {"active": ids, "lags": dict.fromkeys(ids, -2)}, "b": {}})
    (load,) = (goal for goal in assign(state).report.goals if goal.name == "load")
    assert load.value == pytest.approx(1.0, abs=0.001)
    assert load.proven


@pytest.mark.parametrize(
    ("lag", "weights"),
    [(50_000, {"instance": 1e30}), (50_000, {"instance": 1e17}), (2**63 - 2, {"stickiness": 1e6})],
)
def test_a_weighted_sum_beyond_int64_is_not_minimised_and_noted(lag: int, weights: dict[str, float]) -> None:
    ids = [f"0_{i}" for i in range(4)]
    clients = {
        "a": {"active": ids, "lags": dict.fromkeys(ids, -2)},
        "b": {"standby": ids, "lags": dict.fromkeys(ids, lag)},
        "c": {},
    }
    options = {"preset": "weighted", "weights": weights}
    state = make_snapshot(dict.fromkeys(ids, 20_000), clients, options=options, num_standby_replicas=1)
    given = assign(state)
    assert validate(state, given) == []
    assert given.report.termination.reason != "fallback"
    assert any("no room in 62 bits" in note for note in given.report.notes)
    assert "weighted_cost" not in [goal.name for goal in given.report.goals]


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_capacities_at_the_limit_are_shared_exactly(assignor: str) -> None:
    """The sum is 9 × 10^12, the most that reading allows; in millionths it is within int64."""
    clients = {"a": {"threads": 6_000_000, "capacity": 1e6}, "b": {"threads": 3_000_000, "capacity": 1e6}}
    state = make_snapshot(dict.fromkeys(["0_0", "0_1", "0_2", "0_3", "0_4", "0_5"], "stateless"), clients)
    given = assign(state, assignor)
    assert [len(client.active) for client in given.clients] == [4, 2]
    assert given.report.termination.reason != "fallback"
