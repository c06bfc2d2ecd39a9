"""Tests of two applications with one service: one restarts instance by instance while the other waits for its follow-up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka_group import assert_sound

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition

_INTERVAL_MS = 60_000  # the least that Kafka allows
_PROBES = 3


@pytest.mark.long
def test_a_rolling_restart_during_a_follow_up(new_group: Callable[..., StreamsApplication]) -> None:
    # By its estimate the follow-up would come before the other application has started.
    waiting = new_group("waiting", probing_rebalance_interval_ms=_INTERVAL_MS, optassign_followup="interval")
    waiting.start("a")
    waiting.await_complete()
    first = waiting.generation
    waiting.start("b")
    waiting.await_complete(after=first)
    assert not waiting.at_rest
    asked = waiting.generation

    rolled = new_group("rolled")
    rolled.start("a", "b", "c")
    assert_sound(rolled, most_probes=_PROBES)
    for name in ("a", "b", "c"):
        before = rolled.generation
        rolled.stop(name)
        rolled.start(name)
        rolled.await_complete(after=before)
    rolled.mark()
    assert_sound(rolled, most_probes=_PROBES)

    def came_to_rest() -> bool:
        waiting.await_complete()
        return waiting.generation > asked and waiting.at_rest

    await_condition("the follow-up comes by itself", came_to_rest, logs=waiting.logs)
    assert_sound(waiting, most_probes=0)
