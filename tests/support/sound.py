"""What must be true of a real application after every rebalance."""

from __future__ import annotations

from optassign.benchmarks.kafka.group import Group

RATE = 300.0
"""Records per second into the three subtopologies of an application together."""


def assert_sound(group: Group, *, most_probes: int, assignor: str = "cp-sat") -> None:
    """The application settles in so many follow-ups, is balanced, and has processed every record exactly once.

    That every task is active exactly once, all processes run, no thread died and no task came back to who had given it away
    is part of settling. `assignor`: who has to have answered last. Afterwards records flow again.
    """
    group.settle(most_probes)
    group.await_complete().assert_balanced(standbys=1)
    assert group.rebalances[-1].assignor == assignor
    group.load.await_accounted()
    group.load.run(RATE)
