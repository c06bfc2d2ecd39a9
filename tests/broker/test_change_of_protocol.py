"""Tests that an application of Kafka Streams 4.4.0 changes from the classic to the streams protocol and back with its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign_benchmarks.kafka.applications import StreamsGroup, WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.load import PARTITIONS
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import OURS

_PRELOAD, _RATE = 3000, 90


def count_restored(group: StreamsGroup) -> int:
    """Return the number of records that the running instances have read from changelogs."""
    return sum(each.restored_active + each.restored_standby for each in group.read_statuses().values())


@pytest.mark.long
def test_all_instances_stop_and_start_with_the_other_protocol_and_nothing_is_lost(broker: Broker, folder: Path) -> None:
    with (
        StreamsGroup(broker, "changing", folder, assignor=OURS, standbys=1, latest=True) as group,
        WatchProcess(broker.address, "changing", folder),
    ):
        group.configure(group_protocol="classic", num_standby_replicas=1)
        group.load.write(_PRELOAD)
        group.load.run(_RATE)
        group.start("a", "b")
        group.await_complete()
        await_condition("the first records are processed", lambda: group.load.read > 3 * PARTITIONS * _PRELOAD)

        group.leave("a")
        group.leave("b")
        group.configure(group_protocol="streams", num_standby_replicas=None)
        group.start("a", "b")
        group.await_settled()
        whole = group.load.written / 3
        assert count_restored(group) < whole, "less than one copy of all state, of the two that there are"

        group.leave("a")
        group.leave("b")
        group.configure(group_protocol="classic", num_standby_replicas=1)
        group.start("a", "b")
        group.await_complete()
        group.load.await_accounted()
        group.assert_nothing_died()
