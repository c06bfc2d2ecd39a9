"""What must be true of a real application after every rebalance."""

from __future__ import annotations

from optassign.benchmarks.kafka.group import Group

RATE = 300.0
"""Records per second into the three subtopologies of an application together."""


def assert_sound(group: Group, *, most_probes: int, assignor: str | None = "cp-sat") -> None:
    """Check that the application settles, is balanced, and has processed every record once; then let records flow again.

    Settling takes at most `most_probes` follow-ups. In between every task has to be active exactly once, all processes have to
    run, and no task may come back to an instance that had given it away. `assignor`: who has to have
    answered last; None: anybody.
    """
    group.settle(most_probes)
    group.await_complete().assert_balanced(standbys=1)
    assert assignor is None or group.rebalances[-1].assignor == assignor
    group.load.await_accounted()
    group.load.run(RATE)
