"""Instances that go: by SIGKILL, cleanly, the leader, and all in turn to come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka_group import assert_sound

from optassign_benchmarks.kafka.group import StreamsApplication

_PROBES = 3


@pytest.mark.long
def test_instances_go_and_come_back(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("leaving")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES)

    killed = next(name for name in group.instances if name != group.leader)
    before = group.generation
    group.kill(killed)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES)

    before = group.generation
    group.start(killed)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES)

    leaver = next(name for name in group.instances if name != group.leader)
    before = group.generation
    group.leave(leaver)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES)


@pytest.mark.long
def test_the_leader_is_killed(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("leaderless")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES)
    leader, before = group.leader, group.generation
    group.kill(leader)
    group.await_complete(after=before)
    assert group.leader != leader
    assert_sound(group, most_probes=_PROBES)
