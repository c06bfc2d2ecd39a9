"""A process of the test application: start, commands, reports and logs."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from optassign_benchmarks.kafka.jars import classpath_without_plugin
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, java_command

_MAIN = "io.github.optassign.testapp.TestApplication"
_LOGGED = re.compile(
    r"(?:optassign: application=\S+ fallback: (?P<why>.*); answered by rules)"
    r"|(?:optassign: .*answered_by=(?P<assignor>[\w.-]+)(?:.* waits_for=(?P<awaited>\w+))?)"
    r"|(?:Finished (?P<unstable>un)?stable assignment of tasks)"
    r"|(?:Finished assignment for group at generation (?P<generation>\d+))"
)
"""The log lines of a rebalance's leader, in this order: of the plug-in, of Kafka Streams, of the consumer."""
_DATED = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)
"""JVM options that put the time at the beginning of each log line."""
_AT_REST = "service"
"""The value of `waits_for` for a stable group's follow-up that only lets the service take over. The group still counts as
stable."""
_ORDER = itertools.count()


class Status(BaseModel, frozen=True):
    """An instance's answer to the command `status`."""

    state: str = "CREATED"
    threads: tuple[str, ...] = ()
    """The states of its stream threads."""
    active: tuple[str, ...] = ()
    """Ids of active tasks."""
    standby: tuple[str, ...] = ()
    """Ids of standby tasks, warm-ups included: to Kafka they are standbys."""
    lags: Mapping[str, int] = {}
    """Store/partition → offsets still to read, for every copy of the instance."""
    restored_active: int = 0
    """Records that active tasks have read from changelogs before they ran, since the process started."""
    restored_standby: int = 0
    """Records that standbys and warm-ups have read; they continue to follow their changelogs."""
    time_to_target_ms: int = -1
    """Milliseconds until the target assignment is reached, as this plug-in expects; -1 if unknown, or if it does not lead the
    group."""


@dataclass(frozen=True)
class AssignedTasks:
    """The active tasks of one consumer, from a generation of the group on."""

    order: int
    """The position among the events of all instances."""
    consumer: str
    generation: int
    active: tuple[str, ...]


@dataclass(frozen=True, order=True)
class LedRebalance:
    """A rebalance whose assignment a process computed as the group's leader."""

    generation: int
    stable: bool
    """Whether no further rebalance is needed, neither at once nor as a follow-up."""
    assignor: str
    """The author of the answer in the plug-in's log: an assignor of the service, `planner`, `fallback`, or in shadow mode the
    group's assignor. Empty without the plug-in."""
    why: str = ""
    """Why the fallback answered; empty if it did not."""


class RunningInstance:
    """A running process. Its folder stays when it ends, so that a new process in it is a restart of the same client."""

    def __init__(
        self, name: str, folder: Path, properties: Mapping[str, object], *, plugin: bool = True, jars: str | None = None
    ) -> None:
        """Start the process. `plugin`: whether the plug-in's jar is on the class path. `jars`: another class path, for which
        `plugin` has no effect."""
        self.name = name
        self.folder = folder
        self.state = "CREATED"
        self.assigned: list[AssignedTasks] = []
        self.deaths: list[str] = []
        self.last_status = Status()
        """The newest answer to the command `status`; the default before the first."""
        self._asked = self._answers = 0
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "streams.properties"
        settings = {**properties, "state.dir": folder / "state", "client.id": name}
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        log = folder / f"{name}.log"
        self._log_start = log.stat().st_size if log.exists() else 0
        path = jars or (None if plugin else classpath_without_plugin())
        command = java_command(_MAIN, [str(file)], heap_mb=128, temporary=folder / "tmp", jars=path, options=_DATED)
        self.process = ChildProcess(command, log, reader=self._read)

    @property
    def log(self) -> Path:
        """Return the log of the process and of its predecessors in the same folder."""
        return self.process.log

    @property
    def process_id(self) -> str:
        """Return Kafka's id of the process, which its state folder keeps over restarts."""
        (file,) = (self.folder / "state").glob("*/kafka-streams-process-metadata")
        return str(json.loads(file.read_text(encoding="utf-8"))["processId"])

    def delete_state(self) -> None:
        """Delete the state and the unpacked libraries of an ended process; its log stays.

        RocksDB takes 4 MiB for each store at once, and its library 15 MB: a run of many instances would fill a disk.
        """
        for part in ("state", "tmp"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    @property
    def generation(self) -> int:
        """Return the last generation that all its consumers have reported; −1 before the first."""
        latest = {each.consumer: each.generation for each in tuple(self.assigned)}
        return min(latest.values(), default=-1)

    def read_log(self) -> str:
        """Return the log of this process and of its successors in the same folder, without its predecessors."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def led_rebalances(self) -> list[LedRebalance]:
        """Return the rebalances that this process led."""
        found: list[LedRebalance] = []
        assignor, stable, why, is_at_rest = "", False, "", False
        for line in _LOGGED.finditer(self.read_log()):
            if line["why"]:
                why = line["why"]
            elif line["assignor"]:
                assignor, is_at_rest = line["assignor"], line["awaited"] == _AT_REST
            elif line["generation"]:
                found.append(LedRebalance(int(line["generation"]), stable, assignor, why))
                assignor, why = "", ""  # the next rebalance may be without the plug-in
            else:
                stable = is_at_rest or not line["unstable"]
        return found

    def status(self) -> Status:
        """Request the status, and return the answer; the last status if the process ends before answering."""
        before = self._answers
        self._ask()
        await_condition(
            f"{self.name} answers", lambda: self._answers > before or not self.process.alive, logs=lambda: [self.log]
        )
        return self.last_status

    def ask_status(self) -> None:
        """Request the status without waiting. Does nothing while an answer is due."""
        if self._answers >= self._asked:
            self._ask()

    def rebalance(self) -> None:
        """Request a rebalance of the group, as a follow-up does."""
        self.process.tell("rebalance")

    def kill(self) -> None:
        """Kill the process by SIGKILL."""
        self.process.kill()

    def stop(self) -> None:
        """Close as Kafka Streams does by default: the group waits for the process until its session times out."""
        self.process.tell("stop")
        self.process.await_end()

    def leave(self) -> None:
        """Close, and leave the group."""
        self.process.tell("leave")
        self.process.await_end()

    def _ask(self) -> None:
        self._asked += 1
        self.process.tell("status")

    def _read(self, line: str) -> None:
        event = json.loads(line)
        match event["event"]:
            case "state":
                self.state = event["state"]
            case "death":
                self.deaths.append(f"{self.name}: {event['thread']}: {event['exception']}")
            case "assigned":
                self.assigned.append(
                    AssignedTasks(next(_ORDER), event["consumer"], event["generation"], tuple(event["active"]))
                )
            case "status":
                self.last_status = Status.model_validate(event)
                self._answers += 1
