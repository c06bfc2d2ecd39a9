"""The first minute of a simulated streams group: 30 members start within seconds, with and without state on their disks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from optassign_benchmarks.kafka.applications import AS_SHIPPED, WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import OURS, STICKY, Observed, start_broker
from optassign_benchmarks.kafka.timeline import CopyEvent, measure
from optassign_benchmarks.runner import PlayedRow, PlayedStudy

_TASKS = (SimulatedSubtopology("0", 60, logged=True), SimulatedSubtopology("1", 30, logged=False))
_PROCESSES = "abcdefghijklmno"
_APART = 0.3
"""Seconds between two starts."""
_RESTORING = Restoring(20_000, 5_000)
_DELAYS_MS = (0, 3_000, 10_000)
_LONGEST, _CALM = 120.0, 5.0
NEW, RESTARTED = "is new, its changelogs have records", "restarts as a whole, with state on its disks"


@dataclass(frozen=True)
class _Case:
    group: str
    delay_ms: int
    assignor: str


@contextmanager
def _open(quick: bool) -> Iterator[tuple[Broker, Path]]:
    """Yield a broker that has played a first group, and a folder."""
    with tempfile.TemporaryDirectory() as folder, start_broker(Path(folder) / "broker") as broker:
        # The coordinator starts with the first group.
        _play(broker, Path(folder), _Case(NEW, _DELAYS_MS[-1], OURS), "first")
        yield broker, Path(folder)


def _play_both(opened: tuple[Broker, Path], case: tuple[str, int]) -> Iterator[PlayedRow]:
    cases = [_Case(*case, assignor) for assignor in (OURS, STICKY)]
    with ThreadPoolExecutor(len(cases)) as pool:
        yield from pool.map(lambda each: _play(*opened, each), cases)


def _play(broker: Broker, folder: Path, case: _Case, name: str = "") -> PlayedRow:
    name = name or f"{'new' if case.group == NEW else 'again'}-{case.delay_ms}-{case.assignor}"
    group = Observed(broker, folder, name, _TASKS, _RESTORING, assignor=case.assignor, standbys=0, watched=False)
    members = group.members
    members.configure(streams_initial_rebalance_delay_ms=case.delay_ms)
    with ExitStack() as stack:
        stack.enter_context(members)
        if case.assignor == OURS:
            stack.enter_context(WatchProcess(broker.address, name, folder, **AS_SHIPPED))
        if case.group == RESTARTED:
            members.execute("fill", on=True)
            group.start(_PROCESSES)
            _await_calm(group)
            members.execute("fill", on=False)
            group.end("leave", _PROCESSES)
            await_condition("empty", lambda: not members.describe()["members"])
        known = members.events()
        since = members.now_ms
        for process in _PROCESSES:
            group.start(process)
            time.sleep(_APART)
        _await_calm(group)
        faults = list(members.deaths)
        measured, doubled = _measure(group, members.events()[len(known) :], since)
    faults += [f"tasks ran twice for {doubled} ms"] * (doubled > 0)
    where = f"{case.group}, {case.delay_ms} ms, {case.assignor}"
    cells = {
        "the group": case.group,
        "`streams.initial.rebalance.delay.ms`": case.delay_ms,
        "assignor": f"`{case.assignor}`",
        **measured,
    }
    return PlayedRow(cells, tuple(f"{where}: {fault}" for fault in faults))


def _await_calm(group: Observed) -> None:
    """Wait until the group is balanced and no event has happened for some time, or the time is over."""
    start = time.monotonic()
    calm_since, seen = start, -1
    while time.monotonic() - start < _LONGEST:
        count = len(group.members.events())
        if count != seen:
            calm_since, seen = time.monotonic(), count
        if group.is_settled() and time.monotonic() - calm_since > _CALM:
            break
        time.sleep(0.1)


def _measure(group: Observed, events: list[CopyEvent], since: int) -> tuple[Mapping[str, object], int]:
    """Return the measures of a start, and the milliseconds in which a task ran twice."""
    members = group.members
    figures = measure(events, since, members.now_ms, members.tasks, group.threads, 0)
    owner: dict[str, str] = {}
    ran: dict[str, int] = {}
    moves = restored = 0
    for event in events:
        restored += event.state == "restoring"
        if event.role == "active" and event.state == "running":
            moves += owner.get(event.task, event.process) != event.process
            owner[event.task] = event.process
            ran.setdefault(event.task, event.at_ms)
    down = {**figures.moved, **figures.stayed}
    first = {task: (at - since) / 1000 for task, at in ran.items()}
    later = max((down[task] - first[task] for task in first), default=0.0)
    last = f"{max(first.values()):.1f}" if len(first) == len(members.tasks) else "–"
    cells = {
        "actives that moved between processes": moves,
        "copies restored": restored,
        "last task runs after, s": last,
        "longest pause of a task after its start, s": f"{max(0.0, later):.1f}",
    }
    return cells, figures.twice_ms


GROUP_START = PlayedStudy(
    cases=lambda quick: product((NEW, RESTARTED), _DELAYS_MS[: 1 if quick else None]),
    play=_play_both,
    open=_open,
)
