"""Tests of instances that leave: after a drain no task has to be restored; after a stop, tasks wait for their state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optassign.recordings.files import find_recordings
from optassign.recordings.recording import read_recording
from optassign_benchmarks.kafka.group import LAG, MOST_PROBES, PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.service import ServiceProcess

_TASKS = 12
"""Tasks with a changelog."""


def restored_before_running(group: StreamsApplication, *names: str) -> int:
    """Return the number of records that these instances read from changelogs for actives, while the tasks were down."""
    return sum(group.instances[name].status().restored_active for name in names)


def leave(group: StreamsApplication, name: str) -> int:
    """Let an instance leave, and wait until the others run its tasks; return the number of records restored for actives."""
    others = [each for each in group.instances if each != name]
    restored, before = restored_before_running(group, *others), group.generation
    group.leave(name)
    group.await_complete(after=before)
    group.await_caught_up()
    return restored_before_running(group, *others) - restored


@pytest.mark.long
def test_tasks_of_a_drained_instance_never_wait_for_their_state(
    new_group: Callable[..., StreamsApplication], service: ServiceProcess
) -> None:
    group = new_group("draining", num_standby_replicas=0, client_tag_optassign_drain="true")
    group.start("c")
    group.await_complete()  # the only instance keeps its tasks, draining or not
    group.configure(client_tag_optassign_drain=None)
    group.start("a", "b")
    group.settle(MOST_PROBES)
    placement = group.await_complete()
    assert not placement.active["c"]
    assert not placement.standby["c"]
    # Each task warmed up elsewhere before it moved; the records read then are within the acceptable lag.
    assert restored_before_running(group, "a", "b") <= LAG * _TASKS
    newest = read_recording(max(find_recordings(service.recordings, "draining")).path)
    assert [(row.process_id, row.may_stop) for row in newest.assignment.report.drains] == [
        (group.instances["c"].process_id, True)
    ]
    assert leave(group, "c") == 0
    group.load.await_accounted()


@pytest.mark.long
def test_tasks_of_a_stopped_instance_wait_for_their_state(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("stopping", num_standby_replicas=0)
    group.start("c")
    group.await_complete()
    group.start("a", "b")  # so that no other instance ever had the tasks that c still runs
    group.settle(MOST_PROBES)
    logged = [task for task in group.await_complete().active["c"] if task.startswith("0_")]
    assert logged
    assert leave(group, "c") >= PRELOAD * len(logged)
    group.load.await_accounted()
