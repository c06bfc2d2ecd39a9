"""Tests of ranks and restore costs of single clients, by hand."""

import pytest
from judging import make_snapshot

from optassign.measuring.ranks import Ranks

MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("lag", "held", "rank", "cost"),
    [
        (-2, True, 0, 0),
        (0, True, 0, 0),
        (10, False, 0, 0),  # just caught up: the task may run without restoring
        (11, False, 11, 11),
        (100, False, 100, 100),
        (250, False, 250, 250),  # more than the changelog: used as reported
        (-3, True, 1, 0),
        (-3, False, 2, 100),
        (None, False, 100, 100),
        (None, True, 100, 100),
    ],
)
def test_rank_and_restore_cost(lag: int | None, held: bool, rank: int, cost: int) -> None:
    client = {"standby": "0_0" if held else "", "lags": {} if lag is None else {"0_0": lag}}
    found = Ranks(make_snapshot({"0_0": 100}, {"a": client, "b": {"0_0": 300}}))
    assert (found.of("0_0", "a"), found.restore_cost("0_0", "a")) == (rank, cost)
    assert found.least("0_0") == rank if rank < 300 else 300


def test_previous_active_client_is_a_holder_too() -> None:
    found = Ranks(make_snapshot({"0_0": 100}, {"a": {"active": "0_0", "lags": {"0_0": -3}}}))
    assert found.of("0_0", "a") == 1
    assert found.is_holder("0_0", "a")


def test_whole_changelog() -> None:
    clients = {"a": {"0_0": 7, "0_1": 70, "0_3": MAX}, "b": {"0_0": -2, "0_1": 60}, "c": {}}
    tasks = {"0_0": 50, **{f"0_{i}": {"changelog_end_offset": None} for i in (1, 2, 3)}}
    found = Ranks(make_snapshot(tasks, clients))
    assert [found.whole_changelog(f"0_{i}") for i in range(4)] == [50, 71, 11, MAX]
    assert [found.of(f"0_{i}", "c") for i in range(4)] == [50, 71, 11, MAX]  # client c has no state


def test_tiny_changelog_is_caught_up_everywhere() -> None:
    found = Ranks(make_snapshot({"0_0": 10, "0_1": 11}, {"a": {"0_0": -2, "0_1": -2}, "b": {}}))
    assert (found.of("0_0", "b"), found.of("0_1", "b")) == (0, 11)


@pytest.mark.parametrize("lag", [-3, -2, 0, MAX, None])
@pytest.mark.parametrize("end", [None, 0, 100, MAX])
def test_without_limit_all_are_caught_up(lag: int | None, end: int | None) -> None:
    client = {} if lag is None else {"0_0": lag}
    found = Ranks(make_snapshot({"0_0": {"changelog_end_offset": end}}, {"a": client}, acceptable_recovery_lag=MAX))
    assert (found.of("0_0", "a"), found.least("0_0"), found.restore_cost("0_0", "a")) == (0, 0, 0)


def test_just_below_no_limit() -> None:
    state = make_snapshot(
        {"0_0": {"changelog_end_offset": None}}, {"a": {"0_0": MAX - 1}, "b": {}}, acceptable_recovery_lag=MAX - 1
    )
    found = Ranks(state)
    assert (found.of("0_0", "a"), found.of("0_0", "b")) == (0, MAX)


def test_tasks_without_changelog_have_rank_0_everywhere() -> None:
    found = Ranks(make_snapshot({"0_0": "unlogged", "1_0": "stateless"}, {"a": {}, "b": {}}))
    assert [found.of(task, "a") for task in ("0_0", "1_0")] == [0, 0]
    assert (found.least("0_0"), found.least("0_0", without=("a", "b")), found.restore_cost("1_0", "b")) == (0, None, 0)


def test_least_of_those_left_out() -> None:
    found = Ranks(make_snapshot({"0_0": 100}, {"a": {"0_0": -2}, "b": {"0_0": 40}, "c": {"0_0": 140}, "d": {}}))
    assert found.least("0_0") == 0
    assert found.least("0_0", without=("a",)) == 40
    assert found.least("0_0", without=("a", "b")) == 100
    assert found.least("0_0", without=("a", "b", "d")) == 140
    assert found.least("0_0", without=("d", "c", "b", "a", "a")) is None
    assert found.least_lag("0_0", without=("a", "d")) == 40
    assert found.least_lag("0_0", without=("a", "b", "c", "d")) is None
