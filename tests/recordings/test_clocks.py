"""Tests of an application's clocks: the start of its convergence, and the last progress of a copy.
They test `optassign.service.newest`."""

from __future__ import annotations

import pytest

from optassign.recordings.clocks import STUCK_S, advance_clocks, is_settling, is_stuck
from optassign.recordings.recording import Clocks, Overview, RecordingHead, Summary
from optassign.service.application_clocks import ApplicationClocks

SUMMARY = {"tasks": 4, "clients": 2, "reason": "optimal", "found_by": "greedy", "moved_active": 0, "warmups": 0, "waiting": 0}


def make_head(minute: int, joined: int = 0, **summary: object) -> RecordingHead:
    given = Summary.model_validate({**SUMMARY, "stalled": False, "balanced": True, **summary})
    overview = Overview(joined=joined, load_least=1, load_most=1, standbys_wanted=0, standbys_caught_up=0)
    at = f"2026-01-01T10:{minute:02}:00.000Z"
    fields = {"application": "orders", "recorded_at": at, "answered_at": 0, "assignor": "cp-sat", "time_limit": 1.0}
    return RecordingHead.model_validate({"format": 1, **fields, "summary": given, "overview": overview})


def test_an_application_settles_from_its_first_to_its_last_follow_up() -> None:
    first = advance_clocks(None, make_head(0, followup_ms=2_000, warmups=1, plan_ms=90_000))
    assert first == Clocks(
        settling_since="2026-01-01T10:00:00.000Z", settling_estimate_ms=90_000, progress_at=first.settling_since
    )
    later = advance_clocks(first, make_head(5, followup_ms=2_000, warmups=1, looks=0, plan_ms=10_000))
    assert (later.settling_since, later.settling_estimate_ms) == (first.settling_since, 90_000), "the first estimate stays"
    assert later.progress_at == "2026-01-01T10:05:00.000Z"
    joined = advance_clocks(later, make_head(6, joined=1, followup_ms=2_000, warmups=1, looks=1))
    assert (joined.settling_since, joined.settling_estimate_ms) == ("2026-01-01T10:06:00.000Z", None), "another group"
    assert joined.progress_at == later.progress_at, "nothing came nearer"
    assert advance_clocks(joined, make_head(9)) == Clocks()


def test_an_estimate_that_comes_late_counts_from_the_start() -> None:
    first = advance_clocks(None, make_head(0, followup_ms=2_000))
    late = advance_clocks(first, make_head(2, followup_ms=2_000, plan_ms=30_000))
    assert late.settling_estimate_ms == 2 * 60_000 + 30_000


@pytest.mark.parametrize(("awaited", "settling"), [(None, True), ("operators", False), ("quiet hours", False)])
def test_a_follow_up_for_operators_does_not_count_as_settling(awaited: str | None, settling: bool) -> None:
    assert is_settling(make_head(0, followup_ms=2_000, awaited=awaited)) is settling


def test_an_application_is_stuck_after_a_time_without_progress() -> None:
    since = Clocks(progress_at="2026-01-01T10:00:00.000Z")
    minute = round(STUCK_S / 60)
    heads = [make_head(at).model_copy(update={"clocks": since}) for at in (minute - 1, minute)]
    assert [is_stuck(head) for head in heads] == [False, True]
    assert is_stuck(make_head(0, stalled=True))
    assert not is_stuck(make_head(0))


def test_clocks_are_kept_of_the_applications_that_rebalanced_last() -> None:
    clocks = ApplicationClocks(most=2)
    heads = [make_head(0, followup_ms=1).model_copy(update={"application": name}) for name in "abac"]
    for head in heads:
        clocks.advance(head)
    assert [name in clocks for name in "abc"] == [True, False, True]
    unapplied = make_head(9).model_copy(update={"application": "a", "mode": "shadow"})
    assert clocks.advance(unapplied).clocks == advance_clocks(None, heads[0]), "an answer that was not applied advances none"
    assert clocks.restore(heads[1]).clocks == advance_clocks(None, heads[1])


def test_a_clock_that_was_ahead_silences_no_alert_for_longer() -> None:
    ahead = Clocks(settling_since="2026-01-02T10:00:00.000Z", progress_at="2026-01-02T10:00:00.000Z")
    later = advance_clocks(ahead, make_head(5, followup_ms=2_000, warmups=1, looks=1))
    assert later.settling_since == later.progress_at == "2026-01-01T10:05:00.000Z"
