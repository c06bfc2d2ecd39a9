"""The processes of one simulated streams group, all in one JVM: commands to them, and their reports."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from optassign_benchmarks.kafka.jars import streams_group_classpath
from optassign_benchmarks.kafka.processes import TIMEOUT, ChildProcess, await_condition, java_command
from optassign_benchmarks.kafka.timeline import CopyEvent

_MAIN = "io.github.optassign.members.MembersMain"


@dataclass(frozen=True)
class SimulatedSubtopology:
    """A subtopology with one source topic; `logged`: whether its tasks have changelogs."""

    id: str
    partitions: int
    logged: bool


@dataclass(frozen=True)
class Restoring:
    """The size of state, in offsets of each changelog, and the restore rate of a thread."""

    end_offset: int
    per_second: int
    appended_per_second: int = 0
    acceptable_lag: int = 1000
    sizes: int = 1
    """The changelog of partition p has 1 + p mod `sizes` times `end_offset`."""


class Members:
    """A simulated group; a context manager that ends it."""

    def __init__(
        self,
        address: str,
        group: str,
        folder: Path,
        subtopologies: Sequence[SimulatedSubtopology],
        restoring: Restoring,
        *,
        tags: Mapping[str, str] | None = None,
        reports_offsets: bool = True,
    ) -> None:
        self.group = group
        self.subtopologies = tuple(subtopologies)
        self.log = folder / f"{group}.log"
        self.copies: list[CopyEvent] = []
        self.reported: list[tuple[int, str, Mapping[str, int]]] = []
        """(time in ms, process, task → lag) of each report of offsets."""
        self.others: list[dict[str, Any]] = []
        """All other events: joined, fenced, died, ended, described."""
        self.now_ms = 0
        """The time of the last event, in milliseconds."""
        self._done = 0
        self._asked = itertools.count(1)
        self._lock = threading.Lock()
        command = java_command(_MAIN, [], heap_mb=256, temporary=folder / "tmp", jars=streams_group_classpath())
        self.process = ChildProcess(command, self.log, reader=self._read)
        self._send(
            {
                "bootstrap": address,
                "group": group,
                "subtopologies": [
                    {"id": each.id, "topics": [self._topic(each)], "logged": each.logged} for each in subtopologies
                ],
                "end_offset": restoring.end_offset,
                "sizes": restoring.sizes,
                "append_per_s": restoring.appended_per_second,
                "restore_per_s": restoring.per_second,
                "acceptable_lag": restoring.acceptable_lag,
                "reports_offsets": reports_offsets,
                "tags": dict(tags or {}),
            }
        )
        for each in subtopologies:
            self.execute("topics", names=[self._topic(each)], partitions=each.partitions)

    def execute(self, command: str, **arguments: object) -> None:
        """Send a command, and wait until it is executed. RuntimeError if the JVM ended."""
        number = next(self._asked)
        self._send({"command": command, **arguments})
        await_condition(
            f"{self.group}: {command}",
            lambda: self._done >= number or not self.process.alive,
            timeout=4 * TIMEOUT,
            logs=lambda: [self.log],
        )
        if not self.process.alive:
            raise RuntimeError(f"{self.group}: the members' JVM ended: {self.log.read_text(encoding='utf-8')[-3000:]}")

    def start(self, *processes: str, threads: int = 2) -> None:
        """Start processes, each with the disk of its last run."""
        for process in processes:
            self.execute("start", process=process, threads=threads)

    def configure(self, **configs: object) -> None:
        """Set configs of the group, with `_` for `.`; None removes one."""
        self.execute("configure", set={name.replace("_", "."): value for name, value in configs.items()})

    def describe(self) -> dict[str, Any]:
        """Return the coordinator's description of the group: state, epochs, members, and the group's configs."""
        self.execute("describe")
        with self._lock:
            return next(event for event in reversed(self.others) if event["event"] == "described")

    def events(self) -> list[CopyEvent]:
        """Return the events of copies so far, in order."""
        with self._lock:
            return list(self.copies)

    @property
    def deaths(self) -> list[str]:
        """Return a line for each process that an error ended."""
        with self._lock:
            return [
                f"{event['process']}: {event['error']} {event['message']}" for event in self.others if event["event"] == "died"
            ]

    @property
    def tasks(self) -> Mapping[str, bool]:
        """Return task → whether it has a changelog."""
        return {f"{each.id}_{p}": each.logged for each in self.subtopologies for p in range(each.partitions)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()

    def _topic(self, subtopology: SimulatedSubtopology) -> str:
        return f"{self.group}-{subtopology.id}-in"

    def _send(self, line: Mapping[str, object]) -> None:
        self.process.tell(json.dumps(line))

    def _read(self, line: str) -> None:
        """Store an event, a line of JSON, by its kind, and note its time."""
        event = json.loads(line)
        with self._lock:
            self.now_ms = event["at_ms"]
            match event["event"]:
                case "copy":
                    self.copies.append(
                        CopyEvent(
                            event["at_ms"], event["task"], event["process"], event["member"], event["role"], event["state"]
                        )
                    )
                case "reported":
                    self.reported.append((event["at_ms"], event["process"], event["lags"]))
                case "done":
                    self._done += 1
                case _:
                    self.others.append(event)
