"""Tests of Kafka's high-availability assignor on our snapshots: which copies are warm-ups, and how lags are passed on."""

import pytest
from judging import make_snapshot
from kafkas_own import UNLIMITED_LAG, is_same

from optassign import assign
from optassign.assignors.baselines.kafka import KafkaHighAvailability

# --- warm-ups --------------------------------------------------------------------------------------------------------


def test_an_active_that_moves_leaves_a_warm_up_on_its_target() -> None:
    state = make_snapshot({"0_0": 1000, "0_1": 1000}, {"a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}}, "b": {}})
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1!", "b": "| | 0_1"})


def test_warm_ups_end_with_their_slots() -> None:
    tasks = {f"0_{i}": 1000 for i in range(6)}
    state = make_snapshot(tasks, {"a": {"lags": dict.fromkeys(tasks, -2)}, "b": {}}, max_warmup_replicas=2)
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1 0_2 0_3 0_4 0_5!", "b": "| | 0_1 0_3"})


def test_a_swap_of_active_and_standby_has_no_warm_up() -> None:
    state = make_snapshot(
        {"0_0": 1000, "0_1": 1000},
        {"a": {"lags": {"0_0": -2, "0_1": -2}}, "b": {}},
        num_standby_replicas=1,
        max_warmup_replicas=9,
    )
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0 0_1!", "b": "| 0_0 0_1"})


def test_a_swap_with_the_most_caught_up_standby_has_no_warm_up() -> None:
    state = make_snapshot({"0_0": 1000}, {"a": {"0_0": 900}, "b": {"0_0": 500}}, num_standby_replicas=1)
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "| 0_0!", "b": "0_0"})


def test_a_standby_that_moves_leaves_a_warm_up_on_its_target() -> None:
    state = make_snapshot({"0_0": 1000}, {"a": {"0_0": -2}, "b": {}, "c": {"0_0": 0}}, num_standby_replicas=1)
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0!", "b": "| | 0_0", "c": "| 0_0"})


@pytest.mark.parametrize(
    ("clients", "slots", "expected"),
    [
        # The target has standbys on b and c, which are empty; d and e have state.
        ("de", 2, {"a": "0_0!", "b": "| | 0_0", "c": "| | 0_0", "d": "| 0_0", "e": "| 0_0"}),
        ("de", 1, {"a": "0_0!", "b": "| | 0_0", "c": "", "d": "| 0_0", "e": "| 0_0"}),
        # Only d has state: the standby of b moves there, that of c stays. Counts alone would not show which one moved.
        ("d", 2, {"a": "0_0!", "b": "| | 0_0", "c": "| 0_0", "d": "| 0_0"}),
    ],
)
def test_only_standbys_that_moved_are_warm_ups(clients: str, slots: int, expected: dict[str, str]) -> None:
    holders = {client: {"0_0": 0} for client in clients}
    state = make_snapshot(
        {"0_0": 1000}, {"a": {"0_0": -2}, "b": {}, "c": {}, **holders}, num_standby_replicas=2, max_warmup_replicas=slots
    )
    assert is_same(assign(state, KafkaHighAvailability()), expected)


# --- lags ------------------------------------------------------------------------------------------------------------


def test_at_the_greatest_acceptable_lag_everyone_is_caught_up() -> None:
    tasks = {"0_0": 1000, "0_1": UNLIMITED_LAG}
    state = make_snapshot(tasks, {"a": {"lags": dict.fromkeys(tasks, -2)}, "b": {}}, acceptable_recovery_lag=UNLIMITED_LAG)
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0", "b": "0_1"})


@pytest.mark.parametrize("acceptable", [10, UNLIMITED_LAG - 1])
@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (0, {"a": "0_0 0_1!", "b": "| | 0_1"}),
        (UNLIMITED_LAG - 1, {"a": "0_0 0_1!", "b": "| | 0_1"}),
        (UNLIMITED_LAG, {"a": "0_0", "b": "0_1"}),  # no lag is greater
    ],
)
def test_an_absent_lag_is_more_than_any_other_and_never_caught_up(
    acceptable: int, reported: int, expected: dict[str, str]
) -> None:
    tasks = {"0_0": 5, "0_1": {"changelog_end_offset": None}}
    state = make_snapshot(tasks, {"a": {"0_1": reported}, "b": {}}, acceptable_recovery_lag=acceptable)
    # 0_0 is tiny, so a may have it; the target has 0_1 on b, which reports no lag.
    assert is_same(assign(state, KafkaHighAvailability()), expected)


def test_an_absent_lag_next_to_the_greatest_one_is_not_less() -> None:
    state = make_snapshot({"0_0": {"changelog_end_offset": None}}, {"a": {"0_0": UNLIMITED_LAG}, "b": {}})
    assert is_same(assign(state, KafkaHighAvailability()), {"a": "0_0", "b": ""})


def test_unknown_lags_are_passed_on_and_noted() -> None:
    state = make_snapshot({"0_0": 1000}, {"a": {"0_0": 900}, "b": {"0_0": -3}})
    found = assign(state, KafkaHighAvailability())
    assert is_same(found, {"a": "| | 0_0!", "b": "0_0"})
    assert any("lags not known: 1" in note for note in found.report.notes)
