"""Tests of a service that is down, slow or wrong: the plug-in answers by itself, and no task moves needlessly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka_group import PATIENT, RATE, assert_sound

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.faults import FaultyFront, ServiceFault
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.service import ServiceProcess

_TIMEOUT_MS = 3000
_PROBES = 3


@pytest.fixture(scope="module")
def front(service: ServiceProcess) -> Iterator[FaultyFront]:
    with FaultyFront(service.url, slow_seconds=1.5 * _TIMEOUT_MS / 1000) as front:
        yield front


@pytest.fixture(scope="module")
def at_rest(broker: Broker, service: ServiceProcess, front: FaultyFront, folder: Path) -> Iterator[StreamsApplication]:
    """Yield two instances at rest whose service is behind the faulty front."""
    configs = {"optassign_url": front.url, "optassign_timeout_ms": _TIMEOUT_MS}
    with StreamsApplication(broker, "faults", folder, **configs, **PATIENT) as group:
        group.load.write(PRELOAD)
        group.load.run(RATE)
        group.start("a", "b")
        assert_sound(group, most_probes=_PROBES)
        yield group


_NO_ANSWER = (ServiceFault.ERROR, ServiceFault.CUT)
_LEFT_ALONE = (
    ServiceFault.SLOW,
    ServiceFault.GARBAGE,
    ServiceFault.EMPTY,
    ServiceFault.TWICE,
    ServiceFault.FORGOTTEN,
    ServiceFault.STRANGER,
    ServiceFault.PROTOCOL,
)
"""Faults after which the plug-in pauses requests for some seconds; each fault has its own group."""


def probe_with_fault(group: StreamsApplication, front: FaultyFront, fault: ServiceFault) -> None:
    """Run a rebalance with the fault; check that the fallback answers and changes nothing."""
    before = group.await_complete()
    front.fault = fault
    try:
        after = group.probe()
    finally:
        front.fault = ServiceFault.NONE
    assert front.requests[fault], "the fault was not met"
    assert group.rebalances[-1].assignor == "fallback"
    assert after == before
    assert not group.deaths
    group.load.check()


@pytest.mark.long
@pytest.mark.parametrize("fault", _NO_ANSWER)
def test_a_rebalance_without_an_answer_changes_nothing(
    at_rest: StreamsApplication, front: FaultyFront, fault: ServiceFault
) -> None:
    probe_with_fault(at_rest, front, fault)
    at_rest.probe()
    assert at_rest.rebalances[-1].assignor == "cp-sat", "a service that did not answer is asked again"


@pytest.mark.long
@pytest.mark.parametrize("fault", _LEFT_ALONE)
def test_a_rebalance_with_a_wrong_or_late_answer_changes_nothing(
    new_group: Callable[..., StreamsApplication], front: FaultyFront, fault: ServiceFault
) -> None:
    group = new_group(f"wrong-{fault}", optassign_url=front.url, optassign_timeout_ms=_TIMEOUT_MS)
    group.start("a", "b")
    assert_sound(group, most_probes=_PROBES)
    probe_with_fault(group, front, fault)


@pytest.mark.long
def test_an_instance_joins_and_leaves_without_an_answer(at_rest: StreamsApplication, front: FaultyFront) -> None:
    join_and_leave(at_rest, front, ServiceFault.ERROR)
    assert_sound(at_rest, most_probes=_PROBES)


@pytest.mark.long
@pytest.mark.parametrize("fault", [ServiceFault.TWICE, ServiceFault.SLOW])
def test_an_instance_joins_and_leaves_with_wrong_or_late_answers(
    new_group: Callable[..., StreamsApplication], front: FaultyFront, fault: ServiceFault
) -> None:
    group = new_group(f"joins-{fault}", optassign_url=front.url, optassign_timeout_ms=_TIMEOUT_MS)
    group.start("a", "b")
    assert_sound(group, most_probes=_PROBES)
    join_and_leave(group, front, fault)
    assert_sound(group, most_probes=_PROBES, assignor=None)  # the plug-in may still pause requests to the service


def join_and_leave(group: StreamsApplication, front: FaultyFront, fault: ServiceFault) -> None:
    """Let an instance join, settle and leave, all with the fault."""
    front.fault = fault
    try:
        before = group.generation
        group.start("c")
        group.await_complete(after=before)
        group.settle(_PROBES)
        before = group.generation
        group.leave("c")
        group.await_complete(after=before)
        group.settle(_PROBES)
        assert group.rebalances[-1].assignor == "fallback"
    finally:
        front.fault = ServiceFault.NONE


@pytest.mark.long
def test_the_service_is_killed_and_comes_back(new_group: Callable[..., StreamsApplication], folder: Path) -> None:
    with ExitStack() as stack:
        service = stack.enter_context(ServiceProcess(folder / "mortal-service"))
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
