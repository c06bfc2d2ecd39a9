"""Tests of the steps of docs/how-to/adopt.md with the oldest common release; study `adopting` runs them with real waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.studies.processes.adopting import walk


@pytest.mark.long
def test_adopting_and_going_back_loses_and_doubles_no_record(broker: Broker, service: ServiceProcess, tmp_path: Path) -> None:
    rows = walk("3.9.1", broker, service, tmp_path, hurries=True)
    steps = ["bring the jar", "adopt in shadow", "go live", "restart all", "scale in", "roll back"]
    assert [row["step"] for row in rows] == steps
    assert all(row["records written meanwhile"] and row["rebalances"] for row in rows)
    assert {(row["lost or counted twice"], row["threads dead"]) for row in rows} == {(0, 0)}
