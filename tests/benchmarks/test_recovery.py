"""Tests of the figures of an event, computed from logs and samples of an application."""

from __future__ import annotations

import pytest

from optassign_benchmarks.kafka.instance import Status
from optassign_benchmarks.kafka.recovery.course import Expectation, LoggedAnswer, Sample, Wait, Wanted, judge, read_answers

_WANTED = Wanted(["0_0", "0_1", "1_0"], {0: "big", 1: "little"}, instances=3, standbys=1, most_lag=10)
_FULL = {"big/0": 0, "big/1": 0, "little/0": 0}
_LOG = """\
2026-01-01T00:00:01.000+00:00 [a-1] INFO org.apache.kafka.X - Successfully joined group with generation 4
2026-01-01T00:00:02.500+00:00 [a-1] INFO io.github.X - optassign: application=x tasks=3 clients=3 answered_by=planner \
active_moved=2 warmups=1 followup_ms=2000 total_ms=7 round_trip_ms=none waits_for=moves trigger=joined:1 why=a reason
2026-01-01T00:00:02.510+00:00 [a-1] INFO org.apache.kafka.X - Finished unstable assignment of tasks, a followup rebalance \
will be scheduled.
2026-01-01T00:00:02.520+00:00 [a-1] INFO org.apache.kafka.X - Finished assignment for group at generation 5: {}
2026-01-01T00:00:04.000+00:00 [a-1] INFO org.apache.kafka.X - Finished stable assignment of tasks, no followup rebalances \
required.
2026-01-01T00:00:04.250+00:00 [a-1] INFO org.apache.kafka.X - Finished assignment for group at generation 6: {}
"""


def status(active: str, standby: str = "", target_ms: int = -1, **lags: int) -> Status:
    """Return a status; `lags` are those of stores `big_0`, `big_1` and `little_0`, by default 0."""
    known = {**_FULL, **{name.replace("_", "/"): lag for name, lag in lags.items()}}
    return Status(
        state="RUNNING",
        threads=("RUNNING",),
        active=tuple(active.split()),
        standby=tuple(standby.split()),
        lags=known,
        time_to_target_ms=target_ms,
    )


def sample(at: float, a: Status, b: Status, c: Status | None = None) -> Sample:
    return Sample(at, {"a": a, "b": b, **({} if c is None else {"c": c})})


A, B, C = status("0_0", "1_0"), status("0_1", "0_0"), status("1_0", "0_1")
"""Statuses of a balanced and restored application."""


def test_an_assignment_is_read_with_what_the_plug_in_asked_for() -> None:
    first, second = read_answers("a", _LOG)
    assert first == LoggedAnswer(1767225602.52, 5, "a", False, 2.0, 2, 1, "joined:1")
    assert second == LoggedAnswer(1767225604.25, 6, "a", True), "Kafka's own assignor logs no line of the plug-in"


def test_balance_and_restoration_count_once_they_last() -> None:
    """At 1 s balance does not last; at 3 s a copy is behind; at 4 s a follow-up is due; at 5 s the recovery is complete."""
    behind = status("1_0", "0_1", big_1=11)
    samples = [
        sample(101, A, B, C),
        sample(102, status("0_0 0_1"), B, C),
        sample(103, A, B, behind),
        sample(104, A, B, C),
        sample(105, A, B, C),
    ]
    answers = [LoggedAnswer(103.5, 7, "a", False), LoggedAnswer(104.5, 8, "a", True), LoggedAnswer(99, 6, "a", True)]
    found = judge(_WANTED, 100, samples, answers, heartbeat=3)
    assert (found.noticed_s, found.even_s, found.restored_s, found.restoring_s) == (3.5, 3, 5, 1)


@pytest.mark.parametrize(
    ("last", "even", "restored"),
    [
        pytest.param(sample(101, A, B), False, False, id="an instance is missing"),
        pytest.param(sample(101, A, B, status("1_0", "0_1 0_0")), True, False, id="a copy too many"),
        pytest.param(sample(101, A, B, status("1_0")), True, False, id="a copy too few"),
        pytest.param(sample(101, A, status("0_1", "0_1"), C), True, False, id="both copies on one instance"),
        pytest.param(sample(101, A, B, status("1_0", "0_1", little_0=11)), False, False, id="an active that is behind"),
        pytest.param(sample(101, status("0_0 0_1", "1_0"), status("", "0_0"), C), False, False, id="uneven"),
        pytest.param(sample(101, A, B, C.model_copy(update={"state": "REBALANCING"})), True, False, id="not running"),
        pytest.param(sample(101, A, B, C.model_copy(update={"lags": {"little/0": 0}})), True, False, id="not begun"),
    ],
)
def test_a_state_that_is_not_the_wanted_one(last: Sample, even: bool, restored: bool) -> None:
    found = judge(_WANTED, 100, [last], [], heartbeat=3)
    assert (found.even_s is not None, found.restored_s is not None) == (even, restored)


def test_a_wait_is_held_against_the_time_under_way_of_the_oldest_copy() -> None:
    behind, later = status("1_0", "0_1", big_1=99), status("1_0", "0_1", big_1=0)
    samples = [sample(at, A, B, behind if 102 <= at < 106 else later) for at in range(101, 120)]
    answers = [
        LoggedAnswer(at, n, "a", False, wait) for n, (at, wait) in enumerate([(101.5, 2), (105.5, 60), (107, 9), (112, 30)])
    ]
    found = judge(_WANTED, 100, samples, answers, heartbeat=3)
    assert found.waits == (
        Wait(1.5, 2, 0),
        Wait(5.5, 60, 3.5),
        Wait(7, 9, 5),  # the copy caught up less than a heartbeat ago, which the assignor cannot know
        Wait(12, 30, 0),
    )


def test_a_copy_that_is_restored_twice_is_under_way_from_its_second_time_on() -> None:
    behind = status("1_0", "0_1", big_1=99)
    samples = [sample(at, A, B, behind if at in (101, 110, 111) else C) for at in range(101, 115)]
    found = judge(_WANTED, 100, samples, [LoggedAnswer(111.5, 1, "a", False, 1)], heartbeat=3)
    assert found.waits == (Wait(11.5, 1, 1.5),)


def test_an_expectation_counts_from_the_second_step_on() -> None:
    """The status at 105.5 s may be older than the answer at 105 s."""

    def expecting(at: float, target_ms: int) -> Sample:
        return sample(at, status("0_0", "1_0", target_ms), B, C if at > 119 else status("1_0", "0_1", big_1=99))

    samples = [
        expecting(102, 5_000),
        expecting(105.5, 5_000),
        expecting(106, 40_000),
        expecting(112, 10_000),
        expecting(120, -1),
        expecting(121, -1),
    ]
    triggers = [(101, "joined:1"), (103, "second_pass"), (105, "followup"), (110, "followup"), (119, "followup")]
    answers = [LoggedAnswer(at, n, "a", at > 118, 5, 0, 0, why) for n, (at, why) in enumerate(triggers)]
    found = judge(_WANTED, 100, samples, answers, heartbeat=3)
    assert found.expectations == (Expectation(5, 40, 15), Expectation(10, 10, 10))
    assert found.expectations[0].find_factor(0) == pytest.approx(40 / 15)
    assert found.expectations[0].find_factor(10) == pytest.approx(2)
