"""The first minute of a simulated streams group: 30 members come within seconds, with and without state on their disks."""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.applications import AS_SHIPPED, Watching
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import OURS, STICKY, Observed, start_broker
from optassign_benchmarks.kafka.timeline import CopyEvent, measure
from optassign_benchmarks.results import Table, make_table

_TASKS = (SimulatedSubtopology("0", 60, logged=True), SimulatedSubtopology("1", 30, logged=False))
_PROCESSES = "abcdefghijklmno"
_APART = 0.3
"""Seconds between two starts."""
_RESTORING = Restoring(20_000, 5_000)
_DELAYS_MS = (0, 3_000, 10_000)
_LONGEST, _CALM = 120.0, 5.0
_HEAD = (
    "the group",
    "`streams.initial.rebalance.delay.ms`",
    "assignor",
    "actives that moved between processes",
    "copies restored",
    "last task runs after, s",
    "longest pause of a task after its start, s",
)
NEW, RESTARTED = "is new, its changelogs have records", "restarts as a whole, with state on its disks"


@dataclass(frozen=True)
class _Case:
    group: str
    delay_ms: int
    assignor: str


def run() -> tuple[list[Table], list[str]]:
    """Start all groups; returns the table, and what was not as it should be."""
    rows: list[tuple[object, ...]] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, start_broker(Path(folder) / "broker") as broker:
        _play(broker, Path(folder), _Case(NEW, _DELAYS_MS[-1], OURS), "first")  # the coordinator starts with the first group
        for group in (NEW, RESTARTED):
            for delay in _DELAYS_MS:
                cases = [_Case(group, delay, assignor) for assignor in (OURS, STICKY)]
                with ThreadPoolExecutor(len(cases)) as pool:
                    for case, found in zip(cases, pool.map(lambda case: _play(broker, Path(folder), case), cases), strict=True):
                        cells, faults = found
                        rows.append((group, delay, f"`{case.assignor}`", *cells))
                        wrong += [f"{group}, {delay} ms, {case.assignor}: {fault}" for fault in faults]
                        print(rows[-1], file=sys.stderr, flush=True)
    return [make_table(_HEAD, rows)], wrong


def _play(broker: Broker, folder: Path, case: _Case, name: str = "") -> tuple[tuple[object, ...], list[str]]:
    name = name or f"{'new' if case.group == NEW else 'again'}-{case.delay_ms}-{case.assignor}"
    group = Observed(broker, folder, name, _TASKS, _RESTORING, assignor=case.assignor, standbys=0, watched=False)
    members = group.members
    members.configure(streams_initial_rebalance_delay_ms=case.delay_ms)
    with ExitStack() as stack:
        stack.enter_context(members)
        if case.assignor == OURS:
            stack.enter_context(Watching(broker.address, name, folder, **AS_SHIPPED))
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
        cells, doubled = _to_cells(group, members.events()[len(known) :], since)
    return cells, faults + [f"tasks ran twice for {doubled} ms"] * (doubled > 0)


def _await_calm(group: Observed) -> None:
    """Wait until all is balanced and nothing has happened for a while, or the time is over."""
    start = time.monotonic()
    calm_since, seen = start, -1
    while time.monotonic() - start < _LONGEST:
        count = len(group.members.events())
        if count != seen:
            calm_since, seen = time.monotonic(), count
        if group.is_settled() and time.monotonic() - calm_since > _CALM:
            break
        time.sleep(0.1)


def _to_cells(group: Observed, events: list[CopyEvent], since: int) -> tuple[tuple[object, ...], int]:
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
    return (moves, restored, last, f"{max(0.0, later):.1f}"), figures.twice_ms
