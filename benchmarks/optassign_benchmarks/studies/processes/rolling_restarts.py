"""Rolling restarts under the plug-in and under Kafka's default, at the same time on one real broker."""

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

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

__all__ = ["await_rest"]

_LONGEST = 3600.0
"""Seconds to wait for a stable group; follow-ups of Kafka's default are a minute apart, the least that Kafka allows."""
_CONFIGS: Mapping[str, object] = {
    "acceptable_recovery_lag": 1000,
    "max_warmup_replicas": 2,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
}


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


_RESTARTS_RECORDS = 2_000
"""Records per partition of the logged subtopology, written before the instances start; no others follow."""
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
