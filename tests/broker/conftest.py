"""Fixtures: a real broker of Kafka 4.4.0 with optassign's assignor, shared by all tests; each test has its own groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import ToolMissingError, streams_group_classpath
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.scenario import OURS, Observed, start_broker

NewGroup = Callable[..., Observed]
_TASKS = (SimulatedSubtopology("0", 8, logged=True), SimulatedSubtopology("1", 4, logged=False))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams-groups")


@pytest.fixture(scope="session")
def broker(folder: Path) -> Iterator[Broker]:
    try:
        streams_group_classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    with start_broker(
        folder / "broker",
        group_streams_task_offset_interval_ms=1000,
        group_streams_min_task_offset_interval_ms=1000,
        group_streams_initial_rebalance_delay_ms=0,
        group_streams_session_timeout_ms=15_000,  # so that the coordinator removes no slow member
    ) as broker:
        yield broker


@pytest.fixture
def new_group(broker: Broker, folder: Path) -> Iterator[NewGroup]:
    """Yield a function that makes groups of eight logged and four stateless tasks; a copy restores in two seconds."""
    with ExitStack() as stack:

        def make(
            name: str, *, standbys: int, reports_offsets: bool = True, assignor: str = OURS, watched: bool = True
        ) -> Observed:
            group = Observed(
                broker,
                folder,
                name,
                _TASKS,
                Restoring(20_000, 10_000),
                assignor=assignor,
                standbys=standbys,
                watched=watched,
                reports_offsets=reports_offsets,
            )
            stack.enter_context(group.members)
            return group

        yield make
