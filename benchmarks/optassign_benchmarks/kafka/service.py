"""`optassign serve` as a process of its own, and the check of what it recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import urlopen

from optassign.judging.validation import validate
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import Recording, read_recording, replay_recording
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, find_free_ports


def check_recordings(folder: Path, application: str | None = None) -> tuple[int, list[str]]:
    """How many recordings (of an application) there are, and what is wrong with them: a broken rule, an answer that a replay
    does not repeat although no time limit was hit.

    Answers of Kafka's own assignors, applied in shadow mode, need not keep the rules.
    """
    faults: list[str] = []
    files = sorted(find_recordings(folder, application))
    for entry in files:
        recording = read_recording(entry.path)
        ours = recording.service_answer
        answers = [ours, recording.assignment if recording.assignor == "fallback" else None]
        for answer in filter(None, answers):
            faults += [f"{entry.id}: {answer.assignor}: {violation}" for violation in validate(recording.snapshot, answer)]
        if ours is not None and ours.report.termination.limit == "time":
            continue  # what was cut off by the clock need not be cut off there again
        again = replay_recording(recording)
        if (None if again is None else again.without_times()) != (None if ours is None else ours.without_times()):
            faults.append(f"{entry.id}: a replay gives another answer")
    return len(files), faults


class ServiceProcess:
    """The service on a port that stays the same over restarts; a context manager."""

    def __init__(
        self,
        folder: Path,
        log_format: str = "text",
        *options: str,
        environment: Mapping[str, str] | None = None,
        most_file_kb: int | None = None,
    ) -> None:
        """`options`: more of `optassign serve`. `environment`: on top of this process's. `most_file_kb`: a longer file cannot
        be written, as on a full disk.
        """
        self.recordings = folder / "recordings"
        self._log_format, self._options = log_format, options
        self._most_file_kb = most_file_kb
        self.environment = dict(environment or {})
        """The environment of the next process, in addition to this process's."""
        self._log = folder / "service.log"
        (port,) = find_free_ports(1)
        self._port = port
        self._process: ChildProcess | None = None
        self.start()

    @property
    def pid(self) -> int | None:
        """The id of the process that was started last."""
        return None if self._process is None else self._process.pid

    @property
    def url(self) -> str:
        """The URL that the plug-in is given."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        """The log of the service, restarts included."""
        return self._log

    def start(self) -> None:
        """Start the service, if it does not run, and wait until it is ready to answer."""
        if self._process is not None and self._process.alive:
            return
        self._log.parent.mkdir(parents=True, exist_ok=True)
        serve = [
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self._port),
            "--recordings",
            str(self.recordings),
            "--workers",
            "1",
            "--log-format",
            self._log_format,
            "--idle-followup",
            "0",  # otherwise no group here would ever be at rest; tests of follow-ups at rest say so in their options
            *self._options,
        ]
        command = [sys.executable, "-m", "optassign.cli", *serve]
        if self._most_file_kb is not None:
            command = ["bash", "-c", f'ulimit -f {self._most_file_kb}; exec "$0" "$@" > /dev/null 2>&1', *command]
        environment = {**os.environ, **self.environment}
        self._process = process = ChildProcess(command, self._log, environment=environment)

        def ready() -> bool:
            if not process.alive:
                raise RuntimeError(f"the service ended:\n{self._log.read_text(encoding='utf-8')[-4000:]}")
            try:
                with urlopen(f"{self.url}/readyz", timeout=5):
                    return True
            except OSError:  # no connection yet, or 503 until its solvers have started
                return False

        await_condition("the service is ready", ready, logs=lambda: [self._log])

    def kill(self) -> None:
        """Kill the service by SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End the service by SIGTERM."""
        if self._process is not None:
            self._process.stop()

    def pause(self) -> None:
        """Make the service hang: connections are accepted, and nothing is answered."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Let the service go on after `pause`."""
        if self._process is not None:
            self._process.resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()


_COLUMNS = "160"
"""Width of the terminal, in characters: no cell of a table is broken."""


class OperatorCommands:
    """Asks the service by the command line, as people do."""

    def __init__(self, service: ServiceProcess, application: str) -> None:
        self._service, self._application = service, application

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """Return what a command about the application prints, errors included; AssertionError for another exit code."""
        line = [sys.executable, "-m", "optassign.cli", command, self._application, *arguments, "--url", self._service.url]
        environment = {**os.environ, "COLUMNS": _COLUMNS}
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        assert done.returncode == code, f"{command}: exit code {done.returncode}, expected {code}: {done.stdout}"
        return done.stdout

    def read_newest(self) -> Recording:
        """Read the last recording of the application; ValueError where there is none."""
        return read_recording(max(find_recordings(self._service.recordings, self._application)).path)

    def count_moves(self, since: str) -> int:
        """Count active tasks that recordings after `since` moved. since: the time of a recording, as its head has it."""
        found = (read_recording(entry.path) for entry in find_recordings(self._service.recordings, self._application))
        return sum(each.summary.moved_active for each in found if each.recorded_at > since)

    def await_newest(
        self, what: str, group: StreamsApplication, *, clients: int, hold: str = "none", rests: bool = False
    ) -> float:
        """Wait until the last recording has so many clients and this hold; seconds that it took.

        what: names what is waited for, in the error. rests: wait, too, until it is balanced, moves nothing and awaits nothing
        but operators.
        """

        def reached() -> bool:
            group.assert_nothing_died()
            if not list(find_recordings(self._service.recordings, self._application)):
                return False
            newest = self.read_newest()
            summary = newest.summary
            is_there = len(newest.snapshot.clients) == clients and summary.hold == hold
            is_still = summary.awaited == "operators" and summary.balanced and not summary.moved_active
            return is_there and (is_still or not rests)

        return await_condition(f"{self._application}: {what}", reached, timeout=900, logs=group.logs)
