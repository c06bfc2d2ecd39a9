"""Tests that the study of weights proves each of its rows."""

from __future__ import annotations

from optassign_benchmarks.studies import weights


def test_every_plan_is_proven_and_on_the_front() -> None:
    (table,), wrong = weights.WEIGHTS.run(quick=True)
    assert wrong == []
    assert [row[-1] for row in table.rows] == ["yes"] * len(weights.STICKINESS)
