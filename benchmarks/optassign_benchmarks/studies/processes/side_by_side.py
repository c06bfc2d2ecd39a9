"""The plug-in and Kafka's default assignor side by side on a real broker, at the same time, and in the simulator."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

__all__ = ["await_rest"]

_LONGEST = 3600.0
"""Seconds; follow-ups of Kafka's default are a minute apart, the least that Kafka allows."""
_CONFIGS: Mapping[str, object] = {
    "acceptable_recovery_lag": 1000,
    "max_warmup_replicas": 2,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
}
_SIMULATED = {"simulated: plug-in": "cp-sat", "simulated: Kafka's default": "high-availability"}


@contextmanager
def open_groups(prefix: str, *, with_default: bool = True, **configs: object) -> Iterator[dict[str, StreamsApplication]]:
    """Yield name of the row → group, for groups on one broker, with a service for the plug-in and without started instances.

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


Cells = Mapping[str, object]


def play_all(
    groups: Mapping[str, StreamsApplication], play: Callable[[StreamsApplication], Cells], where: Cells
) -> list[PlayedRow]:
    """Return the rows of all groups, played at the same time; faults are dead stream threads, and lost or repeated records."""
    with ThreadPoolExecutor(len(groups)) as pool:
        played = dict(zip(groups, pool.map(play, groups.values()), strict=True))
    rows = []
    for name, group in groups.items():
        place = ", ".join(map(str, (*where.values(), name)))
        faults = tuple(f"{place}: {fault}" for fault in (*group.deaths, *group.load.faults))
        rows.append(PlayedRow({**where, "assignor": name, **played[name]}, faults))
    return rows


def await_rest(group: StreamsApplication) -> Mapping[str, frozenset[str]]:
    """Wait until the assignor asks for no follow-up and all state is restored; return instance → active tasks."""

    def at_rest() -> bool:
        group.await_complete()
        return group.at_rest

    await_condition("at rest", at_rest, timeout=_LONGEST, logs=group.logs)
    group.await_caught_up()
    return group.await_complete().active


def count_changes(group: StreamsApplication, change: Callable[[], object], gone: str = "") -> Cells:
    """Return the row of the rebalances from a change until the group is stable again.

    gone: the instance that the change ends; the reassignment of its tasks does not count as moves.
    """
    generation, restored, start = group.generation, group.count_restored(), time.monotonic()
    change()
    group.await_complete(after=generation)
    active = await_rest(group)
    seconds = time.monotonic() - start
    moves = {task: sum(one != gone for one, _ in pairwise(owners)) for task, owners in group.owners().items()}
    return {
        "rebalances": group.generation - generation,
        "active tasks moved": sum(moves.values()),
        "of them logged": sum(times for task, times in moves.items() if task.startswith("0_")),
        "records restored": group.count_restored() - restored,
        "seconds until at rest and restored": round(seconds),
        "active tasks at the end": " / ".join(str(len(tasks)) for tasks in active.values()),
    }


def simulate_both(scenario_name: str) -> Iterator[Mapping[str, object]]:
    """Yield the rows of the simulated counterpart, counted from the first event of the scenario."""
    scenario = read_scenario(scenario_name)
    for name, assignor in _SIMULATED.items():
        played = simulate(scenario, assignor)
        clients = next(event["clients"] for event in reversed(played.events) if event["event"] == "rebalance")
        yield {
            "assignor": name,
            "rebalances": played.felt.rebalances,
            "active tasks moved": played.felt.moves,
            "of them logged": played.felt.moves_logged,
            "records restored": round(played.felt.restored),
            "seconds until at rest and restored": round(played.felt.last_change_at - scenario.events[0].at),
            "active tasks at the end": " / ".join(str(len(roles.get("active", ()))) for _, roles in sorted(clients.items())),
        }


@dataclass(frozen=True)
class _ScaleOut:
    """The numbers of instances before and joining, and the state before; afterwards no records are written."""

    name: str
    before: str
    joining: str
    records: int
    """Per partition of the logged subtopology."""
    bytes_per_record: int = 8
    """The bytes of the changelog's values."""


_SCALE_OUTS = (
    _ScaleOut("2 → 3", "ab", "c", 20_000),
    _ScaleOut("3 → 6", "abc", "def", 20_000),
    _ScaleOut("2 → 3, 1 GB", "ab", "c", 80_000, 1024),
)


def _scale_out(with_default: bool, case: _ScaleOut | None) -> Iterator[PlayedRow]:
    if case is None:
        yield from (PlayedRow({"instances": _SCALE_OUTS[0].name, **cells}) for cells in simulate_both("broker-scale-out"))
        return
    with open_groups("plugin-scale-out", with_default=with_default, test_bytes_per_count=case.bytes_per_record) as groups:
        yield from play_all(groups, partial(_join, case), {"instances": case.name})


SCALE_OUT = PlayedStudy(
    cases=lambda quick: (*_SCALE_OUTS[: 1 if quick else None], None),
    play=_scale_out,
    open=lambda quick: nullcontext(not quick),
)
"""A quarter of an hour, nearly all of it waiting for follow-ups of Kafka's default, which a quick run leaves out."""


def _join(case: _ScaleOut, group: StreamsApplication) -> Cells:
    """Return the row of a scale-out: instances with all records restored, which others then join."""
    group.load.write(case.records, ["logged"])
    group.start(*case.before)
    await_rest(group)
    group.load.await_accounted()
    return count_changes(group, lambda: group.start(*case.joining))


_KILL_RECORDS = 20_000
"""Per partition of the logged subtopology; afterwards no records are written."""


def _kill(with_default: bool, is_simulated: bool) -> Iterator[PlayedRow]:
    if is_simulated:
        yield from map(PlayedRow, simulate_both("broker-kill"))
        return
    with open_groups("plugin-kill", with_default=with_default) as groups:
        yield from play_all(groups, _kill_one, {})


KILL = PlayedStudy(
    cases=lambda quick: (False, True),
    play=_kill,
    open=lambda quick: nullcontext(not quick),
)
"""Ten minutes, nearly all of it waiting for follow-ups of Kafka's default, which a quick run leaves out."""


def _kill_one(group: StreamsApplication) -> Cells:
    """Return the row of a kill: one of three stable instances with all records restored."""
    group.load.write(_KILL_RECORDS, ["logged"])
    group.start("a", "b", "c")
    await_rest(group)
    group.load.await_accounted()
    killed = max(group.instances, key=lambda one: group.instances[one].process_id)
    return count_changes(group, lambda: group.kill(killed), gone=killed)


_RESTARTS_RECORDS = 2_000
"""Per partition of the logged subtopology; afterwards no records are written."""
_NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class _Way:
    """The way in which instances restart."""

    label: str
    session_ms: int
    is_static: bool
    is_awaited: bool
    """Whether the instance restarts only after the others have taken over its tasks."""
    leaves: bool = False


_WAYS = (
    _Way("static, back within the session time-out of 60 s", 60_000, is_static=True, is_awaited=False),
    _Way("static, away beyond the session time-out of 20 s", 20_000, is_static=True, is_awaited=True),
    _Way("dynamic, leaves the group", 60_000, is_static=False, is_awaited=True, leaves=True),
)


def _restart_both(with_default: bool, way: _Way) -> Iterator[PlayedRow]:
    """Yield the rows of one way; needless moves under the plug-in are faults as well."""
    settings = {"main_consumer_session_timeout_ms": way.session_ms, "acceptable_recovery_lag": 100}
    with open_groups("rolling-restarts", with_default=with_default, **settings) as groups:
        for row in play_all(groups, partial(_restart_all, way), {"members": way.label}):
            needless = "plug-in" in str(row.cells["assignor"]) and row.cells["of them needless"]
            wrong = (f"{way.label}, {row.cells['assignor']}: {needless} needless moves",) if needless else ()
            yield replace(row, faults=row.faults + wrong)


ROLLING_RESTARTS = PlayedStudy(
    cases=lambda quick: _WAYS,
    play=_restart_both,
    open=lambda quick: nullcontext(not quick),
    at_once=len(_WAYS),
)
"""A quarter of an hour, nearly all of it waiting for follow-ups of Kafka's default, which a quick run leaves out."""


def _restart_all(way: _Way, group: StreamsApplication) -> Cells:
    """Return the row of a rolling restart of three stable instances."""
    group.load.write(_RESTARTS_RECORDS, ["logged"])
    for instance in _NAMES:
        _start(group, instance, way)
    await_rest(group)
    group.load.await_accounted()
    generation, restored, begun = group.generation, group.count_restored(), time.monotonic()
    moves = needless = 0
    for instance in _NAMES:
        before = group.generation
        if way.leaves:
            group.leave(instance)
        else:
            group.stop(instance)
        if way.is_awaited:
            group.await_complete(after=before)
        away = _list_moves(group)
        _start(group, instance, way)
        await_rest(group)
        back = _list_moves(group)
        moves += len(away) + len(back)
        # Tasks of an absent instance move to others, and as many return; all other moves are needless.
        needless += sum(one != instance for one, _ in away) + sum(other != instance for _, other in back)
        needless += max(0, len(back) - len(away))
    sizes = " / ".join(str(len(tasks)) for tasks in group.await_complete().active.values())
    seconds = round(time.monotonic() - begun)
    return {
        "rebalances": group.generation - generation,
        "active tasks moved": moves,
        "of them needless": needless,
        "records restored": group.count_restored() - restored,
        "seconds until at rest and restored": seconds,
        "active tasks at the end": sizes,
    }


def _start(group: StreamsApplication, name: str, way: _Way) -> None:
    group.configure(group_instance_id=f"{group.application}-{name}" if way.is_static else None)
    group.start(name)


def _list_moves(group: StreamsApplication) -> list[tuple[str, str]]:
    """Return (from, to) of each move of an active task since an instance was started or ended."""
    return [pair for owners in group.owners().values() for pair in pairwise(owners)]
