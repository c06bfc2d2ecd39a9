"""Tests of the purpose of a follow-up, and of the status of an application that follows from it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from judging import make_answer, make_snapshot
from pages import write_recording

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign.measuring.outlook import find_awaited
from optassign.recordings.recording import RecordingHead, summarise
from optassign.service.metrics import Metrics
from optassign.service.views.index import RecordingIndex
from optassign.service.views.lists import find_decider, find_overdue_since, find_status, make_application_row

_RESTING = {
    "a": {"active": "0_0", "standby": "0_1", "lags": {"0_0": -2, "0_1": 0}},
    "b": {"active": "0_1", "standby": "0_0", "lags": {"0_1": -2, "0_0": 0}},
}
_UNEVEN = {
    "a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}},
    "b": {"standby": "0_0 0_1", "lags": {"0_0": 0, "0_1": 0}},
}
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def rest(**options: object) -> ApplicationState:
    return make_snapshot({"0_0": 50_000, "0_1": 50_000}, _RESTING, options=options, num_standby_replicas=1)


def make_head(state: ApplicationState, assignor: str = "cp-sat", **more: object) -> RecordingHead:
    fields: dict[str, object] = {"format": 1, "recorded_at": _AT.isoformat(), "answered_at": 1, "assignor": assignor}
    fields |= {"time_limit": 1.0, "summary": summarise(state, assign(state, "greedy")), **more}
    return RecordingHead.model_validate(fields)


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
@pytest.mark.parametrize(("idle", "asked"), [(20_000, 20_000), (900_000, 900_000), (0, None)])
def test_at_rest_a_follow_up_serves_operators_requests(assignor: str, idle: int, asked: int | None) -> None:
    """The probing interval does not matter, and the answer breaks no rule."""
    state = rest(idle_followup_ms=idle)
    found = assign(state, assignor)
    assert [client.followup_rebalance_ms for client in found.clients] == [asked, None]
    assert find_awaited(state, found) == ("operators" if asked else None)
    assert validate(state, found) == []


def test_without_the_option_a_group_at_rest_asks_for_nothing() -> None:
    state = rest()
    found = assign(state, "greedy")
    assert find_awaited(state, found) is None
    asking = found.model_copy(update={"clients": make_answer({"a": "0_0 | 0_1 |!", "b": "0_1 | 0_0"}).clients})
    assert [violation.rule for violation in validate(state, asking)] == ["R7"]


def test_a_paused_group_that_is_not_balanced_asks_too_and_is_not_shown_at_rest() -> None:
    state = make_snapshot(
        {"0_0": 50_000, "0_1": 50_000},
        _UNEVEN,
        options={"hold": "paused", "idle_followup_ms": 20_000},
        num_standby_replicas=1,
    )
    found = assign(state, "greedy")
    assert [client.followup_rebalance_ms for client in found.clients] == [20_000, None]
    assert found.report.termination.detail == "the application is paused: nothing moves but what the rules force"
    head = make_head(state)
    assert (find_status(head), head.summary.balanced, head.summary.hold) == ("paused", False, "paused")
    assert head.summary.imbalance is not None
    assert head.summary.imbalance > 0
    uneven = head.model_copy(update={"summary": head.summary.model_copy(update={"hold": "none"})})
    assert find_status(uneven) == "not balanced"


def test_a_resumed_application_waits_until_it_rebalances(tmp_path: Path) -> None:
    """The pause is no longer in force, but the last recording still has it."""
    options = {"hold": "paused", "idle_followup_ms": 300_000}
    data = make_snapshot({"0_0": 50_000, "0_1": 50_000}, _UNEVEN, options=options, num_standby_replicas=1).model_dump()
    write_recording(tmp_path, ApplicationState.model_validate({**data, "application": "orders"}), _AT)
    asked = {"paused": {"by": "ann", "at": _AT.isoformat()}}

    def find_shown(after_s: float, operator_requests: Mapping[str, Mapping[str, Any]]) -> str:
        row = make_application_row(RecordingIndex(tmp_path), "orders", _AT.timestamp() + after_s, operator_requests)
        assert row is not None
        assert not row.balanced
        return f"{row.status.word}: {row.status.about}"

    assert find_shown(60, {"orders": asked}) == "paused: by ann: nothing moves but what the rules force"
    assert find_shown(60, {}) == "waiting: it is resumed, and tasks move again from its next rebalance on"
    assert find_shown(3_600, {"orders": asked}).startswith("unknown: its instances have gone, run under another assignor")


def test_silence_differs_from_rest() -> None:
    asking, silent = make_head(rest(idle_followup_ms=60_000)), make_head(rest())
    assert find_status(asking) == "at rest"
    assert find_overdue_since(asking, _AT + timedelta(minutes=2)) is None
    assert find_overdue_since(asking, _AT + timedelta(minutes=4)) == _AT + timedelta(minutes=1)
    by_broker = asking.model_copy(update={"plugin": "optassign-broker/0.1.0"})
    assert find_overdue_since(by_broker, _AT + timedelta(hours=23)) is None, "brokers run no follow-ups"
    assert find_overdue_since(silent, _AT + timedelta(hours=23)) is None
    assert find_overdue_since(silent, _AT + timedelta(hours=25)) == _AT + timedelta(days=1)


@pytest.mark.parametrize(
    ("assignor", "more", "decider"),
    [
        ("cp-sat", {}, "optassign"),
        ("fallback", {"reported": True}, "fallback"),
        ("kafka-high-availability", {"reported": True, "mode": "shadow"}, "Kafka"),
        ("fallback", {"reported": True, "mode": "shadow"}, "fallback"),
    ],
)
def test_the_deciding_assignor_is_named(assignor: str, more: dict[str, object], decider: str) -> None:
    assert find_decider(make_head(rest(), assignor, **more)) == decider


def test_metrics_show_silence_without_another_rebalance() -> None:
    now = [_AT.timestamp() + 30]
    metrics = Metrics("test", 2, lambda: now[0])
    metrics.show_applied(make_head(rest(idle_followup_ms=60_000), application="quiet"))

    def find_shown() -> list[str]:
        lines = metrics.render().decode().splitlines()
        return [line for line in lines if line.startswith("optassign_application_status") and line.endswith(" 1.0")]

    assert find_shown() == ['optassign_application_status{application="quiet",status="at rest"} 1.0']
    now[0] += 3_600
    assert find_shown() == ['optassign_application_status{application="quiet",status="unknown"} 1.0']


@pytest.mark.parametrize("at_rest", [(False, True, True), (True, False, True), (True, True, True)])
def test_a_status_begins_with_the_first_recording_that_has_it(tmp_path: Path, at_rest: tuple[bool, ...]) -> None:
    uneven = make_snapshot({"0_0": 50_000, "0_1": 50_000}, _UNEVEN, options={"hold": "paused"}, num_standby_replicas=1)
    for number, rests in enumerate(at_rest):
        state = (rest() if rests else uneven).model_copy(update={"application": "orders"})
        write_recording(tmp_path, state, _AT + timedelta(minutes=10 * number))
    row = make_application_row(RecordingIndex(tmp_path), "orders", _AT.timestamp() + 1_800, {})
    assert row is not None
    first = 1 + max((number for number, rests in enumerate(at_rest) if not rests), default=-1)
    assert datetime.fromisoformat(row.status.since or "") == _AT + timedelta(minutes=10 * first)
