"""Instances that come: at the start all together, then one by one under load."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka_group import assert_nothing_cold_ran, assert_sound

from optassign_benchmarks.kafka.group import StreamsApplication

_PROBES = 2
"""A probe moves what has been warmed up, and a second may move what had to wait for the first."""


@pytest.mark.long
def test_three_instances_start_together(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("cold-start")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES)
    assert {each.assignor for each in group.rebalances} == {"cp-sat"}


def test_a_second_and_a_third_instance_join(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("joining")
    group.start("a")
    group.await_complete()
    for name in ("b", "c"):
        before = group.generation
        group.start(name)
        group.await_complete(after=before)
        assert_sound(group, most_probes=_PROBES)
        assert_nothing_cold_ran(group, name)
    assert {each.assignor for each in group.rebalances} == {"cp-sat"}
