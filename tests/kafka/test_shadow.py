"""Shadow mode: the service is asked, and the plug-in's own answers are applied."""

from __future__ import annotations

from collections.abc import Callable

from kafka_group import assert_sound

from optassign.benchmarks.kafka.faults import Fault, FaultyFront
from optassign.benchmarks.kafka.group import Group
from optassign.benchmarks.kafka.service import Service


def test_answers_are_only_compared(new_group: Callable[..., Group], service: Service) -> None:
    with FaultyFront(service.url, slow_seconds=0) as front:
        group = new_group("shadow", optassign_url=front.url, optassign_mode="shadow")
        group.start("a", "b")
        assert_sound(group, most_probes=3, assignor="fallback")
        assert front.requests[Fault.NONE]
        before = group.generation
        front.fault = Fault.TWICE  # would kill who applies it
        group.start("c")
        group.await_complete(after=before)
        assert_sound(group, most_probes=3, assignor="fallback")
        assert front.requests[Fault.TWICE]
