"""Tests of faults: the service hangs, its clock steps, its disk is full; the broker restarts; leaders die or return."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka_group import RATE, assert_sound

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

pytestmark = pytest.mark.long
_PROBES = 3
_LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def join(group: StreamsApplication, name: str) -> None:
    before = group.generation
    group.start(name)
    group.await_complete(after=before)


def test_a_rebalance_does_not_wait_for_a_hanging_service(new_group: Callable[..., StreamsApplication], folder: Path) -> None:
    with ServiceProcess(folder / "hanging-service") as service:
        group = new_group("hanging-service", optassign_url=service.url, optassign_timeout_ms=1000)
        group.start("a", "b")
        group.settle(_PROBES)
        service.pause()
        join(group, "c")
        assert "no answer within 1000 ms" in group.rebalances[-1].why
        group.settle(_PROBES)
        service.resume()
        group.configure(optassign_timeout_ms=3_000)
        group.leave(group.leader)
        group.settle(_PROBES)
        group.load.await_accounted()


@pytest.mark.skipif(_LIBRARY is None, reason="needs libfaketime: found none in /usr/lib; apt-get install faketime")
@pytest.mark.parametrize("step", ["+400d", "-400d"])
def test_the_services_clock_steps(new_group: Callable[..., StreamsApplication], folder: Path, step: str) -> None:
    wrong = {"LD_PRELOAD": str(_LIBRARY), "FAKETIME": step, "DONT_FAKE_MONOTONIC": "1"}
    with ServiceProcess(folder / f"clock{step}", environment=wrong) as service:
        group = new_group(f"clock-{step[1:]}-{'ahead' if step[0] == '+' else 'behind'}", optassign_url=service.url)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES)
        service.stop()
        service.environment = {}
        service.start()
        join(group, "c")
        assert_sound(group, most_probes=_PROBES)
        assert {each.assignor for each in group.rebalances} == {"cp-sat"}, [each.why for each in group.rebalances]


def test_a_full_disk_loses_recordings_only(new_group: Callable[..., StreamsApplication], folder: Path) -> None:
    with ServiceProcess(folder / "full-disk", most_file_kb=1) as service:
        group = new_group("full-disk", optassign_url=service.url)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES)
        join(group, "c")
        assert_sound(group, most_probes=_PROBES)
        assert {each.assignor for each in group.rebalances} == {"cp-sat"}


def test_the_broker_restarts_in_the_middle_of_a_rebalance(service: ServiceProcess, folder: Path) -> None:
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(folder / "restarting-broker"))
        # A killed broker leaves an open transaction. Restoring with exactly-once then waits for its end for good, or processes
        # end with an error, with Kafka's own assignor, too. At-least-once does not wait.
        properties = {"optassign_url": service.url, "optassign_timeout_ms": 3_000, "processing_guarantee": "at_least_once"}
        group = stack.enter_context(StreamsApplication(broker, "restarting", folder, **properties))
        group.load.write(PRELOAD)
        group.load.run(RATE)
        group.start("a", "b")
        group.settle(_PROBES)
        led = len(group.rebalances)
        group.start("c")
        await_condition("a rebalance begins", lambda: len(group.rebalances) > led, logs=group.logs)
        broker.process.kill()
        broker.start()
        # The members find the broker one after the other: the first may have tasks of the others for a while.
        group.settle(_PROBES, returning=True)
        group.await_complete().assert_balanced(standbys=1)
        assert group.rebalances[-1].assignor == "cp-sat"


def test_the_leader_is_killed_between_the_two_passes(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("between-passes")
    group.start("a", "b")
    assert_sound(group, most_probes=_PROBES)
    led, leader = len(group.rebalances), group.leader
    group.start("c")
    await_condition("the first pass", lambda: len(group.rebalances) > led, logs=group.logs)
    group.kill(leader)
    group.mark()
    assert_sound(group, most_probes=_PROBES + 1)


def test_two_leaders_with_different_memories(new_group: Callable[..., StreamsApplication]) -> None:
    group = new_group("two-memories")
    group.start("a", "b")
    assert_sound(group, most_probes=_PROBES)
    first = group.leader
    before = group.generation
    paused = group.pause(first)  # it keeps its memory, which is old when it leads again
    group.await_complete(after=before)
    join(group, "c")
    group.settle(_PROBES)
    before = group.generation
    group.resume(paused)
    group.await_complete(after=before)
    for name in sorted(group.instances):
        if name != first and len(group.instances) > 1:
            before = group.generation
            group.kill(name)
            group.await_complete(after=before)
            group.settle(_PROBES)
    assert group.leader == first
    assert_sound(group, most_probes=_PROBES)
