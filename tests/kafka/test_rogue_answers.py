"""Tests that no answer against the rules is applied when an instance joins, and that the application runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kafka_group import assert_sound

from optassign_benchmarks.kafka.faults import FaultyFront, ServiceFault
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.service import ServiceProcess

pytestmark = pytest.mark.long
_PROBES = 3


@pytest.fixture
def front(service: ServiceProcess) -> Iterator[FaultyFront]:
    with FaultyFront(service.url, slow_seconds=1.0) as front:
        yield front


def join_with(group: StreamsApplication, front: FaultyFront, fault: ServiceFault) -> None:
    """Let a third instance join during the fault."""
    group.start("a", "b")
    assert_sound(group, most_probes=_PROBES)
    before = group.generation
    front.fault = fault
    group.start("c")
    group.await_complete(after=before)
    assert front.requests[fault], "the fault was not met"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (ServiceFault.NEWCOMER, "R3: found task"),
        (ServiceFault.BARE, "R4: found 0 standbys"),
        (ServiceFault.WARM, "R6: found"),
        (ServiceFault.STORM, "R8: found a follow-up asked for by"),
        (ServiceFault.PLANLESS, "in the plan; allowed: exactly 1"),
        (ServiceFault.LENGTHY, "found more than"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_not_applied(
    new_group: Callable[..., StreamsApplication], front: FaultyFront, fault: ServiceFault, why: str
) -> None:
    group = new_group(f"rogue-{fault}", optassign_url=front.url, max_warmup_replicas=2)
    join_with(group, front, fault)
    assert any(why in each.why for each in group.rebalances), [each.why for each in group.rebalances]
    assert_sound(group, most_probes=12, assignor="fallback")


def test_a_date_far_ahead_does_no_harm(new_group: Callable[..., StreamsApplication], front: FaultyFront) -> None:
    group = new_group("rogue-future", optassign_url=front.url)
    join_with(group, front, ServiceFault.FUTURE)
    group.settle(_PROBES)
    front.fault = ServiceFault.NONE
    assert_sound(group, most_probes=_PROBES)
    assert {each.assignor for each in group.rebalances} == {"cp-sat"}, "the service refuses no later request"
