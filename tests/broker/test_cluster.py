"""Faults of three brokers of Kafka 4.4.0 while tasks of simulated groups and of real applications move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from optassign_benchmarks.broker.cluster import Cluster
from optassign_benchmarks.broker.scenario import OURS
from optassign_benchmarks.kafka.jars import ToolMissingError, streams_group_classpath
from optassign_benchmarks.studies.processes.broker_faults import FAULTS, LATEST, SIMULATED, Fault, find_faults, play

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        streams_group_classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    with Cluster(tmp_path_factory.mktemp("cluster") / "brokers") as cluster:
        yield cluster


@pytest.mark.parametrize("members", [SIMULATED, LATEST])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_or_doubled_and_no_task_moves_without_need(
    cluster: Cluster, tmp_path: Path, fault: Fault, members: str
) -> None:
    name = f"{FAULTS.index(fault)}-{members[-5:]}"
    for trial, outcome in play(cluster, tmp_path, name, fault, members, [OURS]):
        assert find_faults(trial, outcome) == []
        assert outcome.needless <= 1, "a failover may forget which of two equal tasks was to move"
    errors = [line for line in cluster.read_logs().splitlines() if "optassign: " in line and " WARN " in line]
    assert errors == [], "the assignor never falls back"
