"""Following a group: each of its rebalances, once it is at work again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from optassign.formats.input_errors import InputError
from optassign.inspecting.cluster.connection import Cluster
from optassign.inspecting.cluster.groups import AnyReading, NotStableError, read_group
from optassign.inspecting.reading import GroupReading

__all__ = ["follow"]


def follow(
    cluster: Cluster,
    group: str,
    every: float,
    on_trouble: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[AnyReading]:
    """The group now, and after each rebalance; without end.

    The group is read at each interval. Two rebalances between two readings are one. An error of reading goes to `on_trouble`,
    once for as long as it stays the same, and the reading is repeated.
    """
    last: object = None
    trouble = ""
    while True:
        try:
            reading = read_group(cluster, group)
        except NotStableError:
            sleep(min(1.0, every))
            continue
        except InputError as error:
            if str(error) != trouble:
                on_trouble(str(error))
            trouble = str(error)
        else:
            trouble = ""
            told = _identify(reading)
            if told != last:
                last = told
                yield reading
        sleep(every)


def _identify(reading: AnyReading) -> object:
    """A value that changes with every rebalance: members send the tasks that they own, and get their new tasks."""
    if isinstance(reading, GroupReading):
        return frozenset(
            (
                m.client_id,
                m.owned,
                tuple(sorted(m.subscription.offset_sums.items())),
                m.assignment.active,
                frozenset(m.assignment.standby),
                m.assignment.next_rebalance_ms,
            )
            for m in reading.members
        )
    return reading.epoch
