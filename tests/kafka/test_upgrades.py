"""Tests of a rolling upgrade of Kafka Streams under the plug-in, led by both versions, without lost or doubled records.

A downgrade cannot keep the state: the older version cannot open the store's files of the newer one.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.jars import streams_classpath

_OLD, _NEW = "3.9.1", "4.3.1"
_RESTARTS = (("a", _NEW), ("b", _OLD), ("c", _OLD), ("b", _NEW), ("c", _NEW))
"""Instances and their new versions: after the others restart on their version, the upgraded instance is the oldest member."""


@pytest.mark.long
def test_an_upgrade_keeps_every_record_whoever_leads(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("upgraded", optassign_url=None, optassign_timeout_ms=None)
    versions = dict.fromkeys("abc", _OLD)
    group.jars = streams_classpath(_OLD, plugin=True)
    group.start(*versions)
    group.await_complete()
    leaders = set()
    for name, version in _RESTARTS:
        before = group.generation
        group.stop(name)
        group.jars = streams_classpath(version, plugin=True)
        group.start(name)
        versions[name] = version
        group.await_complete(after=before)
        group.probe()
        assert group.rebalances[-1].assignor == "planner"
        if len(set(versions.values())) == 2:
            leaders.add(versions[group.leader])
    assert leaders == {_OLD, _NEW}
    group.settle(returning=True)
    group.await_complete().assert_balanced(standbys=1)
    group.load.await_accounted()
    group.assert_nothing_died()
