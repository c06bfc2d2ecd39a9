"""Tests of the study `in-time` on a real broker: the quick row of the jar alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.load import PARTITIONS
from optassign_benchmarks.repeated import RunChoice
from optassign_benchmarks.studies.processes.in_time import IN_TIME


@pytest.mark.long
def test_a_third_instance_joins_and_its_state_is_restored(tmp_path: Path) -> None:
    """No record is lost or doubled. A slow machine may miss the targets of the row."""
    choice = RunChoice(["jar alone"], folder=tmp_path)
    (table,), _ = IN_TIME.run(quick=True, choice=choice)
    ((row,)) = table.rows
    cells = dict(zip(table.columns, row, strict=True))
    assert (cells["runs"], cells["records lost"], cells["records doubled"]) == (1, 0, 0)
    (run,) = (json.loads(line) for line in (tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines())
    assert not run["problem"]
    assert 0 < run["noticed_s"] <= run["even_s"] <= run["restored_s"]
    assert run["restoring_s"] > 0
    assert run["waits"], "the plug-in asked for a follow-up until the copies were there"
    # The new instance restores two thirds of a copy of all state.
    least = PARTITIONS * (15_000 + 30_000 + 3_000 + 9_000) / 2 * 2 / 3
    assert 0.8 * least < run["state_read"] < 1.5 * least
    assert run["latency_s"] > 0
    again, _ = IN_TIME.run(quick=True, choice=choice)
    assert again[0].rows == table.rows, "a run that has been played is not played again"
