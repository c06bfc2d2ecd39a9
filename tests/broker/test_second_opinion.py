"""Tests of a real broker's assignor that asks a real service after assignments, and works without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from serving import Service, run_service

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import ToolMissingError, streams_group_classpath
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import OURS, GroupChange, Observed, play, start_broker

_LONGEST = 600.0
"""Seconds: generous, since the machine may be busy."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with run_service("--workers", "1") as service:
        yield service


@pytest.fixture(scope="module")
def asking_broker(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        streams_group_classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    with start_broker(
        tmp_path_factory.mktemp("asking") / "broker",
        optassign_url=str(service.client.base_url),
        optassign_timeout_ms=60_000,
        group_streams_task_offset_interval_ms=1000,
        group_streams_min_task_offset_interval_ms=1000,
        group_streams_initial_rebalance_delay_ms=0,
        group_streams_session_timeout_ms=15_000,  # the coordinator removes no slow member
    ) as broker:
        yield broker


def join(broker: Broker, folder: Path, name: str) -> None:
    """Run a group of two processes that a third joins, and check that no task is down or runs twice."""
    with ExitStack() as stack:
        tasks = (SimulatedSubtopology("0", 8, logged=True), SimulatedSubtopology("1", 4, logged=False))
        group = Observed(broker, folder, name, tasks, Restoring(20_000, 10_000), assignor=OURS, standbys=1)
        stack.enter_context(group.members)
        figures = play(group, GroupChange("join", "ab", joins="c"), _LONGEST)
        assert not group.members.deaths
        assert figures.settled_s is not None, "every task runs, balanced, with all standbys"
        assert figures.twice_ms == 0, "and none ever ran twice"


@pytest.mark.long
def test_the_service_is_asked_by_the_name_of_the_tag(asking_broker: Broker, service: Service, tmp_path: Path) -> None:
    join(asking_broker, tmp_path, "behind")
    event = service.wait_for("rebalance", application="behind", mode="shadow")
    assert event["fallback"] is None
    assert event["dropped"] == {}
    assert event["ignored"] == [], "it understands all that it is told"
    log = asking_broker.log.read_text(encoding="utf-8")
    await_condition("its answer is read", lambda: "group=behind the service has" in asking_broker.log.read_text("utf-8"))
    assert "left alone" not in log, "and its plans keep the rules"


@pytest.mark.long
def test_a_dead_service_disturbs_no_group(asking_broker: Broker, service: Service, tmp_path: Path) -> None:
    service.process.kill()
    service.process.wait()
    join(asking_broker, tmp_path, "alone")
    assert asking_broker.log.read_text(encoding="utf-8").count("it is asked again with growing pauses") == 1
