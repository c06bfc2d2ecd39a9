"""One of three instances is killed by SIGKILL on a real broker: the plug-in and Kafka's default assignor, side by side.

Then the same by the simulator (scenario `broker-kill`). It is the instance with the greatest process id: Kafka's default goes
through the clients in the order of their ids, so what it does depends on whose place is empty.
"""

from __future__ import annotations

from optassign_benchmarks.kafka.group import Group
from optassign_benchmarks.kafka.side_by_side import HEAD, await_rest, count_changes, open_groups, play_all, simulate_both
from optassign_benchmarks.tables import Table, make_table

_RECORDS = 20_000
"""Per partition of the logged subtopology; afterwards nothing is written."""


def run(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """A row for each assignor, real and simulated; wrong: a dead stream thread, a record lost or processed twice.

    Takes ten minutes, nearly all of it waiting for follow-ups of Kafka's default. `quick`: without it.
    """
    with open_groups("plugin-kill", with_default=not quick) as groups:
        rows, wrong = play_all(groups, _play)
    return [make_table(HEAD, [*rows, *simulate_both("broker-kill")])], wrong


def _play(name: str, group: Group) -> tuple[object, ...]:
    """Three instances at rest, with all records restored, and then two: the row of what that took."""
    group.load.write(_RECORDS, ["logged"])
    group.start("a", "b", "c")
    await_rest(group)
    group.load.await_accounted()
    killed = max(group.instances, key=lambda one: group.instances[one].process_id)
    return count_changes(name, group, lambda: group.kill(killed), gone=killed)
