"""Instances join on a real broker: the plug-in and Kafka's default assignor, side by side at the same time.

Then the first case by the simulator (scenario `broker-scale-out`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from optassign.benchmarks.kafka.broker import Broker
from optassign.benchmarks.kafka.group import Group
from optassign.benchmarks.kafka.service import Service
from optassign.benchmarks.kafka.waiting import await_condition
from optassign.benchmarks.tables import to_markdown
from optassign.simulation.timed.reading import read_scenario
from optassign.simulation.timed.simulator import simulate


@dataclass(frozen=True)
class _Case:
    """How many instances there are, how many join them, and what state there is before; afterwards nothing is written."""

    name: str
    before: str
    joining: str
    records: int
    """Per partition of the logged subtopology."""
    bytes_per_record: int = 8
    """Of the changelog's values."""


_CASES = (
    _Case("2 → 3", "ab", "c", 20_000),
    _Case("3 → 6", "abc", "def", 20_000),
    _Case("2 → 3, 1 GB", "ab", "c", 80_000, 1024),
)
_LONGEST = 3600.0
"""Seconds; follow-ups come a minute apart, the least that Kafka allows."""
_CONFIGS: Mapping[str, object] = {
    "acceptable_recovery_lag": 1000,
    "max_warmup_replicas": 2,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
}
_HEAD = (
    "instances",
    "assignor",
    "rebalances",
    "active tasks moved",
    "of them logged",
    "records restored",
    "seconds until at rest and restored",
    "active tasks at the end",
)


def run(*, quick: bool = False) -> tuple[str, list[str]]:
    """Rows for each case and assignor; wrong: a dead stream thread, a record lost or processed twice.

    Takes a quarter of an hour, nearly all of it waiting for follow-ups of Kafka's default. `quick`: the first case without it.
    """
    wrong: list[str] = []
    rows: list[tuple[object, ...]] = []
    for case in _CASES[:1] if quick else _CASES:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plugin-scale-out-")))
            broker = stack.enter_context(Broker(folder / "broker"))
            service = stack.enter_context(Service(folder / "service"))
            configs = {**_CONFIGS, "test_bytes_per_count": case.bytes_per_record}
            groups = {"optassign, the plug-in": Group(broker, "plugin", folder, optassign_url=service.url, **configs)}
            if not quick:
                groups["Kafka's default"] = Group(broker, "default", folder, task_assignor_class=None, **configs)
            for group in groups.values():
                stack.enter_context(group)
            with ThreadPoolExecutor(len(groups)) as pool:
                rows += pool.map(_play, repeat(case), groups, groups.values())
            for name, group in groups.items():
                wrong += [f"{case.name}, {name}: {fault}" for fault in (*group.deaths, *group.load.faults)]
    rows += [_simulate(name, assignor) for name, assignor in (("plug-in", "cp-sat"), ("Kafka's default", "high-availability"))]
    return to_markdown(_HEAD, rows), wrong


def _play(case: _Case, name: str, group: Group) -> tuple[object, ...]:
    """Instances with all records restored, then others join: the row of what that took."""
    group.load.write(case.records, ["logged"])
    group.start(*case.before)
    _await_rest(group)
    group.load.await_accounted()
    generation, restored, start = group.generation, group.count_restored(), time.monotonic()
    group.start(*case.joining)
    group.await_complete(after=generation)
    active = _await_rest(group)
    seconds = time.monotonic() - start
    moves = {task: len(owners) - 1 for task, owners in group.owners().items()}
    return (
        case.name,
        name,
        group.generation - generation,
        sum(moves.values()),
        sum(times for task, times in moves.items() if task.startswith("0_")),
        group.count_restored() - restored,
        round(seconds),
        " / ".join(str(len(tasks)) for tasks in active.values()),
    )


def _simulate(name: str, assignor: str) -> tuple[object, ...]:
    """The row of the same, simulated."""
    scenario = read_scenario("broker-scale-out")
    played = simulate(scenario, assignor)
    clients = next(event["clients"] for event in reversed(played.events) if event["event"] == "rebalance")
    return (
        _CASES[0].name,
        f"simulated: {name}",
        played.felt.rebalances,
        played.felt.moves,
        played.felt.moves_logged,
        round(played.felt.restored),
        round(played.felt.last_change_at - scenario.events[0].at),
        " / ".join(str(len(roles.get("active", ()))) for _, roles in sorted(clients.items())),
    )


def _await_rest(group: Group) -> Mapping[str, frozenset[str]]:
    """Wait until the assignor asks for no further rebalance and all state is there; who has which active tasks then."""

    def at_rest() -> bool:
        group.await_complete()
        return group.at_rest

    await_condition("at rest", at_rest, timeout=_LONGEST, logs=group.logs)
    group.await_caught_up()
    return group.await_complete().active
