"""Two real groups side by side, under the plug-in and under Kafka's default assignor, and both as the simulator has them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

__all__ = ["HEAD", "await_rest", "count_changes", "open_groups", "play_all", "simulate_both"]

_LONGEST = 3600.0
"""Seconds; follow-ups of Kafka's default come a minute apart, the least that Kafka allows."""
_CONFIGS: Mapping[str, object] = {
    "acceptable_recovery_lag": 1000,
    "max_warmup_replicas": 2,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
}
HEAD = (
    "assignor",
    "rebalances",
    "active tasks moved",
    "of them logged",
    "records restored",
    "seconds until at rest and restored",
    "active tasks at the end",
)
"""The columns of the rows from `count_changes` and `simulate_both`."""
_SIMULATED = {"simulated: plug-in": "cp-sat", "simulated: Kafka's default": "high-availability"}


@contextmanager
def open_groups(prefix: str, *, with_default: bool = True, **configs: object) -> Iterator[dict[str, StreamsApplication]]:
    """Open groups on one broker by the names of their rows, with a service for the plug-in; no instance has started yet.

    configs: properties in addition to the common ones of all studies, with `_` for `.`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{prefix}-")))
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(ServiceProcess(folder / "service"))
        properties = {**_CONFIGS, **configs}
        groups = {
            "optassign, the plug-in": StreamsApplication(broker, "plugin", folder, optassign_url=service.url, **properties)
        }
        if with_default:
            groups["Kafka's default"] = StreamsApplication(broker, "default", folder, task_assignor_class=None, **properties)
        for group in groups.values():
            stack.enter_context(group)
        yield groups


def play_all(
    groups: Mapping[str, StreamsApplication], play: Callable[[str, StreamsApplication], tuple[object, ...]]
) -> tuple[list[tuple[object, ...]], list[str]]:
    """The rows of all groups, played at the same time; and what is wrong: dead stream threads, records lost or repeated."""
    with ThreadPoolExecutor(len(groups)) as pool:
        rows = list(pool.map(play, groups, groups.values()))
    return rows, [f"{name}: {fault}" for name, group in groups.items() for fault in (*group.deaths, *group.load.faults)]


def await_rest(group: StreamsApplication) -> Mapping[str, frozenset[str]]:
    """Wait until the assignor asks for no further rebalance and all state is there; who has which active tasks then."""

    def at_rest() -> bool:
        group.await_complete()
        return group.at_rest

    await_condition("at rest", at_rest, timeout=_LONGEST, logs=group.logs)
    group.await_caught_up()
    return group.await_complete().active


def count_changes(name: str, group: StreamsApplication, change: Callable[[], object], gone: str = "") -> tuple[object, ...]:
    """The row of what follows a change until the group rests again.

    gone: the instance that the change ends; its tasks go elsewhere without having moved.
    """
    generation, restored, start = group.generation, group.count_restored(), time.monotonic()
    change()
    group.await_complete(after=generation)
    active = await_rest(group)
    seconds = time.monotonic() - start
    moves = {task: sum(one != gone for one, _ in pairwise(owners)) for task, owners in group.owners().items()}
    return (
        name,
        group.generation - generation,
        sum(moves.values()),
        sum(times for task, times in moves.items() if task.startswith("0_")),
        group.count_restored() - restored,
        round(seconds),
        " / ".join(str(len(tasks)) for tasks in active.values()),
    )


def simulate_both(scenario_name: str) -> Iterator[tuple[object, ...]]:
    """The rows of the same, simulated: from the first event of the scenario on."""
    scenario = read_scenario(scenario_name)
    for name, assignor in _SIMULATED.items():
        played = simulate(scenario, assignor)
        clients = next(event["clients"] for event in reversed(played.events) if event["event"] == "rebalance")
        yield (
            name,
            played.felt.rebalances,
            played.felt.moves,
            played.felt.moves_logged,
            round(played.felt.restored),
            round(played.felt.last_change_at - scenario.events[0].at),
            " / ".join(str(len(roles.get("active", ()))) for _, roles in sorted(clients.items())),
        )
