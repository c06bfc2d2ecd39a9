"""Tests that the watcher moves a real application's task, whose state was wiped, to its standby until it is restored."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from optassign_benchmarks.kafka.applications import StreamsGroup, WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.processes import TIMEOUT, await_condition
from optassign_benchmarks.kafka.scenario import OURS

pytestmark = pytest.mark.long

_PRELOAD = 4000
"""Records per partition: far more than the acceptable lag of 1000."""
_SLOW = {"restore_consumer_max_partition_fetch_bytes": 2048, "restore_consumer_fetch_min_bytes": 10_000_000}
"""Each response has 2 KiB of a changelog, and comes after `fetch.max.wait.ms`."""
_BATCH = 1024
"""Bytes of a batch of records in a changelog; a response has at least one batch."""


def test_a_task_whose_state_is_wiped_runs_on_its_standby_until_the_state_is_back(broker: Broker, folder: Path) -> None:
    name = "wiped"
    with ExitStack() as stack:
        group = stack.enter_context(StreamsGroup(broker, name, folder, assignor=OURS, standbys=1, latest=True))
        watcher = stack.enter_context(WatchProcess(broker.address, name, folder))
        group.load.write(_PRELOAD, kinds=["logged"])
        group.configure(producer_batch_size=_BATCH)
        for process in "abc":
            group.configure(group_instance_id=f"host-{process}")
            group.start(process)
        group.await_settled()
        group.load.await_accounted()
        group.load.run(90)
        before = group.await_settled()
        task = min(each for each in before.active["b"] if each.startswith("0_"))
        (standby,) = (each for each in "ac" if task in before.standby[each])

        wiped = group.instances["b"].folder
        group.stop("b")
        (state,) = (wiped / "state").glob(f"*/{task}")
        shutil.rmtree(state)
        group.configure(group_instance_id="host-b", restore_consumer_fetch_max_wait_ms=1500, **_SLOW)
        group.start("b")
        await_condition(
            f"{task} runs on {standby}",
            lambda: task in group.instances[standby].status().active,
            timeout=2 * TIMEOUT,
            found=lambda: (watcher.output, group.read_statuses()),
            logs=group.logs,
        )
        assert watcher.output.count("trigger: reason=in_place_restore") == 1, watcher.output
        assert f"1 restore in place though another process has the state, the first of them {task} on" in watcher.output

        after = group.await_settled()
        assert after.active["b"] | {task} == before.active["b"] | {task}, "no other task has left it"
        assert watcher.output.count("trigger: reason=in_place_restore") == 1, "once is enough"
        group.load.await_accounted()
        group.assert_nothing_died()
