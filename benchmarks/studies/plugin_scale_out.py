"""A third instance joins two, on a real broker: the plug-in and Kafka's default assignor, side by side at the same time.

Then the same by the simulator (scenario `broker-scale-out`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from optassign.benchmarks.kafka.broker import Broker
from optassign.benchmarks.kafka.group import Group
from optassign.benchmarks.kafka.service import Service
from optassign.benchmarks.kafka.waiting import await_condition
from optassign.benchmarks.tables import to_markdown
from optassign.simulation.timed.reading import read_scenario
from optassign.simulation.timed.simulator import simulate

_RECORDS = 20_000
"""Per partition of the logged subtopology, before the third instance comes; afterwards nothing is written."""
_LONGEST = 3600.0
"""Seconds; follow-ups come a minute apart, the least that Kafka allows."""
_CONFIGS: Mapping[str, object] = {
    "acceptable_recovery_lag": 1000,
    "max_warmup_replicas": 2,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
}
_HEAD = (
    "assignor",
    "rebalances",
    "active tasks moved",
    "of them logged",
    "records restored",
    "seconds until at rest and restored",
    "active tasks at the end",
)


def run(*, quick: bool = False) -> tuple[str, list[str]]:
    """A row for each assignor; wrong: a dead stream thread. Takes some minutes, nearly all of them waiting for follow-ups.

    `quick`: without Kafka's default, which is what takes minutes.
    """
    wrong: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plugin-scale-out-")))
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(Service(folder / "service"))
        groups = {
            "optassign, the plug-in": Group(broker, "plugin", folder, optassign_url=service.url, **_CONFIGS),
        }
        if not quick:
            groups["Kafka's default"] = Group(broker, "default", folder, task_assignor_class=None, **_CONFIGS)
        for group in groups.values():
            stack.enter_context(group)
        with ThreadPoolExecutor(len(groups)) as pool:
            rows = list(pool.map(_play, groups, groups.values()))
        for name, group in groups.items():
            wrong += [f"{name}: {death}" for death in group.deaths]
    rows += [_simulate(name, assignor) for name, assignor in (("plug-in", "cp-sat"), ("Kafka's default", "high-availability"))]
    return to_markdown(_HEAD, rows), wrong


def _play(name: str, group: Group) -> tuple[object, ...]:
    """Two instances with all records restored, then a third one: the row of what that took."""
    group.load.write(_RECORDS, ["logged"])
    group.start("a", "b")
    _await_rest(group)
    group.load.await_accounted()
    generation, restored, start = group.generation, group.count_restored(), time.monotonic()
    group.start("c")
    group.await_complete(after=generation)
    active = _await_rest(group)
    seconds = time.monotonic() - start
    moves = {task: len(owners) - 1 for task, owners in group.owners().items()}
    return (
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
