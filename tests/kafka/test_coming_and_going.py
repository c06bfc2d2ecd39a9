"""Tests of instances that start together, leave and return, killed, stopped, and as leader."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka_group import assert_sound

from optassign_benchmarks.kafka.group import StreamsApplication

_PROBES = 2
"""One probe moves the warmed-up tasks, and a second may move tasks that had to wait for the first."""
_PROBES_AFTER_LOSS = 3


@pytest.mark.long
def test_three_instances_start_together(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("cold-start")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES)
    assert {each.assignor for each in group.rebalances} == {"cp-sat"}


@pytest.mark.long
def test_instances_leave_and_return(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("leaving")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)

    killed = next(name for name in group.instances if name != group.leader)
    before = group.generation
    group.kill(killed)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)

    before = group.generation
    group.start(killed)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)

    leaver = next(name for name in group.instances if name != group.leader)
    before = group.generation
    group.leave(leaver)
    group.await_complete(after=before)
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)


@pytest.mark.long
def test_the_leader_is_killed(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("leaderless")
    group.start("a", "b", "c")
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)
    leader, before = group.leader, group.generation
    group.kill(leader)
    group.await_complete(after=before)
    assert group.leader != leader
    assert_sound(group, most_probes=_PROBES_AFTER_LOSS)
