"""A change of a simulated group on a real broker, from the change until the group has settled."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker, Brokers
from optassign_benchmarks.kafka.jars import streams_group_classpath
from optassign_benchmarks.kafka.members import Members, Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import TIMEOUT, await_condition
from optassign_benchmarks.kafka.timeline import Figures, measure, replay

OURS, STICKY = "optassign", "sticky"
ASSIGNOR_CLASS = "io.github.optassign.broker.OptassignGroupAssignor"
TAG = "optassign"
"""The client tag of members, with the group's name as value. `trigger` also sets the tag as a rack tag, which has no effect."""
ASSIGNORS = "group.streams.assignors"
WARMUPS = "optassign.warmups"
BROKER_PROPERTIES: Mapping[str, object] = {
    ASSIGNORS: f"{ASSIGNOR_CLASS},{STICKY}",
    "group.streams.heartbeat.interval.ms": 1000,
    "group.streams.min.heartbeat.interval.ms": 1000,
    "group.streams.session.timeout.ms": 6000,
    "group.streams.min.session.timeout.ms": 6000,
    "group.streams.initial.rebalance.delay.ms": 1000,
    "group.streams.task.offset.interval.ms": 15_000,
    "group.streams.min.task.offset.interval.ms": 1000,
    "group.streams.acceptable.recovery.lag": 1000,
    WARMUPS: "true",
}
_TRIGGER_PAUSE = 2.0
_AFTERWARDS = 3.0
"""Seconds of observation after the group has settled."""


def start_broker(folder: Path, *, listeners: Mapping[str, tuple[str, int]] | None = None, **properties: object) -> Broker:
    """Start a broker of 4.4.0 with optassign's assignor in addition to its own. `properties`: of the broker, with `_` for `.`.

    `listeners`: names to protocols and ports, in addition to the plaintext listener.
    """
    more = {name.replace("_", "."): value for name, value in properties.items()}
    return Broker(folder, jars=streams_group_classpath(), properties={**BROKER_PROPERTIES, **more}, listeners=listeners)


@dataclass(frozen=True)
class GroupChange:
    """A change of a stable group: its members before, and the action."""

    name: str
    before: str
    """Processes, by their letters."""
    joins: str = ""
    leaves: str = ""
    killed: str = ""
    returns: str = ""
    """Killed members that restart with their disks as soon as the coordinator has noticed their loss."""

    @property
    def after(self) -> str:
        """Return the processes that run at the end."""
        gone = set(self.leaves + self.killed) - set(self.returns)
        return "".join(sorted(set(self.before + self.joins) - gone))


class Observed:
    """A simulated group with an assignor. If `watched`, `is_settled` also triggers an assignment when warm-ups are done."""

    def __init__(
        self,
        broker: Brokers,
        folder: Path,
        group: str,
        subtopologies: tuple[SimulatedSubtopology, ...],
        restoring: Restoring,
        *,
        assignor: str,
        standbys: int,
        watched: bool = True,
        threads: int = 2,
        interval_ms: int = 0,
        reports_offsets: bool = True,
    ) -> None:
        self.members = Members(
            broker.address, group, folder, subtopologies, restoring, tags={TAG: group}, reports_offsets=reports_offsets
        )
        self.members.configure(
            streams_assignor_name=assignor,
            streams_num_standby_replicas=standbys,
            streams_assignment_interval_ms=interval_ms,
        )
        self.standbys = standbys
        self.threads: dict[str, int] = {}
        self.triggers = 0
        self._per_process = threads
        self._watched = watched
        self._acceptable = restoring.acceptable_lag
        self._seen = 0
        self._last_trigger = 0.0
        self._is_tagged = False

    def start(self, processes: str) -> None:
        """Start processes, by their letters."""
        for process in processes:
            self.threads[process] = self._per_process
            self.members.start(process, threads=self._per_process)

    def end(self, how: str, processes: str) -> None:
        """End processes, by their letters. `how`: `leave` or `kill`."""
        for process in processes:
            del self.threads[process]
            self.members.execute(how, process=process)

    def is_settled(self) -> bool:
        """Return whether every task runs, balanced, with all standbys ready. If `watched`, also trigger a due assignment."""
        if replay(self.members.events()).is_settled(self.members.tasks, self.threads, self.standbys):
            return True
        if self._watched:
            self._trigger_if_due()
        return False

    def trigger(self) -> None:
        """Let the coordinator call the assignor once, by a change of the group's configs without other effects."""
        self._is_tagged = not self._is_tagged
        self.members.configure(streams_rack_aware_assignment_tags=TAG if self._is_tagged else None)
        self.triggers += 1
        self._last_trigger = time.monotonic()

    def _trigger_if_due(self) -> None:
        """Trigger an assignment if the coordinator has received reports of copies that have caught up since the last
        trigger."""
        reported = self.members.reported
        new = reported[self._seen :]
        ready = replay(self.members.events()).ready()
        is_due = any(
            lag <= self._acceptable and process in ready.get(task, set())
            for _, process, lags in new
            for task, lag in lags.items()
        )
        if is_due and time.monotonic() - self._last_trigger > _TRIGGER_PAUSE:
            self._seen += len(new)
            self.trigger()


def play(group: Observed, change: GroupChange, longest: float, first: bool = True) -> Figures:
    """Play a change until the group has settled or `longest` seconds have passed, and return its figures. `first`: whether to
    start the group before, and wait until it has settled."""
    if first:
        group.members.execute("fill", on=True)
        group.start(change.before)
        await_condition(
            f"{group.members.group} settled at first",
            group.is_settled,
            timeout=4 * TIMEOUT,
            found=lambda: _describe_group(group),
        )
    group.members.execute("fill", on=False)
    group.members.describe()
    since = group.members.now_ms
    if change.killed:
        group.end("kill", change.killed)
    if change.leaves:
        group.end("leave", change.leaves)
    if change.returns:
        await_condition("missed", lambda: len(group.members.describe()["members"]) == sum(group.threads.values()))
        group.start(change.returns)
    if change.joins:
        group.start(change.joins)
    start = time.monotonic()
    calm_since: float | None = None
    while time.monotonic() - start < longest:
        now = time.monotonic()
        calm_since = (calm_since or now) if group.is_settled() else None
        if calm_since and now - calm_since > _AFTERWARDS:
            break
        time.sleep(0.1)
    group.members.describe()
    return measure(group.members.events(), since, group.members.now_ms, group.members.tasks, group.threads, group.standbys)


def _describe_group(group: Observed) -> object:
    return group.members.deaths, group.members.describe(), replay(group.members.events()).running()
