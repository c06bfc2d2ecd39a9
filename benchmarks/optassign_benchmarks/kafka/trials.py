"""Groups that undergo the same faults of a cluster at the same time: simulated members, and real applications."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from optassign_benchmarks.kafka.applications import AS_SHIPPED, StreamsGroup, WatchProcess
from optassign_benchmarks.kafka.broker import Brokers
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import TIMEOUT, await_condition
from optassign_benchmarks.kafka.scenario import OURS, Observed
from optassign_benchmarks.kafka.timeline import measure, replay

FIRST, JOINING = "abc", "d"
"""Processes by their letters: the processes at the start, and the process that joins."""
_PRELOAD, _RATE = 20_000, 240
"""Records per partition of the input with a changelog, and records per second over all inputs."""
_TASKS = (SimulatedSubtopology("0", 24, logged=True), SimulatedSubtopology("1", 12, logged=False))
_RESTORING = Restoring(40_000, 10_000)
"""A thread restores a copy in four seconds."""


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of one fault for one group."""

    lost: int
    """Real: records that did not come out. Simulated: tasks that no process runs at the end."""
    doubled: int
    """Real: records lost, repeated or counted twice. Simulated: milliseconds in which a task ran twice."""
    died: int
    """Threads or processes that an error ended."""
    pause_s: float
    """Real: longest time without a result of a partition. Simulated: greatest total time of a task without a process."""
    moves: int
    """Number of moves of an active task from one process to another."""
    needless: int
    """Moves beyond the number that the balance needed."""
    settled_s: float | None
    """Seconds until all tasks ran, balanced, with their standbys; None if not within the time."""


class Trial(Protocol):
    """A group that a fault hits."""

    name: str
    assignor: str

    def begin(self) -> None:
        """Start measuring."""

    def join(self) -> None:
        """Start one more process."""

    def has_begun(self) -> bool:
        """Return whether the joining process has a task."""

    def is_settled(self) -> bool:
        """Read the tasks, and return whether the group has settled; under `sticky` whether every task runs once."""

    def conclude(self) -> TrialOutcome:
        """Return the outcome since `begin`."""

    def close(self) -> None:
        """End all processes."""


class _Owners:
    """The present owner of each task, and a count of moves."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        self.moves = 0

    def note(self, task: str, process: str) -> None:
        """Note a task's owner, and count a move if another process owned the task before."""
        self.moves += self.owners.get(task, process) != process
        self.owners[task] = process


class SimulatedTrial:
    """Simulated members, which report each state of each copy."""

    def __init__(self, reached: tuple[Brokers, Brokers], folder: Path, name: str, assignor: str) -> None:
        """Start the group, and wait until it has settled. `reached`: the cluster as members and as the watcher reach it."""
        brokers, watched = reached
        self.name, self.assignor = name, assignor
        self._group = Observed(brokers, folder, name, _TASKS, _RESTORING, assignor=assignor, standbys=1, watched=False)
        self._members = self._group.members
        self._stack = ExitStack()
        self._stack.enter_context(self._members)
        if assignor == OURS:
            self._stack.enter_context(WatchProcess(watched.address, name, folder, **AS_SHIPPED))
        self._members.execute("fill", on=True)
        self._group.start(FIRST)
        await_condition(f"{name} settled at first", self.is_settled, logs=lambda: [self._members.log, brokers.log])
        self._members.execute("fill", on=False)
        self._since = self._joined = 0

    def begin(self) -> None:
        """Start measuring."""
        self._members.describe()
        self._since = self._members.now_ms

    def join(self) -> None:
        """Start one more process."""
        self._joined = 1
        self._group.start(JOINING)

    def has_begun(self) -> bool:
        """Return whether the joining process has a task."""
        return any(event.process == JOINING for event in self._members.events())

    def is_settled(self) -> bool:
        """Return whether the group has settled, as `Trial` describes."""
        if self.assignor == OURS:
            return self._group.is_settled()
        running = replay(self._members.events()).running()
        return set(running) == set(self._members.tasks) and all(len(copies) == 1 for copies in running.values())

    def conclude(self) -> TrialOutcome:
        """Return the outcome since `begin`."""
        self._members.describe()
        events, tasks = self._members.events(), self._members.tasks
        figures = measure(events, self._since, self._members.now_ms, tasks, self._group.threads, 1)
        owners = _Owners()
        for event in events:
            if event.role == "active" and event.state == "running":
                if event.at_ms < self._since:
                    owners.owners[event.task] = event.process
                else:
                    owners.note(event.task, event.process)
        running = replay(events).running()
        needed = self._joined * len(tasks) // (len(FIRST) + 1)
        return TrialOutcome(
            len(set(tasks) - set(running)),
            figures.twice_ms,
            len(self._members.deaths),
            max([*figures.moved.values(), *figures.stayed.values()]),
            owners.moves,
            max(0, owners.moves - needed),
            figures.settled_s,
        )

    def close(self) -> None:
        """End all processes."""
        self._stack.close()


class RealTrial:
    """An application of Kafka Streams under load that checks each record."""

    def __init__(
        self, reached: tuple[Brokers, Brokers], folder: Path, name: str, assignor: str, *, latest: bool = True
    ) -> None:
        """Start the application, and wait until it has settled. `reached`: as in `SimulatedTrial`; `latest`: whether it uses
        Kafka Streams 4.4.0, otherwise 4.3.1."""
        brokers, watched = reached
        self.name, self.assignor = name, assignor
        self._stack = ExitStack()
        self._group = self._stack.enter_context(
            StreamsGroup(brokers, name, folder, assignor=assignor, standbys=1, latest=latest)
        )
        if assignor == OURS:
            self._stack.enter_context(WatchProcess(watched.address, name, folder, **AS_SHIPPED))
        self._group.load.write(_PRELOAD, kinds=["logged"])
        self._group.load.run(_RATE)
        self._group.start(*FIRST)
        self._owners = _Owners()
        self._joined = 0
        self._start = time.monotonic()
        self._settled: float | None = None
        """The time since which the group has been settled, or None."""
        await_condition(f"{name} settled at first", self.is_settled, timeout=2 * TIMEOUT, logs=self._group.logs)

    def begin(self) -> None:
        """Start measuring."""
        self._owners.moves = 0
        self._group.load.begin_pauses()
        self._start, self._settled = time.monotonic(), None

    def join(self) -> None:
        """Start one more process."""
        self._joined = 1
        self._group.start(JOINING)

    def has_begun(self) -> bool:
        """Return whether the joining process has a task."""
        status = self._group.instances[JOINING].status()
        return bool(status.active or status.standby)

    def is_settled(self) -> bool:
        """Return whether the group has settled, as `Trial` describes."""
        statuses = self._group.read_statuses()
        for process, status in statuses.items():
            for task in status.active:
                self._owners.note(task, process)
        if not self._group.is_settled(statuses):
            self._settled = None
        elif self._settled is None:
            self._settled = time.monotonic()
        active = Counter(task for status in statuses.values() for task in status.active)
        return self._settled is not None or (self.assignor != OURS and active == Counter(self._group.tasks))

    def conclude(self) -> TrialOutcome:
        """Return the outcome since `begin`."""
        pause = self._group.load.find_longest_pause()
        load = self._group.load
        with suppress(AssertionError):  # its findings are counted below
            load.await_accounted()
        needed = self._joined * len(self._group.tasks) // (len(FIRST) + 1)
        gone = [name for name, each in self._group.instances.items() if not each.process.alive]
        return TrialOutcome(
            max(0, load.written - load.read),
            len(load.faults),
            len(self._group.deaths) + len(gone),
            pause,
            self._owners.moves,
            max(0, self._owners.moves - needed),
            None if self._settled is None else self._settled - self._start,
        )

    def close(self) -> None:
        """End all processes."""
        self._stack.close()
