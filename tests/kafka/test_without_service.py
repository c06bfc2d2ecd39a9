"""Tests of a group without a service: the planner in the JVM answers."""

from __future__ import annotations

from pathlib import Path

from kafka_group import PATIENT, RATE, assert_nothing_cold_ran, assert_sound

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication

_PROBES = 2
"""One probe moves the warmed-up tasks, and a second may move tasks that had to wait for the first."""


def test_a_group_grows_without_a_service(broker: Broker, folder: Path) -> None:
    with StreamsApplication(broker, "alone", folder, **PATIENT) as group:
        group.load.write(PRELOAD)
        group.load.run(RATE)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES, assignor="planner")
        before = group.generation
        group.start("c")
        group.await_complete(after=before)
        assert_sound(group, most_probes=_PROBES, assignor="planner")
        assert_nothing_cold_ran(group, "c")
        assert {each.assignor for each in group.rebalances} == {"planner"}
        lines = [line for log in group.logs() for line in log.read_text(encoding="utf-8").splitlines() if "optassign:" in line]
    assert any("no optassign.url: the planner in this JVM answers" in line for line in lines)
    assert not [line for line in lines if "WARN" in line or "ERROR" in line]
