"""Times at which members join a pass of a rebalance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from optassign.simulation.timed.application import FloatArray, IntArray
from optassign.simulation.timed.scenario import Scenario

__all__ = ["JoinDelays", "expect_join_s"]

_LEAST_LATE = 0.5
"""Least delay of a late member, as a share of `late_s`. A shorter delay is hardly late."""
_DRAWN_PASSES = 2000
"""Number of passes drawn for the mean length of a pass. The mean of heartbeats of 3 s is then within 0.02 s."""


@dataclass(frozen=True)
class JoinDelay:
    """The times at which a client joins a pass, from the beginning of the pass."""

    reports_s: float
    """Seconds until the thread joins that reports the client's state."""
    complete_s: float
    """Seconds until the last thread has joined."""


class JoinDelays:
    """A source of join times: seconds from the beginning of a pass until each client joins it, drawn by the scenario's seed.

    Each thread is a member of the group. Its consumer learns from the response to a heartbeat that it must join (Kafka's
    AbstractCoordinator, REBALANCE_IN_PROGRESS). Heartbeats of members are independent of each other.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._dice = np.random.default_rng((scenario.seed, 2))

    @property
    def vary(self) -> bool:
        """Return whether members of a pass join at different times."""
        return self._scenario.faults.delays_joins

    def draw(self, threads: IntArray, at_once: Collection[int], *, may_be_late: bool) -> list[JoinDelay]:
        """Draw the delays of each client (C,).

        Args:
            threads: (C,) number of threads of each client.
            at_once: clients with a thread that does not wait for its heartbeat.
            may_be_late: whether these threads may be late.
        """
        delays = []
        for client, number in enumerate(threads.tolist()):
            heartbeats, late = _draw_delays(self._scenario, self._dice, (number,))
            if client in at_once:
                heartbeats[0] = 0.0
                late[0] *= may_be_late
            delays.append(JoinDelay(float(heartbeats[0] + late[0]), float((heartbeats + late).max())))
        return delays


def expect_join_s(scenario: Scenario, members: int) -> float:
    """Return the mean seconds from the beginning of a pass until the last of `members` threads has joined."""
    if not scenario.faults.delays_joins or not members:
        return 0.0
    heartbeats, late = _draw_delays(scenario, np.random.default_rng(0), (_DRAWN_PASSES, members))
    return float(np.mean(np.max(heartbeats + late, axis=1)))


def _draw_delays(scenario: Scenario, dice: np.random.Generator, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Draw the seconds until each member's next heartbeat, and the seconds by which the member is late, both of `shape`."""
    faults = scenario.faults
    heartbeats = dice.random(shape) * (scenario.group.heartbeat_s if faults.heartbeats else 0.0)
    is_late = dice.random(shape) < faults.late
    late = faults.late_s * (_LEAST_LATE + (1 - _LEAST_LATE) * dice.random(shape))
    return heartbeats, np.where(is_late, late, 0.0)
