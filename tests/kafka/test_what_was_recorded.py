"""The service's recordings of real rebalances: every answer keeps the rules, and replaying it gives the same answer."""

from __future__ import annotations

from collections.abc import Callable

from kafka_group import assert_sound

from optassign.benchmarks.kafka.group import Group
from optassign.benchmarks.kafka.recordings import check_recordings
from optassign.benchmarks.kafka.service import Service
from optassign.benchmarks.kafka.waiting import await_condition
from optassign.recordings.files import find_recordings


def test_recordings_are_valid_and_replay(new_group: Callable[..., Group], service: Service) -> None:
    group = new_group("recorded")
    group.start("a")
    group.await_complete()
    group.start("b")
    assert_sound(group, most_probes=3)
    await_condition(
        "one recording per rebalance",
        lambda: len(list(find_recordings(service.recordings, "recorded"))) == len(group.rebalances),
        found=lambda: f"{list(find_recordings(service.recordings, 'recorded'))} for {group.rebalances}",
    )
    number, faults = check_recordings(service.recordings)  # of the other tests too
    assert number >= len(group.rebalances)
    assert not faults, "\n".join(faults)
