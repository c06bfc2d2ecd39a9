"""The service is down, slow or wrong: the plug-in answers by itself, nobody dies, and nothing moves that need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka_group import RATE, assert_sound

from optassign.benchmarks.kafka.broker import Broker
from optassign.benchmarks.kafka.faults import Fault, FaultyFront
from optassign.benchmarks.kafka.group import PRELOAD, Group
from optassign.benchmarks.kafka.service import Service

_TIMEOUT_MS = 2000
_PROBES = 3


@pytest.fixture(scope="module")
def front(service: Service) -> Iterator[FaultyFront]:
    with FaultyFront(service.url, slow_seconds=1.5 * _TIMEOUT_MS / 1000) as front:
        yield front


@pytest.fixture(scope="module")
def at_rest(broker: Broker, service: Service, front: FaultyFront, folder: Path) -> Iterator[Group]:
    """Two instances at rest, whose service stands behind the front."""
    with Group(broker, "faults", folder, optassign_url=front.url, optassign_timeout_ms=_TIMEOUT_MS) as group:
        group.load.write(PRELOAD)
        group.load.run(RATE)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES)
        yield group


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_a_rebalance_with_a_fault_changes_nothing(at_rest: Group, front: FaultyFront, fault: Fault) -> None:
    before = at_rest.await_complete()
    front.fault = fault
    try:
        after = at_rest.probe()
    finally:
        front.fault = Fault.NONE
    assert front.requests[fault], "the fault was not met"
    assert at_rest.rebalances[-1].assignor == "fallback"
    assert after == before
    assert not at_rest.deaths
    at_rest.load.check()


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.TWICE])
def test_an_instance_joins_and_leaves_with_a_fault(at_rest: Group, front: FaultyFront, fault: Fault) -> None:
    front.fault = fault
    try:
        before = at_rest.generation
        at_rest.start("c")
        at_rest.await_complete(after=before)
        at_rest.settle(_PROBES)
        before = at_rest.generation
        at_rest.leave("c")
        at_rest.await_complete(after=before)
        at_rest.settle(_PROBES)
        assert at_rest.rebalances[-1].assignor == "fallback"
    finally:
        front.fault = Fault.NONE
    assert_sound(at_rest, most_probes=_PROBES)


def test_the_service_is_killed_and_comes_back(new_group: Callable[..., Group], folder: Path) -> None:
    with ExitStack() as stack:
        service = stack.enter_context(Service(folder / "mortal-service"))
        group = new_group("killed-service", optassign_url=service.url)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES)
        service.kill()
        before = group.generation
        group.start("c")
        group.await_complete(after=before)
        group.settle(_PROBES)
        before = group.generation
        group.kill(group.leader)
        group.await_complete(after=before)
        group.settle(_PROBES)
        assert group.rebalances[-1].assignor == "fallback"
        service.start()
        assert_sound(group, most_probes=_PROBES)
