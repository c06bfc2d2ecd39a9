"""The plug-in and Kafka's default assignor, side by side at the same time on a real broker; then the same by the simulator.

*Scale-out*: instances join (simulated: the first case, scenario `broker-scale-out`). *Kill*: one of three instances is
killed by SIGKILL (scenario `broker-kill`). It is the instance with the greatest process id: Kafka's default goes through the
clients in the order of their ids, so what it does depends on whose place is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.side_by_side import HEAD, await_rest, count_changes, open_groups, play_all, simulate_both
from optassign_benchmarks.tables import Table, make_table


@dataclass(frozen=True)
class _Case:
    """How many instances there are, how many join them, and what state there is before; afterwards nothing is written."""

    name: str
    before: str
    joining: str
    records: int
    """Per partition of the logged subtopology."""
    bytes_per_record: int = 8
    """The bytes of the changelog's values."""


_CASES = (
    _Case("2 → 3", "ab", "c", 20_000),
    _Case("3 → 6", "abc", "def", 20_000),
    _Case("2 → 3, 1 GB", "ab", "c", 80_000, 1024),
)


def run_scale_out(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """Rows for each case and assignor; wrong: a dead stream thread, a record lost or processed twice.

    Takes a quarter of an hour, nearly all of it waiting for follow-ups of Kafka's default. `quick`: the first case without it.
    """
    wrong: list[str] = []
    rows: list[tuple[object, ...]] = []
    for case in _CASES[:1] if quick else _CASES:
        with open_groups("plugin-scale-out", with_default=not quick, test_bytes_per_count=case.bytes_per_record) as groups:
            played, faults = play_all(groups, partial(_join, case))
        rows += [(case.name, *row) for row in played]
        wrong += [f"{case.name}, {fault}" for fault in faults]
    rows += [(_CASES[0].name, *row) for row in simulate_both("broker-scale-out")]
    return [make_table(("instances", *HEAD), rows)], wrong


def _join(case: _Case, name: str, group: StreamsApplication) -> tuple[object, ...]:
    """Instances with all records restored, then others join: the row of what that took."""
    group.load.write(case.records, ["logged"])
    group.start(*case.before)
    await_rest(group)
    group.load.await_accounted()
    return count_changes(name, group, lambda: group.start(*case.joining))


_KILL_RECORDS = 20_000
"""Per partition of the logged subtopology; afterwards nothing is written."""


def run_kill(*, quick: bool = False) -> tuple[list[Table], list[str]]:
    """A row for each assignor, real and simulated; wrong: a dead stream thread, a record lost or processed twice.

    Takes ten minutes, nearly all of it waiting for follow-ups of Kafka's default. `quick`: without it.
    """
    with open_groups("plugin-kill", with_default=not quick) as groups:
        rows, wrong = play_all(groups, _play)
    return [make_table(HEAD, [*rows, *simulate_both("broker-kill")])], wrong


def _play(name: str, group: StreamsApplication) -> tuple[object, ...]:
    """Three instances at rest, with all records restored, and then two: the row of what that took."""
    group.load.write(_KILL_RECORDS, ["logged"])
    group.start("a", "b", "c")
    await_rest(group)
    group.load.await_accounted()
    killed = max(group.instances, key=lambda one: group.instances[one].process_id)
    return count_changes(name, group, lambda: group.kill(killed), gone=killed)
