"""Tests of the restore rates of a group that another assignor runs."""

import pytest
from judging import make_answer, make_snapshot

from optassign.formats.state import ApplicationState
from optassign.measuring import ASSUMED_RATE
from optassign.measuring.outlook import list_rates
from optassign.translating.answer import observe_pace

_OWNED = {"0_0": -2, "0_1": -2}


def look(at: str, lag: int, **more: object) -> ApplicationState:
    """Return a snapshot at the time `at`: a runs two tasks, and b restores 0_0 and lags by `lag`."""
    clients = {
        "a": {"active": "0_0 0_1", "lags": _OWNED},
        "b": {"standby": "0_0", "lags": {"0_0": lag}},
    }
    state = make_snapshot({"0_0": 100_000, "0_1": 100_000}, clients, num_standby_replicas=0)
    return state.model_copy(update={"taken_at": at, **more})


def test_rates_are_learnt_from_applied_answers() -> None:
    applied = make_answer({"a": "0_0 0_1", "b": " || 0_0!"})
    first = observe_pace(look("2026-01-01T00:00:00Z", 90_000), applied, None)
    assert first.report.pace is not None
    assert first.report.pace.clients == ()
    assert [(row.task, row.process_id, row.lag) for row in first.report.warmup_progress] == [("0_0", "b", 90_000)]
    second = observe_pace(look("2026-01-01T00:00:10Z", 50_200), applied, first)
    assert second.report.pace is not None
    rates = list_rates(second.report.pace)
    assert list(rates) == ["b"]
    assert rates["b"] == pytest.approx(39_800 / 7), "the lag may be three of the ten seconds old"


def test_a_finished_copy_gives_no_slow_rate() -> None:
    """A copy that is restored after ten minutes may have been restored after two seconds."""
    applied = make_answer({"a": "0_0 0_1", "b": " || 0_0!"})
    first = observe_pace(look("2026-01-01T00:00:00Z", 90_000), applied, None)
    second = observe_pace(look("2026-01-01T00:10:00Z", 0), applied, first)
    assert second.report.pace is not None
    assert [row.evidence for row in second.report.pace.clients] == ["bound"]
    assert list_rates(second.report.pace) == {"b": ASSUMED_RATE}


def test_no_rate_is_learnt_without_times() -> None:
    applied = make_answer({"a": "0_0 0_1", "b": " || 0_0!"})
    assert observe_pace(look("2026-01-01T00:00:00Z", 5, taken_at=None), applied, None) is applied
