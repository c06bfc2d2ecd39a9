"""Tests of applications of Kafka Streams 4.4.0, and of 4.3.1 (sends no offsets), on a broker with our assignor."""

from __future__ import annotations

import math
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.applications import StreamsGroup, WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import TasksByInstance
from optassign_benchmarks.kafka.load import PARTITIONS
from optassign_benchmarks.kafka.scenario import OURS

_PRELOAD = 3000
"""Records per partition before the first process starts: more than the acceptable lag, so that new copies warm up."""
_RATE = 90
"""Records per second over all input topics, written throughout."""


def moved(before: TasksByInstance, after: TasksByInstance, among: str) -> set[str]:
    """Return the tasks that moved between these processes."""
    return {task for one in among for other in among if one != other for task in before.active[one] & after.active[other]}


def assert_stay(before: TasksByInstance, after: TasksByInstance, among: str, log: Path) -> None:
    """Check that tasks moved between old processes only as far as balance requires, and only to their caught-up standbys.

    The threads of a new process join one by one. A target for the first thread alone may take most tasks from one old process,
    which then takes some from the other.
    """
    between = moved(before, after, among)
    (new,) = {*after.active} - {*among}
    left = {one: {task for task in before.active[one] if task.startswith("0_")} - after.active[new] for one in among}
    needed = sum(max(0, len(tasks) - math.ceil(PARTITIONS / 3)) for tasks in left.values())
    assert len(between) <= needed, "\n".join([f"{between} moved, of {left}; the broker's log:", *read_rebalances(log)])
    assert all(task in before.standby[one] for one in among for task in between & after.active[one])


def read_rebalances(log: Path) -> list[str]:
    """Return the broker's lines about members and their rebalances."""
    words = (" members=", "fenced", "expired")
    return [line for line in log.read_text(encoding="utf-8").splitlines() if any(word in line for word in words)]


def assert_hardly_moved(before: TasksByInstance, after: TasksByInstance, gone: str, among: str) -> None:
    """Check that tasks moved between the remaining processes only as far as balance requires, and only to their standbys."""
    own = {one: {task for task in before.active[one] if task.startswith("0_")} for one in before.active}
    taken = {one: own[gone] & before.standby[one] for one in among}
    most = math.ceil(PARTITIONS / len(among))
    needed = sum(max(0, len(own[one]) + len(taken[one]) - most) for one in among)
    between = moved(before, after, among)
    assert len(between) <= needed, f"{between} moved, of {own} with {taken} from {gone}"
    assert all(task in before.standby[one] for one in among for task in between & after.active[one])


def assert_standbys_take_over(before: TasksByInstance, after: TasksByInstance, gone: str, among: str, others: set[str]) -> None:
    """Check that each task of the lost process runs on its standby, or on older state if balance requires another process.

    `others`: tasks of which the other processes still have state on their disks.
    """
    own = {one: {task for task in before.active[one] if task.startswith("0_")} for one in before.active}
    at_standby = {one: own[gone] & before.standby[one] for one in among}
    too_many = sum(max(0, len(own[one]) + len(at_standby[one]) - math.ceil(PARTITIONS / len(among))) for one in among)
    elsewhere = own[gone] - {task for one in among for task in at_standby[one] & after.active[one]}
    assert len(elsewhere) <= too_many, f"{elsewhere} without a standby there, of {own} with {at_standby} from {gone}"
    assert elsewhere <= others


def logged_copies(placement: TasksByInstance, name: str) -> set[str]:
    """Return the logged tasks of which a process has a copy."""
    return {task for task in placement.active[name] | placement.standby[name] if task.startswith("0_")}


@pytest.mark.parametrize(
    ("version", "standbys"),
    [
        ("4.4.0", 1),
        pytest.param("4.4.0", 0, marks=pytest.mark.long),
        pytest.param("4.3.1", 1, marks=pytest.mark.long),
        pytest.param("4.3.1", 0, marks=pytest.mark.long),
    ],
)
def test_processes_join_leave_die_and_come_back_without_a_record_lost_or_counted_twice(
    broker: Broker, folder: Path, version: str, standbys: int
) -> None:
    name = f"real-{version}-{standbys}"
    sends_offsets = version == "4.4.0"
    with ExitStack() as stack:
        group = stack.enter_context(StreamsGroup(broker, name, folder, assignor=OURS, standbys=standbys, latest=sends_offsets))
        if sends_offsets:
            stack.enter_context(WatchProcess(broker.address, name, folder))
        group.load.write(_PRELOAD)
        group.load.run(_RATE)
        group.start("a", "b")
        two = group.await_settled()

        group.start("c")
        three = group.await_settled()
        assert_stay(two, three, "ab", broker.log)

        before = group.load.written
        group.leave("c")
        left = group.await_settled()
        assert_hardly_moved(three, left, "c", "ab")

        group.start("c")
        again = group.await_settled()
        assert_stay(left, again, "ab", broker.log)
        status = group.instances["c"].status()
        kept = logged_copies(again, "c") & logged_copies(three, "c")
        whole = group.load.written / 3 / PARTITIONS
        fresh = len(logged_copies(again, "c")) - len(kept)
        read = status.restored_active + status.restored_standby
        missed = (group.load.written - before) / 3 / PARTITIONS
        assert read <= fresh * whole + len(kept) * (missed + _PRELOAD / 2), "what lies on its disk is not read again"

        group.kill("b")
        killed = group.await_settled()
        assert_hardly_moved(again, killed, "b", "ac")
        if standbys:
            assert_standbys_take_over(again, killed, "b", "ac", others=logged_copies(left, "a"))

        group.start("b")
        returned = group.await_settled()
        assert_stay(killed, returned, "ac", broker.log)

        group.load.await_accounted()
        group.assert_nothing_died()
    log = broker.log.read_text(encoding="utf-8")
    assert log.count(f"group={name} has sent no offsets so far") == 1
    assert sends_offsets == bool(re.search(rf"group={name} .* warmups=[1-9]", log)), "only known lags are waited for"
    assert f"group={name} members=6 processes=3" in log
    assert not [line for line in log.splitlines() if f"group={name} " in line and "WARN" in line]


@pytest.mark.long
def test_a_restarted_static_member_gets_its_tasks_back_and_no_other_task_moves(broker: Broker, folder: Path) -> None:
    name = "static"
    with ExitStack() as stack:
        group = stack.enter_context(StreamsGroup(broker, name, folder, assignor=OURS, standbys=1, latest=True))
        stack.enter_context(WatchProcess(broker.address, name, folder))
        group.load.write(_PRELOAD)
        group.load.run(_RATE)
        for process in "abc":
            group.configure(group_instance_id=f"host-{process}")
            group.start(process)
        before = group.await_settled()
        epoch = group.describe()["epoch"]
        group.stop("b")
        group.configure(group_instance_id="host-b")
        group.start("b")
        assert group.await_settled() == before
        assert group.describe()["epoch"] == epoch, "the assignor is not even asked"

        group.leave("c")
        left = group.await_settled()
        group.configure(group_instance_id="host-c")
        group.start("c")
        assert moved(left, group.await_settled(), "ab") == set()
        group.load.await_accounted()
        group.assert_nothing_died()
