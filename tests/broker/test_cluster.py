"""Tests of faults of three brokers of Kafka 4.4.0 while tasks of simulated groups and real applications move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.cluster import ThreeBrokers
from optassign_benchmarks.kafka.jars import ToolMissingError, streams_group_classpath
from optassign_benchmarks.kafka.scenario import OURS
from optassign_benchmarks.studies.processes.broker_faults import CASES, BrokerFault, find_faults, play

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    try:
        streams_group_classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    with ThreeBrokers(tmp_path_factory.mktemp("cluster") / "brokers") as cluster:
        yield cluster


def count_warnings(cluster: ThreeBrokers) -> Counter[str]:
    """Count the assignor's warnings so far by text, except the warning that a broker warms up by itself."""
    lines = (line for line in cluster.read_logs().splitlines() if "optassign: " in line and " WARN " in line)
    return Counter(line for line in lines if "this broker warms up by itself" not in line)


@pytest.mark.parametrize(("fault", "members"), CASES, ids=lambda value: getattr(value, "name", value))
def test_nothing_is_lost_or_doubled_and_no_task_moves_without_need(
    cluster: ThreeBrokers, tmp_path: Path, fault: BrokerFault, members: str
) -> None:
    name = f"{CASES.index((fault, members))}-{members[-5:]}"
    warnings = count_warnings(cluster)
    for trial, outcome in play(cluster, tmp_path, name, fault, members, [OURS]):
        assert find_faults(trial, outcome) == []
        assert outcome.needless <= fault.needless
    found = count_warnings(cluster) - warnings
    assert fault.may_fall_back or not found, found
