"""A process of the test application: starting it, talking to it, and what it reports and logs."""

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
"""The log lines of a rebalance's leader, in this order: a line of the plug-in, of Kafka Streams, of the consumer."""
_DATED = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)
"""Options of the JVM: each line of the log begins with its time."""
_AT_REST = "service"
"""The follow-up of the plug-in's fallback at rest waits for this, so that the service takes over: no further one is needed."""
_ORDER = itertools.count()


class Status(BaseModel, frozen=True):
    """An instance's answer to the command `status`."""

    state: str = "CREATED"
    threads: tuple[str, ...] = ()
    """The states of its stream threads."""
    active: tuple[str, ...] = ()
    """Ids of tasks."""
    standby: tuple[str, ...] = ()
    """Ids of tasks, warm-ups among them: to Kafka they are standbys."""
    lags: Mapping[str, int] = {}
    """Store/partition -> offsets still to read, of every copy here."""
    restored_active: int = 0
    """Records read from changelogs by actives before they ran, since the process started."""
    restored_standby: int = 0
    """Records read by standbys and warm-ups, which go on as long as they follow their changelogs."""
    time_to_target_ms: int = -1
    """Milliseconds until the target assignment is reached, as the plug-in here expects; -1: unknown, or it leads no group."""


@dataclass(frozen=True)
class AssignedTasks:
    """The active tasks of one consumer, from this generation of the group on."""

    order: int
    """The place among the events of all instances: greater is later."""
    consumer: str
    generation: int
    active: tuple[str, ...]


@dataclass(frozen=True, order=True)
class LedRebalance:
    """A rebalance that a process led, so that it computed the assignment."""

    generation: int
    stable: bool
    """Whether no further rebalance is asked for, neither at once nor as a follow-up."""
    assignor: str
    """The author of the answer, as the plug-in logs it: an assignor of the service, `fallback`, or the group's assignor in
    shadow mode.

    Empty without the plug-in.
    """
    why: str = ""
    """Why the fallback answered; empty: it did not."""


class RunningInstance:
    """A running process. Its folder stays when it ends: another one started there is a restart of the same client."""

    def __init__(
        self, name: str, folder: Path, properties: Mapping[str, object], *, plugin: bool = True, jars: str | None = None
    ) -> None:
        """`plugin`: whether its jar is on the class path; `jars`: another class path, whatever `plugin` says."""
        self.name = name
        self.folder = folder
        self.state = "CREATED"
        self.assigned: list[AssignedTasks] = []
        self.deaths: list[str] = []
        self.last_status = Status()
        """Its newest answer to the command `status`."""
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
        """The log of the process, and of its predecessors in the same folder."""
        return self.process.log

    @property
    def process_id(self) -> str:
        """Kafka's id of the process, kept in its state folder over restarts."""
        (file,) = (self.folder / "state").glob("*/kafka-streams-process-metadata")
        return str(json.loads(file.read_text(encoding="utf-8"))["processId"])

    def delete_state(self) -> None:
        """Delete the state of an ended process and the libraries it unpacked; its log stays.

        RocksDB takes 4 MiB for each store at once, and its library is 15 MB: a run of many instances would fill a disk.
        """
        for part in ("state", "tmp"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    @property
    def generation(self) -> int:
        """The last generation of the group that all its consumers are known to be in; −1 before the first."""
        latest = {each.consumer: each.generation for each in tuple(self.assigned)}
        return min(latest.values(), default=-1)

    def read_log(self) -> str:
        """Return the log of this process and of its successors in the same folder, without its predecessors."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def led_rebalances(self) -> list[LedRebalance]:
        """The rebalances that this process led."""
        found: list[LedRebalance] = []
        assignor, stable, why, is_at_rest = "", False, "", False
        for line in _LOGGED.finditer(self.read_log()):
            if line["why"]:
                why = line["why"]
            elif line["assignor"]:
                assignor, is_at_rest = line["assignor"], line["awaited"] == _AT_REST
            elif line["generation"]:
                found.append(LedRebalance(int(line["generation"]), stable, assignor, why))
                assignor, why = "", ""  # the next one may be without the plug-in
            else:
                stable = is_at_rest or not line["unstable"]
        return found

    def status(self) -> Status:
        """Ask the process for its status and wait for the answer; the last one, if the process ends before."""
        before = self._answers
        self._ask()
        await_condition(
            f"{self.name} answers", lambda: self._answers > before or not self.process.alive, logs=lambda: [self.log]
        )
        return self.last_status

    def ask_status(self) -> None:
        """Ask the process for its status without waiting; does nothing while an answer is due."""
        if self._answers >= self._asked:
            self._ask()

    def rebalance(self) -> None:
        """Ask the group for a rebalance, as a follow-up does."""
        self.process.tell("rebalance")

    def kill(self) -> None:
        """Kill the process by SIGKILL."""
        self.process.kill()

    def stop(self) -> None:
        """Close as Kafka Streams does by default: the group waits until the session times out for it to come back."""
        self.process.tell("stop")
        self.process.await_end()

    def leave(self) -> None:
        """Close and leave the group."""
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
